import EventEmitter from 'node:events'
import { decodeBody, defined } from '@retake/tape/format'
import { outsideRuns } from '../kernel/scope.js'
import type { Session } from '../kernel/session.js'
import { ownerOf, undoAll, type Undo } from '../boundaries/patching/patch.js'
import { loadedModules } from '../boundaries/patching/when-loaded.js'
import {
  patchLibrary,
  patchShared,
  performShared,
  titleOf,
  uncaptured,
  type Class,
  type Method,
  type SharedCall,
  type SharedMethod,
} from '../boundaries/shared/shared-clients.js'
import type { Integration } from './integration.js'

/**
 * A shared pool or connection, and that of `mysql2/promise`, which wraps it: each query is recorded
 * with statement, values, rows and fields. Not captured: queries without a callback, whose rows are
 * events or a stream, and explicitly prepared statements.
 */
export const mysql2: Integration = {
  package: 'mysql2',
  versions: '>=3',
  install: () =>
    patchLibrary(
      /(^|[\\/])mysql2([\\/](index\.js|promise(\.js)?))?$/,
      mysqlLibraries,
      ({ connection, Pool }) => [connection.constructor as Class, Pool],
      patchMysql,
    ),
}

interface MysqlLibrary {
  /** The prototype that has the methods of all connections. */
  readonly connection: object
  readonly Pool: Class
  readonly PoolConnection: Class
  readonly Header: Class
  readonly Column: Class
}

function mysqlLibraries(): MysqlLibrary[] {
  return loadedModules(/[\\/]mysql2[\\/]lib[\\/]pool_connection\.js$/).flatMap((module) => {
    const PoolConnection = module.exports as Class
    const connection = ownerOf(PoolConnection.prototype, 'query')
    if (connection === undefined) return []
    const Pool = module.require('./pool.js') as Class
    const Header = module.require('./packets/resultset_header.js') as Class
    const Column = module.require('./packets/column_definition.js') as Class
    return [{ connection, Pool, PoolConnection, Header, Column }]
  })
}

type Done = (error: unknown, ...values: unknown[]) => void
type Query = (config: QueryConfig, done: Done) => unknown
type QueryConfig = Readonly<Record<string, unknown>>

interface RealConnection extends Record<string, Method> {}

// ── its calls ───────────────────────────────────────────────────────────────

function patchMysql(library: MysqlLibrary): Undo {
  const { connection } = library
  const pool = ownerOf(library.Pool.prototype, 'query') ?? library.Pool.prototype
  const query =
    (name: string): SharedMethod =>
    (session, native, self, args) =>
      makeQuery(session, library, name, args, {
        captured: (config, done) => native.call(self, config, done),
        uncaptured: () => native.apply(self, args),
      })
  const plain =
    (name: string): SharedMethod =>
    (session, native, self, args) =>
      plainCall(session, `mysql.${name}`, args, (...sent) => native.apply(self, sent))
  return undoAll([
    ...[connection, pool].flatMap((target) => [
      patchShared(target, 'query', query('query')),
      patchShared(target, 'execute', query('execute')),
      patchShared(target, 'end', plain('end')),
    ]),
    ...['connect', 'ping', 'reset', 'changeUser'].map((name) =>
      patchShared(connection, name, plain(name)),
    ),
    patchShared(connection, 'prepare', (session, native, self, args) =>
      uncaptured(session, PREPARED, () => native.apply(self, args)),
    ),
    patchShared(pool, 'getConnection', (session, native, self, [done]) => {
      const lent = new LentConnection(
        () =>
          new Promise((resolve, reject) => {
            native.call(self, (error: unknown, real: RealConnection) =>
              error ? reject(error) : resolve(real),
            )
          }),
      )
      const { config } = self as { readonly config: { readonly connectionConfig: object } }
      settle(
        performShared(session, {
          name: 'mysql.getConnection',
          run: async () => ({ threadId: (await lent.real())['threadId'] }),
        }).then((seen) => [
          Object.assign(lent.shown(session, library), { config: config.connectionConfig }, seen),
        ]),
        done,
      )
    }),
  ])
}

const PREPARED = 'a prepared statement of a shared mysql2 connection'

function makeQuery(
  session: Session,
  library: MysqlLibrary,
  name: string,
  [first, second, third]: readonly unknown[],
  run: { readonly captured: Query; readonly uncaptured: () => unknown },
): unknown {
  const given = (typeof first === 'string' ? { sql: first } : first) as QueryConfig
  const done = [third, second, given['onResult']].find((each) => typeof each === 'function')
  if (done === undefined)
    return uncaptured(session, 'a query stream of a shared mysql2 client', run.uncaptured)
  const values = typeof second === 'function' ? given['values'] : (second ?? given['values'])
  const { sql, rowsAsArray, nestTables } = given
  const recorded = { sql, ...defined({ values, rowsAsArray, nestTables }) }
  const result = performShared(session, {
    name: `mysql.${name}`,
    title: titleOf(String(sql)),
    input: {
      ...recorded,
      ...defined({ values: session.secrets.parameters(String(sql), values) }),
    },
    run: (edited) => {
      // A command of `createQuery` is an emitter; its settings are own properties.
      const config = {
        ...given,
        ...recorded,
        ...(edited && (decodeBody('json', edited) as object)),
      }
      Reflect.deleteProperty(config, 'onResult')
      return new Promise((resolve, reject) => {
        run.captured(config, (error, rows, fields) =>
          error ? reject(error) : resolve(toPlain(library, rows, fields)),
        )
      })
    },
  })
  return settle(
    result.then((value) => toResult(library, value as PlainResult)),
    done,
  )
}

/** Makes a call whose callback has no value. */
function plainCall(
  session: Session,
  name: string,
  args: readonly unknown[],
  call: (...args: unknown[]) => unknown,
): unknown {
  const sent = args.filter((each) => typeof each !== 'function')
  const run: SharedCall['run'] = () =>
    new Promise((resolve, reject) => {
      call(...sent, (error: unknown) => (error ? reject(error) : resolve(undefined)))
    })
  return settle(
    performShared(session, { name, run }).then(() => []),
    args.find((each) => typeof each === 'function'),
  )
}

/** Passes the outcome to the callback. Returns an emitter, as the library returns a command. */
function settle(outcome: Promise<readonly unknown[]>, done: unknown): EventEmitter {
  const command = new EventEmitter()
  const finish = (error: unknown, values: readonly unknown[]): void => {
    if (typeof done === 'function') (done as Done)(error, ...values)
    command.emit('end')
  }
  void outcome.then(
    (values) => finish(null, values),
    (error: unknown) => finish(error, []),
  )
  return command
}

/** A pool's connection while a run uses it. Has a real one only while recording. */
class LentConnection {
  readonly #lend: () => Promise<RealConnection>
  #real: RealConnection | undefined

  constructor(lend: () => Promise<RealConnection>) {
    this.#lend = lend
  }

  async real(): Promise<RealConnection> {
    return (this.#real ??= await this.#lend())
  }

  shown(session: Session, library: MysqlLibrary): object {
    const shown = Object.create(library.PoolConnection.prototype) as EventEmitter
    Reflect.apply(EventEmitter, shown, [])
    const query =
      (name: 'query' | 'execute') =>
      (...args: unknown[]): unknown =>
        makeQuery(session, library, name, args, {
          captured: (config, done) => this.#real?.[name]?.(config, done),
          uncaptured: () => this.#real?.[name]?.(...args),
        })
    const plain =
      (name: string) =>
      (...args: unknown[]): unknown =>
        plainCall(session, `mysql.${name}`, args, (...sent) => this.#real?.[name]?.(...sent))
    // The pool continues to serve others, with native timers.
    const giveBack = (name: string) => (): void => void outsideRuns(() => this.#real?.[name]?.())
    return Object.assign(shown, {
      query: query('query'),
      execute: query('execute'),
      ping: plain('ping'),
      reset: plain('reset'),
      changeUser: plain('changeUser'),
      prepare: (...args: unknown[]) =>
        uncaptured(session, PREPARED, () => this.#real?.['prepare']?.(...args)),
      release: giveBack('release'),
      destroy: giveBack('destroy'),
    })
  }
}

// ── results ─────────────────────────────────────────────────────────────────

interface PlainResult {
  readonly rows: unknown
  readonly fields: unknown
  /** True if `rows` is the header of a statement without rows; or which ones of several results. */
  readonly headers: true | readonly number[]
}

/** Texts of a column, which the library decodes when they are read. */
const TEXTS = ['catalog', 'schema', 'table', 'orgTable', 'orgName']

function toPlain({ Header, Column }: MysqlLibrary, rows: unknown, fields: unknown): PlainResult {
  const headers =
    rows instanceof Header ||
    (Array.isArray(rows) ? [...rows.keys()].filter((at) => rows[at] instanceof Header) : [])
  const copy = (row: unknown): unknown => (row instanceof Header ? { ...row } : row)
  const plainField = (field: unknown): unknown => {
    if (Array.isArray(field)) return field.map(plainField)
    if (!(field instanceof Column)) return field
    const own = Object.entries(field).filter(([key]) => !key.startsWith('_'))
    const texts = TEXTS.map((key) => [key, (field as Record<string, unknown>)[key]])
    return Object.fromEntries([...own, ...texts]) as unknown
  }
  return {
    rows: Array.isArray(rows) ? rows.map(copy) : copy(rows),
    fields: plainField(fields),
    headers,
  }
}

function toResult({ Header, Column }: MysqlLibrary, result: PlainResult): unknown[] {
  const { rows, fields, headers } = result
  const make = (maker: Class, members: unknown): unknown =>
    Object.assign(Object.create(maker.prototype) as object, members)
  const toField = (field: unknown): unknown => {
    if (Array.isArray(field)) return field.map(toField)
    if (typeof field !== 'object' || field === null) return field
    const members = Object.entries(field).map(([key, value]) =>
      TEXTS.includes(key) ? [`_${key}Value`, value as unknown] : [key, value as unknown],
    )
    return make(Column, Object.fromEntries(members))
  }
  const restored =
    headers === true
      ? make(Header, rows)
      : Array.isArray(rows) && headers.length > 0
        ? rows.map((row: unknown, at) => (headers.includes(at) ? make(Header, row) : row))
        : rows
  return [restored, toField(fields)]
}
