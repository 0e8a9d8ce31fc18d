import { randomUUID } from 'node:crypto'
import type { Tape } from '@retake/tape'
import type { Move, OpenedSession, SessionPosition, SessionValue } from '@retake/web'
import { cliErrors } from '../../errors.js'
import { RunSession } from './run-session.js'

/** Each is a handful of processes. */
const SESSIONS_MAX = 4
const IDLE_MS = 10 * 60_000

interface Entry {
  readonly session: RunSession
  /** What is under way. */
  uses: number
  idle: NodeJS.Timeout
}

/**
 * The places in runs that pages look at. A page closes its own; one that could not,
 * because its tab was closed or its machine sleeps, is closed when nobody has used it
 * for a while, or when too many were opened after it.
 */
export class Sessions {
  readonly #idleMs: number
  /** Least recently used first. */
  readonly #entries = new Map<string, Entry>()
  readonly #closing = new Set<Promise<void>>()
  #isClosed = false

  constructor({ idleMs = IDLE_MS }: { readonly idleMs?: number } = {}) {
    this.#idleMs = idleMs
  }

  open(tape: Tape): OpenedSession {
    if (this.#isClosed) throw cliErrors.SERVER_CLOSING()
    const session = new RunSession(tape)
    const id = randomUUID()
    this.#entries.set(id, { session, idle: this.#closeLater(id), uses: 0 })
    for (const old of [...this.#entries.keys()].slice(0, -SESSIONS_MAX)) void this.close(old)
    return { session: id, steps: session.steps, changedSources: session.changedSources() }
  }

  move(id: string, to: Move, signal?: AbortSignal): Promise<SessionPosition> {
    return this.#use(id, (session) => session.move(to, signal))
  }

  evaluate(id: string, expression: string): Promise<SessionValue> {
    return this.#use(id, (session) => session.evaluate(expression))
  }

  /** One that is closed already is no error. */
  close(id: string): Promise<void> {
    const entry = this.#entries.get(id)
    if (entry === undefined) return Promise.resolve()
    this.#entries.delete(id)
    clearTimeout(entry.idle)
    const closing = entry.session.close()
    this.#closing.add(closing)
    return closing.finally(() => this.#closing.delete(closing))
  }

  /** Resolves when no process of any session is left. */
  async closeAll(): Promise<void> {
    this.#isClosed = true
    for (const id of this.#entries.keys()) void this.close(id)
    await Promise.all(this.#closing)
  }

  /** However long it takes, it is not idle meanwhile. */
  async #use<T>(id: string, act: (session: RunSession) => Promise<T>): Promise<T> {
    const entry = this.#entry(id)
    clearTimeout(entry.idle)
    entry.uses++
    this.#entries.delete(id)
    this.#entries.set(id, entry)
    try {
      return await act(entry.session)
    } catch (error) {
      if (this.#entries.has(id)) throw error
      throw cliErrors.NO_SUCH_SESSION(id, 'It was closed meanwhile.')
    } finally {
      entry.uses--
      if (entry.uses === 0 && this.#entries.has(id)) entry.idle = this.#closeLater(id)
    }
  }

  #entry(id: string): Entry {
    const entry = this.#entries.get(id)
    if (entry === undefined)
      throw cliErrors.NO_SUCH_SESSION(
        id,
        'It was not used for a while, or others were opened after it.',
      )
    if (!entry.session.isOutdated) return entry
    void this.close(id)
    throw cliErrors.NO_SUCH_SESSION(id, 'The tape of the run has changed since.')
  }

  #closeLater(id: string): NodeJS.Timeout {
    return setTimeout(() => void this.close(id), this.#idleMs).unref()
  }
}
