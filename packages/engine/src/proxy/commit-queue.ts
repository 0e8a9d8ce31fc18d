import { close, fdatasync, openSync } from 'node:fs'

interface Waiting {
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/** Under load syncs begin at least so far apart, so that more requests share one. */
const GATHER_MS = 3

/**
 * Output-commit rule for many requests at once: whatever was appended while one
 * sync is under way shares the next one. It runs beside the event loop, through a
 * descriptor of its own, so that answers keep flowing meanwhile. A sync that
 * failed is not tried again: every later one fails, too.
 */
export class CommitQueue {
  readonly #fd: number
  readonly #flush: () => void
  #waiting: Waiting[] = []
  #isSyncing = false
  #isClosing = false
  #startedAt = 0
  #failure: Error | undefined

  /** For a tape that exists already; `flush` writes what its writer holds. */
  constructor(tape: string, flush: () => void) {
    this.#fd = openSync(tape, 'r+')
    this.#flush = flush
  }

  /** Resolves when everything appended so far is on disk. */
  commit(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
      // At the end of this turn, so that requests that came together share it.
      if (this.#waiting.length === 1) setImmediate(() => this.#sync())
    })
  }

  /** Takes effect when nothing is waiting any more. */
  close(): void {
    this.#isClosing = true
    this.#sync()
  }

  #sync(): void {
    if (this.#isSyncing) return
    if (this.#waiting.length === 0) {
      if (this.#isClosing) close(this.#fd, () => {})
      return
    }
    const synced = this.#waiting
    this.#waiting = []
    this.#isSyncing = true
    this.#startedAt = performance.now()
    try {
      this.#flush()
    } catch (error) {
      return this.#settle(synced, error as Error)
    }
    fdatasync(this.#fd, (error) => this.#settle(synced, error))
  }

  #settle(synced: readonly Waiting[], error: Error | null): void {
    this.#failure ??= error ?? undefined
    for (const { resolve, reject } of synced) {
      if (this.#failure) reject(this.#failure)
      else resolve()
    }
    const restMs = GATHER_MS - (performance.now() - this.#startedAt)
    if (this.#waiting.length > 0 && restMs > 0) setTimeout(() => this.#next(), restMs)
    else this.#next()
  }

  #next(): void {
    this.#isSyncing = false
    this.#sync()
  }
}
