import { createRequire } from 'node:module'
import { noteBoundary } from '../boundaries/patching/note-boundary.js'
import { errors } from '../errors.js'
import { pathString } from '../overlay/overlay-call.js'
import { currentSession, outsideRuns, unrecordedOwner } from '../kernel/scope.js'
import { promiseCall } from '../boundaries/patching/captured-call.js'
import { replace, undoAll } from '../boundaries/patching/patch.js'
import {
  adoptInstances,
  bindHandle,
  callNative,
  capturedCall,
  fileFor,
  handleOf,
  lacksOpening,
  methodsOf,
  openDatabase,
  databaseOverlayOf,
  forwardMethods,
  showChanging,
} from '../boundaries/native/database-handle.js'
import type { DatabaseLibrary, Maker, Native } from '../boundaries/native/database-handle.js'
import type { Integration } from './integration.js'

/** Databases. No-op if this Node has no such module. */
export const nodeSqlite: Integration = {
  package: 'node:sqlite',
  versions: '>=22.5',
  install() {
    const { sqlite, warning } = loadSqlite()
    if (sqlite === undefined) return () => {}
    const own = capturedModule({ ...sqlite }, warning)
    // Node does not refresh the exports of this module, so ES modules that imported it keep the
    // native classes.
    const classes = { DatabaseSync: own.DatabaseSync, StatementSync: own.StatementSync }
    const adopting = Object.entries(classes).flatMap(([name, Own]) =>
      adoptInstances(sqlite[name as keyof typeof classes], Own, own.library),
    )
    const names = ['DatabaseSync', 'StatementSync', 'Session', 'backup'] as const
    return undoAll([
      ...adopting,
      ...names.filter((name) => name in sqlite).map((name) => replace(sqlite, name, own[name])),
    ])
  },
}

type Class = (new (...args: unknown[]) => Native) & { readonly prototype: object }

/** Node's module. The methods of its classes depend on the version. */
interface Sqlite {
  readonly DatabaseSync: Class
  readonly StatementSync: Class
  /** Node 22.16 and later. */
  readonly backup?: (database: Native, file: unknown, options?: object) => Promise<number>
}

/** Loads the module. Delays the experimental warning of some versions until the agent uses it. */
function loadSqlite(): { sqlite: Sqlite | undefined; warning: unknown[] | undefined } {
  const { emitWarning } = process
  let warning: unknown[] | undefined
  process.emitWarning = (...args: unknown[]) => void (warning = args)
  try {
    const sqlite = createRequire(import.meta.url)('node:sqlite') as Sqlite
    return { sqlite, warning }
  } catch {
    return { sqlite: undefined, warning }
  } finally {
    process.emitWarning = emitWarning
  }
}

const NAME = 'node:sqlite'
const TAG_STORE = 'createTagStore() of node:sqlite'

function capturedModule(sqlite: Sqlite, warning: unknown[] | undefined) {
  let isWarned = warning === undefined
  const library: DatabaseLibrary = {
    name: NAME,
    errorClasses: {},
    transactionFact: 'isTransaction',
    open: ([given, ...rest], file) => new sqlite.DatabaseSync(file ?? given, ...rest),
  }

  const statements = (sql: string): Maker => ({
    sql,
    facts: () => ({}),
    make: (handle) => {
      const statement = bindHandle(Object.create(StatementSync.prototype) as object, handle)
      Object.defineProperty(statement, 'sourceSQL', { get: () => sql, enumerable: true })
      return showChanging(statement, ['expandedSQL'])
    },
  })
  const makerOf = (prototype: object): Maker => ({
    facts: () => ({}),
    make: (handle) => bindHandle(Object.create(prototype) as object, handle),
  })

  class DatabaseSync {
    constructor(...args: unknown[]) {
      if (!isWarned) {
        isWarned = true
        const session = currentSession()
        // With its own copy of the class, the recorded program was warned before the run.
        if (session === undefined || !lacksOpening(session, library))
          process.emitWarning(...(warning as [string, string]))
      }
      const file = pathString(args[0])
      openDatabase(this, library, { file, args, compared: [file, ...args.slice(1)] }, () => ({}))
      showChanging(this, ['isOpen', 'isTransaction'])
      Object.assign(this, { [Symbol.for('sqlite-type')]: NAME })
    }
    prepare(...args: unknown[]): object {
      const makes = statements(String(args[0]))
      return callNative(this, { method: 'prepare', args, makes }) as object
    }
    createSession(...args: unknown[]): object {
      const makes = makerOf(Session.prototype)
      return callNative(this, { method: 'createSession', args, makes }) as object
    }
    /** A cache of statements created from templates. */
    createTagStore(...args: unknown[]): unknown {
      const session = currentSession()
      if (session?.local === 'tape') throw errors.BOUNDARY_NOT_REPLAYABLE(TAG_STORE)
      if (session)
        noteBoundary(session, {
          name: TAG_STORE,
          text: 'statements from templates are not captured; use prepare()',
          consequence: 'stops',
        })
      const real = handleOf(this).real(session ?? unrecordedOwner()) as {
        createTagStore: (...args: unknown[]) => unknown
      }
      // Inside a run, the native method would lead back here.
      return outsideRuns(() => real.createTagStore(...args))
    }
    [DISPOSE](): void {
      if ((this as unknown as { isOpen: boolean }).isOpen)
        callNative(this, { method: 'close', args: [] })
    }
  }
  class StatementSync {
    constructor() {
      // The constructor throws by design: statements come from prepare().
      try {
        Reflect.construct(sqlite.StatementSync, [])
      } catch (error) {
        Error.captureStackTrace(error as Error, StatementSync)
        throw error
      }
    }
    iterate(...args: unknown[]): object {
      const makes = makerOf(StatementSyncIterator.prototype)
      return callNative(this, { method: 'iterate', args, makes }) as object
    }
  }
  class StatementSyncIterator {
    next(...args: unknown[]): unknown {
      return callNative(this, { method: 'next', args })
    }
  }
  Object.setPrototypeOf(StatementSyncIterator.prototype, iteratorPrototype)
  class Session {
    [DISPOSE](): void {
      callNative(this, { method: 'close', args: [] })
    }
  }
  if (!('createTagStore' in sqlite.DatabaseSync.prototype))
    Reflect.deleteProperty(DatabaseSync.prototype, 'createTagStore')
  forwardMethods(DatabaseSync, methodsOf(sqlite.DatabaseSync))
  forwardMethods(StatementSync, methodsOf(sqlite.StatementSync))
  forwardMethods(StatementSyncIterator, ['return'])
  forwardMethods(Session, ['changeset', 'patchset', 'close'])

  const backup = async (database: object, file: unknown, options?: object): Promise<unknown> => {
    const handle = handleOf(database)
    const session = currentSession()
    const owner = session ?? unrecordedOwner()
    const filePath = pathString(file)
    const run = async (): Promise<unknown> => {
      const overlay = databaseOverlayOf(owner)
      const target = overlay === undefined ? file : fileFor(overlay, filePath)
      return await sqlite.backup?.(
        handle.real(owner),
        target,
        ...(options === undefined ? [] : [options]),
      )
    }
    if (session === undefined) return await run()
    const call = capturedCall(session, handle, {
      method: 'backup',
      args: [filePath, options],
    })
    return await promiseCall(session, call, (done) => {
      run().then((pages) => done(null, pages), done)
    })
  }
  return { library, DatabaseSync, StatementSync, Session, backup }
}

const DISPOSE: typeof Symbol.dispose =
  (Symbol as { dispose?: typeof Symbol.dispose }).dispose ??
  (Symbol.for('nodejs.dispose') as typeof Symbol.dispose)

/** Gives iterators `map`, `filter` and so on, if this Node has them. */
const iteratorPrototype = Object.getPrototypeOf(
  Object.getPrototypeOf([][Symbol.iterator]()) as object,
) as object
