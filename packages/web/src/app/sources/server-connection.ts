import type { ChangeLine } from '../../api/api.js'
import type { RepositoryChange } from '../../api/run-repository.js'
import type { Explained } from '../../model/run-source.js'
import { BackendError } from './backend-error.js'
import type { ConnectionChange } from './backend.js'

type Notify = (change: RepositoryChange | ConnectionChange) => void

interface ConnectionParts {
  connect(signal: AbortSignal): AsyncIterable<ChangeLine>
  catchUp(notify: Notify, missed: Missed): Promise<void>
}

export interface Missed {
  /** True if the connection broke, so that requests may have failed meanwhile. */
  readonly wasBroken: boolean
}

const FIRST_WAIT_MS = 250
const WAIT_MAX_MS = 5000
/** If a connection lasted this long, reconnect without a delay. */
const STEADY_MS = 2000
/** The server sends a line every ten seconds. */
const SILENCE_MS = 25_000
/** A hidden page closes its connection, because browsers allow only six per server for all tabs. */
const HIDDEN_MS = 30_000

/**
 * The stream of changes of a page. Reconnects automatically and reports missed changes. If the server
 * rejects the page, shows the server's reason and retries, because the user may sign in in another
 * tab.
 */
export class ServerConnection {
  readonly #parts: ConnectionParts
  readonly #listeners = new Set<Notify>()
  #lost: ConnectionChange | undefined
  #running: AbortController | undefined
  #isBroken = false
  #openedAt: number | undefined

  constructor(parts: ConnectionParts) {
    this.#parts = parts
  }

  watch(notify: Notify): () => void {
    this.#listeners.add(notify)
    if (this.#lost !== undefined) notify(this.#lost)
    if (this.#running === undefined) {
      const running = (this.#running = new AbortController())
      void this.#run(running.signal)
    }
    return () => {
      this.#listeners.delete(notify)
      if (this.#listeners.size === 0) {
        // Delays stopping, because a re-render unsubscribes and immediately subscribes again.
        setTimeout(() => {
          if (this.#listeners.size > 0) return
          this.#running?.abort()
          this.#running = undefined
        }, 1000)
      }
    }
  }

  async #run(signal: AbortSignal): Promise<void> {
    // Report a loss only if reconnecting does not succeed immediately.
    let waitMs = 0
    while (!signal.aborted) {
      while (document.visibilityState === 'hidden' && !signal.aborted)
        await pause(3_600_000, signal)

      try {
        for await (const line of this.#listen(signal)) if (line.type !== 'alive') this.#notify(line)
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof HiddenError) continue
        if (performance.now() - (this.#openedAt ?? Infinity) > STEADY_MS) waitMs = 0
        this.#openedAt = undefined
        this.#isBroken = true
        if (waitMs > 0) this.#setLost(error)
      }
      await pause(waitMs, signal)
      waitMs = Math.min(Math.max(waitMs * 2, FIRST_WAIT_MS), WAIT_MAX_MS)
    }
  }

  /** Listens until the connection ends or is silent for too long, or the page is hidden. */
  async *#listen(signal: AbortSignal): AsyncGenerator<ChangeLine> {
    const giveUp = new AbortController()
    const stop = (): void => giveUp.abort()
    signal.addEventListener('abort', stop)
    const unhide = whenHidden(() => giveUp.abort(new HiddenError()))
    // The browser may notice a dead stream late; a new request fails immediately.
    window.addEventListener('offline', stop)
    let silence = setTimeout(stop, SILENCE_MS)
    let isOpen = false
    try {
      for await (const line of this.#parts.connect(giveUp.signal)) {
        clearTimeout(silence)
        silence = setTimeout(stop, SILENCE_MS)
        if (!isOpen) this.#setOpen()
        isOpen = true
        yield line
      }
      throw new Error('the server has ended the connection')
    } catch (error) {
      throw giveUp.signal.reason instanceof HiddenError ? giveUp.signal.reason : error
    } finally {
      clearTimeout(silence)
      unhide()
      window.removeEventListener('offline', stop)
      signal.removeEventListener('abort', stop)
    }
  }

  #setOpen(): void {
    const missed = { wasBroken: this.#isBroken }
    this.#isBroken = false
    this.#openedAt = performance.now()
    if (this.#lost !== undefined) {
      this.#lost = undefined
      this.#notify({ type: 'connection', state: 'open' })
    }
    // A failure counts as a lost connection, and catching up is repeated.
    this.#parts.catchUp((change) => this.#notify(change), missed).catch(() => {})
  }

  #setLost(error: unknown): void {
    let why: Explained | undefined
    if (error instanceof BackendError && error.status === 401) {
      // The server responds but rejects this page: it was restarted, or the session has expired.
      const { code, what, fix = 'Sign in again.' } = error
      why = { code, what, fix: `${fix} This page then reconnects automatically.` }
    }
    if (this.#lost !== undefined && this.#lost.error?.code === why?.code) return
    this.#lost = { type: 'connection', state: 'lost', ...(why && { error: why }) }
    this.#notify(this.#lost)
  }

  #notify(change: RepositoryChange | ConnectionChange): void {
    for (const notify of this.#listeners) notify(change)
  }
}

class HiddenError extends Error {}

/** Waits, but ends early if there is a reason to retry now. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(done, ms)
    function done(): void {
      clearTimeout(timer)
      window.removeEventListener('online', done)
      document.removeEventListener('visibilitychange', done)
      signal.removeEventListener('abort', done)
      resolve()
    }
    window.addEventListener('online', done)
    document.addEventListener('visibilitychange', done)
    signal.addEventListener('abort', done)
  })

/** Calls `hidden` when the page has been hidden for a while. Returns a function that cancels it. */
function whenHidden(hidden: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  const look = (): void => {
    clearTimeout(timer)
    if (document.visibilityState === 'hidden') timer = setTimeout(hidden, HIDDEN_MS)
  }
  document.addEventListener('visibilitychange', look)
  look()
  return () => {
    clearTimeout(timer)
    document.removeEventListener('visibilitychange', look)
  }
}
