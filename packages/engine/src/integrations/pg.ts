import EventEmitter from 'node:events'
import { decodeBody, defined } from '@retake/tape/format'
import { outsideRuns } from '../kernel/scope.js'
import type { Session } from '../kernel/session.js'
import { ownerOf, undoAll, type Undo } from '../boundaries/patching/patch.js'
import {
  answer,
  noteShared,
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
 * A shared `Pool` or `Client`: each call is recorded with statement, values and result. Not
 * captured: cursors, query streams and notifications.
 */
export const pg: Integration = {
  package: 'pg',
  versions: '>=8',
  install: () =>
    patchLibrary(
      /(^|[\\/])pg([\\/]lib[\\/]index\.js)?$/,
      librariesIn,
      ({ Client, Pool }) => [Client, Pool],
      patchPostgres,
    ),
}

interface PostgresLibrary {
  readonly Client: Class
  readonly Pool: Class
  readonly Result: new (rowMode: unknown) => object
  readonly DatabaseError: new (...args: never[]) => Error
}

interface PooledClient extends EventEmitter {
  query(config: QueryConfig): Promise<unknown>
  release(error?: unknown): void
}

interface QueryConfig {
  readonly text?: string
  readonly values?: unknown
  readonly name?: unknown
  readonly rowMode?: unknown
}

function librariesIn(exports: unknown): PostgresLibrary[] {
  const library = (exports ?? {}) as PostgresLibrary
  const { Client, Pool, Result, DatabaseError } = library
  const isKnown = [Client, Pool, Result, DatabaseError].every((each) => typeof each === 'function')
  return isKnown ? [library] : []
}

// ── its calls ───────────────────────────────────────────────────────────────

function patchPostgres(library: PostgresLibrary): Undo {
  const client = library.Client.prototype
  // `pg.Pool` inherits from the package `pg-pool`.
  const pool = ownerOf(library.Pool.prototype, 'query') ?? library.Pool.prototype
  const patch = (target: object, name: string, shared: SharedMethod): Undo =>
    patchShared(target, name, shared)
  const query: SharedMethod = (session, native, self, args) =>
    makeQuery(session, library, args, {
      captured: (config) => native.call(self, config),
      uncaptured: () => native.apply(self, args),
    })
  const plainCall =
    (name: string): SharedMethod =>
    (session, native, self, [callback]) =>
      answer(
        perform(session, library, { name, run: async () => void (await native.call(self)) }),
        callback,
      )
  return undoAll([
    patch(client, 'query', query),
    patch(client, 'connect', plainCall('pg.connect')),
    patch(client, 'end', plainCall('pg.end')),
    patch(pool, 'query', query),
    patch(pool, 'end', plainCall('pg.end')),
    patch(pool, 'connect', (session, native, self, [callback]) => {
      const lent = new LentClient(() => native.call(self) as Promise<PooledClient>)
      const connected = perform(session, library, {
        name: 'pg.connect',
        run: async () => void (await lent.real()),
      }).then(() => lent.shown(session, library))
      return answer(connected, callback, (shown) => [shown, (shown as PooledClient).release])
    }),
  ])
}

function makeQuery(
  session: Session,
  library: PostgresLibrary,
  args: readonly unknown[],
  run: {
    readonly captured: (config: QueryConfig) => unknown
    readonly uncaptured: () => unknown
  },
): unknown {
  const [first, second, third] = args
  if (first === null || first === undefined || typeof first === 'function') return run.uncaptured()
  if (typeof (first as { submit?: unknown }).submit === 'function')
    return uncaptured(session, 'a cursor or query stream of a shared pg client', run.uncaptured)
  const given = (typeof first === 'string' ? { text: first } : first) as QueryConfig & {
    readonly callback?: unknown
  }
  const callback = third ?? (typeof second === 'function' ? second : given.callback)
  const values = typeof second === 'function' ? given.values : (second ?? given.values)
  const { text = '', name, rowMode } = given
  if (/^\s*listen\b/i.test(text)) noteShared(session, 'notifications on a shared pg client')
  const recorded = { text, ...defined({ values, name, rowMode }) }
  const result = perform(session, library, {
    name: 'pg.query',
    title: titleOf(text),
    input: { ...recorded, ...defined({ values: session.secrets.parameters(text, values) }) },
    run: async (edited) => {
      const config = {
        ...given,
        ...recorded,
        ...(edited && (decodeBody('json', edited) as object)),
      }
      Reflect.deleteProperty(config, 'callback')
      return toPlain(await run.captured(config))
    },
  }).then((value) => toResult(library, value, rowMode))
  return answer(result, callback)
}

const perform = (
  session: Session,
  { DatabaseError }: PostgresLibrary,
  call: SharedCall,
): Promise<unknown> => performShared(session, { ...call, errorClasses: { DatabaseError } })

/** A pool's client while a run uses it. Has a real client only while recording. */
class LentClient {
  readonly #lend: () => Promise<PooledClient>
  #real: PooledClient | undefined
  #isReleased = false

  constructor(lend: () => Promise<PooledClient>) {
    this.#lend = lend
  }

  async real(): Promise<PooledClient> {
    if (this.#real === undefined) {
      this.#real = await this.#lend()
      // The next query fails with the same error, which is recorded.
      this.#real.on('error', ignore)
    }
    return this.#real
  }

  shown(session: Session, library: PostgresLibrary): object {
    const shown = Object.create(library.Client.prototype) as EventEmitter
    Reflect.apply(EventEmitter, shown, [])
    const query = (...args: unknown[]): unknown =>
      makeQuery(session, library, args, {
        captured: async (config) => (await this.real()).query(config),
        uncaptured: () => (this.#real as unknown as { query: Method }).query(...args),
      })
    return Object.assign(shown, {
      query,
      release: (error?: unknown) => {
        if (this.#isReleased)
          throw new Error('Release called on client which has already been released to the pool.')
        this.#isReleased = true
        const real = this.#real
        if (real === undefined) return
        real.off('error', ignore)

        // The pool continues to serve others, with native timers.
        outsideRuns(() => real.release(error))
      },
    })
  }
}

const ignore = (): void => {}

// ── results ─────────────────────────────────────────────────────────────────

/** One statement gives a result, several in one text give a list. */
function toPlain(result: unknown): unknown {
  if (Array.isArray(result)) return result.map(toPlain)
  const { command, rowCount, oid, rows, fields } = result as Record<string, unknown>
  const plainFields = (fields as object[] | undefined)?.map((field) => ({ ...field }))
  return { command, rowCount, oid, rows, fields: plainFields }
}

function toResult(library: PostgresLibrary, value: unknown, rowMode: unknown): unknown {
  if (Array.isArray(value)) return value.map((each) => toResult(library, each, rowMode))
  return Object.assign(new library.Result(rowMode), value)
}
