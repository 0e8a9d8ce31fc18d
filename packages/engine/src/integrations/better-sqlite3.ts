import { captureAddon } from '../boundaries/native/addons.js'
import { replace, undoAll, type Undo } from '../boundaries/patching/patch.js'
import { loadedModules } from '../boundaries/patching/when-loaded.js'
import {
  adoptInstances,
  bindHandle,
  callNative,
  openDatabase,
  forwardMethods,
  showChanging,
} from '../boundaries/native/database-handle.js'
import type {
  DatabaseLibrary,
  Maker,
  Native,
  NativeHandle,
} from '../boundaries/native/database-handle.js'
import type { Integration } from './integration.js'

/**
 * Databases. The JavaScript part of the package runs unchanged in record and replay; its add-on is
 * replaced.
 */
export const betterSqlite3: Integration = {
  package: 'better-sqlite3',
  versions: '>=9',
  install: () =>
    captureAddon({
      // Built on this machine, or prebuilt in the package.
      matches: (file) =>
        /[\\/]better_sqlite3\.node$/.test(file) ||
        /[\\/]better-sqlite3[\\/]prebuilds[\\/][^\\/]+\.node$/.test(file),
      exports: (load) => capturedAddon(load).addon,
      adopt,
    }),
}

/**
 * Captures the databases of an add-on that was loaded before Retake. Databases opened later use
 * Retake's classes. For earlier ones, the transaction state is not captured.
 */
function adopt(exports: object): Undo {
  const real = { ...exports } as Addon
  // Retake has already replaced it.
  if (!String(real.Database).includes('[native code]')) return () => {}
  const [errorModule] = loadedModules(/[\\/]better-sqlite3[\\/]lib[\\/]sqlite-error\.js$/)
  const { addon, library } = capturedAddon(
    () => real,
    errorModule?.exports as ErrorClass | undefined,
  )
  return undoAll(
    CLASSES.flatMap((name) => [
      ...adoptInstances(real[name], addon[name], library),
      replace(exports, name, addon[name]),
    ]),
  )
}

type Class = new (...args: unknown[]) => Native
type ErrorClass = new (...args: never[]) => Error

/** Transactions, pragmas and backups are built from its calls. */
interface Addon {
  readonly Database: Class
  readonly Statement: Class
  readonly StatementIterator: Class
  readonly Backup: Class
  /** Up to version 12. */
  readonly setErrorConstructor?: (SqliteError: ErrorClass) => void
  /** Since version 13: the error class first, then functions that make rows. */
  readonly initialize?: (SqliteError: ErrorClass, ...makers: unknown[]) => void
}

/** In the order in which `console.log` shows them. */
const DATABASE_FACTS = ['memory', 'readonly', 'name'] as const
const STATEMENT_FACTS = ['reader', 'readonly'] as const

const CLASSES = ['Database', 'Statement', 'StatementIterator', 'Backup'] as const

/**
 * Replaces the add-on with the same classes, whose calls go through the run. `load` returns the
 * real add-on; it is called at the first native operation, so never on replay.
 */
function capturedAddon(
  load: () => object,
  SqliteError?: ErrorClass,
): { readonly addon: Addon; readonly library: DatabaseLibrary } {
  const errorClasses: Record<string, ErrorClass> = SqliteError ? { SqliteError } : {}
  let initialize: (addon: Addon) => void = () => {}
  let loaded: Addon | undefined
  const native = (): Addon => {
    if (loaded === undefined) initialize((loaded = load() as Addon))
    return loaded
  }
  const library: DatabaseLibrary = {
    name: 'better-sqlite3',
    errorClasses,
    transactionFact: 'inTransaction',
    open: ([given, ...rest], file) => new (native().Database)(file ?? given, ...rest),
  }

  const iterators = (statement: object): Maker => ({
    facts: () => ({}),
    make: (handle) => {
      const iterator = bindHandle(Object.create(StatementIterator.prototype) as object, handle)
      return Object.defineProperty(iterator, 'statement', { value: statement, enumerable: true })
    },
  })
  const backups: Maker = {
    facts: () => ({}),
    make: (handle) => bindHandle(Object.create(Backup.prototype) as object, handle),
  }

  class Database {
    constructor(...args: unknown[]) {
      const [file, given, isAnonymous, readonly, mustExist, timeout, , content] = args
      const compared = [file, given, isAnonymous, readonly, mustExist, timeout, content]
      const opened = { file: String(file), args, compared }
      const facts = openDatabase(this, library, opened, pick(DATABASE_FACTS))
      showChanging(this, ['inTransaction', 'open'])
      showFixed(this, facts)
    }
    prepare(sql: string, database: object, ...modes: unknown[]): object {
      const make = (handle: NativeHandle, facts: Readonly<Record<string, unknown>>): object => {
        const statement = bindHandle(Object.create(Statement.prototype) as object, handle)
        return showChanging(showFixed(statement, { ...facts, source: sql, database }), ['busy'])
      }
      return callNative(this, {
        method: 'prepare',
        args: [sql, database, ...modes],
        compared: [sql, ...modes],
        makes: { sql, make, facts: pick(STATEMENT_FACTS) },
      }) as object
    }
    backup(database: object, ...args: unknown[]): object {
      const call = { method: 'backup', args: [database, ...args], compared: args, makes: backups }
      return callNative(this, call) as object
    }
  }
  class Statement {
    iterate(...args: unknown[]): object {
      return callNative(this, { method: 'iterate', args, makes: iterators(this) }) as object
    }
  }
  class StatementIterator {
    [Symbol.iterator](): this {
      return this
    }
  }
  class Backup {
    transfer(...args: unknown[]): unknown {
      return callNative(this, { method: 'transfer', args })
    }
  }

  forwardMethods(Database, ['exec', 'serialize', 'function', 'aggregate', 'table', 'loadExtension'])
  forwardMethods(Database, ['close', 'defaultSafeIntegers', 'unsafeMode'])
  forwardMethods(Statement, ['run', 'get', 'all', 'columns'])
  forwardMethods(Statement, ['bind', 'pluck', 'expand', 'raw', 'safeIntegers'], true)
  forwardMethods(StatementIterator, ['next', 'return'])
  forwardMethods(Backup, ['close'])

  const initialized =
    (name: 'initialize' | 'setErrorConstructor') =>
    (SqliteError: ErrorClass, ...makers: unknown[]): void => {
      errorClasses[SqliteError.name] = SqliteError
      initialize = (real) => real[name]?.(SqliteError, ...makers)
      if (loaded !== undefined) initialize(loaded)
    }
  const addon = {
    Database,
    Statement,
    StatementIterator,
    Backup,
    setErrorConstructor: initialized('setErrorConstructor'),
    initialize: initialized('initialize'),
  } as unknown as Addon
  return { addon, library }
}

/** Facts about a native object that never change. */
const pick =
  (names: readonly string[]): Maker['facts'] =>
  (native) =>
    Object.fromEntries(names.map((name) => [name, native[name]]))

function showFixed<T extends object>(object: T, facts: Readonly<Record<string, unknown>>): T {
  for (const [name, value] of Object.entries(facts))
    Object.defineProperty(object, name, { value, enumerable: true })
  return object
}
