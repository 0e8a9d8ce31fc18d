import EventEmitter from 'node:events'
import { decodeBody, defined } from '@retake/tape/format'
import { errors } from '../../errors.js'
import { hasFlag } from '../../recorder-flags.js'
import { currentSession, outsideRuns } from '../../scope.js'
import type { Session } from '../../sessions/session.js'
import { performTool, type ToolCall } from '../../library/tool.js'
import { whenLoaded } from '../when-loaded.js'
import { ownerOf, replace, undoAll, type Undo } from '../patch.js'
import { noteBoundary, REPLAY_STOPS } from '../uncaptured.js'

/**
 * A `pg.Pool` or `pg.Client` that was created outside the run that uses it, as in most servers. Its
 * connections serve many runs, so their bytes belong to none of them. Each call is made outside the
 * run and recorded like a tool call, with statement, values and result. On replay it is served
 * without a connection. A client that a run creates itself is recorded at its socket. Not captured:
 * cursors, query streams and notifications.
 */
export function patchSharedPostgres(): Undo {
  const undos: Undo[] = []
  const found = (exports: unknown): void => {
    const library = libraryOf(exports)
    if (library === undefined || libraries.includes(library)) return
    libraries.push(library)
    undos.push(patchLibrary(library))
  }
  return undoAll([
    () => {
      libraries.length = 0
      undoAll(undos)()
    },
    whenLoaded(/(^|[\\/])pg([\\/]lib[\\/]index\.js)?$/, found),
  ])
}

type Method = (this: object, ...args: unknown[]) => unknown
type Callback = (error: unknown, value?: unknown, release?: unknown) => void

interface PostgresLibrary {
  readonly Client: Function & { readonly prototype: object }
  readonly Pool: Function & { readonly prototype: object }
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

const libraries: PostgresLibrary[] = []

/** The run that created a pool or client. */
const makers = new WeakMap<object, Session>()
/** The clients that a run has created. */
const madeBy = new WeakMap<Session, WeakRef<object>[]>()

/** The passwords of all clients that a run has created, for runs that go live. */
export function* clientPasswords(session: Session): Generator<string> {
  for (const made of madeBy.get(session) ?? []) {
    const { password } = (made.deref() ?? {}) as { password?: unknown }
    if (typeof password === 'string') yield password
  }
}

// ── finding the library ─────────────────────────────────────────────────────

function libraryOf(exports: unknown): PostgresLibrary | undefined {
  const library = (exports ?? {}) as PostgresLibrary
  const { Client, Pool, Result, DatabaseError } = library
  const isKnown = [Client, Pool, Result, DatabaseError].every((each) => typeof each === 'function')
  return isKnown ? library : undefined
}

/** Pools and clients are event emitters, so their creation is detected there. */
export function patchEmitters(): Undo {
  const emitters = EventEmitter as unknown as { init: (this: object, options: unknown) => void }
  const native = emitters.init
  return replace(emitters, 'init', function (this: object, options: unknown): void {
    native.call(this, options)
    if (libraries.length === 0) return
    const session = currentSession()
    if (session === undefined) return
    const isClient = libraries.some(({ Client }) => this instanceof Client)
    if (!isClient && !libraries.some(({ Pool }) => this instanceof Pool)) return
    makers.set(this, session)
    if (!isClient || session.remote === 'live') return
    const made = madeBy.get(session) ?? []
    madeBy.set(session, made)
    made.push(new WeakRef(this))
  })
}

// ── its calls ───────────────────────────────────────────────────────────────

/** The current run, unless it created the object itself. */
function sharedIn(object: object): Session | undefined {
  const session = currentSession()
  if (session === undefined || makers.get(object) === session) return undefined
  return hasFlag(session.flags ?? [], 'shared-postgres') ? session : undefined
}

function patchLibrary(library: PostgresLibrary): Undo {
  const client = library.Client.prototype
  // `pg.Pool` inherits from the package `pg-pool`.
  const pool = ownerOf(library.Pool.prototype, 'query') ?? library.Pool.prototype
  const patch = (
    target: object,
    name: string,
    shared: (session: Session, native: Method, self: object, args: unknown[]) => unknown,
  ): Undo => {
    const native = (target as Record<string, Method>)[name]
    if (native === undefined) return () => {}
    return replace(target, name, function (this: object, ...args: unknown[]) {
      const session = sharedIn(this)
      if (session === undefined) return native.apply(this, args)
      return shared(session, native, this, args)
    } satisfies Method)
  }
  const query: Parameters<typeof patch>[2] = (session, native, self, args) =>
    makeQuery(session, library, args, {
      captured: (config) => native.call(self, config),
      uncaptured: () => native.apply(self, args),
    })
  const plainCall =
    (name: string): Parameters<typeof patch>[2] =>
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
      return answer(connected, callback, (shown) => (shown as PooledClient).release)
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
  if (typeof (first as { submit?: unknown }).submit === 'function') {
    if (session.local === 'tape')
      throw errors.BOUNDARY_NOT_REPLAYABLE('a cursor or query stream of a shared pg client')
    noteShared(session, 'a cursor or query stream of a shared pg client')
    return outsideRuns(run.uncaptured)
  }
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
    title: text.replaceAll(/\s+/g, ' ').trim().slice(0, 200),
    input: recorded,
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

function noteShared(session: Session, name: string): void {
  noteBoundary(session, {
    name,
    text: 'a shared connection is captured query by query; wrap the call in tool()',
    consequence: REPLAY_STOPS,
  })
}

interface SharedCall extends Pick<ToolCall, 'name' | 'title' | 'run'> {
  readonly input?: unknown
}

const perform = (
  session: Session,
  { DatabaseError }: PostgresLibrary,
  call: SharedCall,
): Promise<unknown> =>
  performTool(session, {
    input: undefined,
    ...call,
    durable: true,
    lossNote: { name: call.name },
    errorClasses: { DatabaseError },
  })

/** Passes the outcome to a callback if there is one; otherwise returns a promise. */
function answer(
  outcome: Promise<unknown>,
  callback: unknown,
  further: (value: unknown) => unknown = () => undefined,
): unknown {
  if (typeof callback !== 'function') return outcome
  const call = callback as Callback
  void outcome.then(
    (value) => call(undefined, value, further(value)),
    (error: unknown) => call(error),
  )
  return undefined
}

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
    return Object.assign(shown, { query, release: (error?: unknown) => this.#release(error) })
  }

  #release(error: unknown): void {
    if (this.#isReleased)
      throw new Error('Release called on client which has already been released to the pool.')
    this.#isReleased = true
    const real = this.#real
    if (real === undefined) return
    real.off('error', ignore)
    // The pool continues to serve others, with native timers.
    outsideRuns(() => real.release(error))
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
