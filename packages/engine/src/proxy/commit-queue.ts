import type { TapeWriter } from '@retake/tape/node'

interface Waiting {
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/** Under load syncs begin at least so far apart, so that more requests share one. */
const GATHER_MS = 3

/**
 * Output-commit rule for many requests at once: whatever was appended while one
 * sync is under way shares the next one. It runs beside the event loop, so that
 * answers keep flowing meanwhile.
 */
export class CommitQueue {
  #waiting: Waiting[] = []
  #isSyncing = false
  #startedAt = 0

  constructor(readonly writer: Pick<TapeWriter, 'whenDurable'>) {}

  /** Resolves when everything appended so far is on disk. */
  commit(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
      // At the end of this turn, so that requests that came together share it.
      if (this.#waiting.length === 1) setImmediate(() => this.#sync())
    })
  }

  #sync(): void {
    if (this.#isSyncing || this.#waiting.length === 0) return
    const synced = this.#waiting
    this.#waiting = []
    this.#isSyncing = true
    this.#startedAt = performance.now()
    try {
      this.writer.whenDurable((failure) => this.#settle(synced, failure))
    } catch (error) {
      this.#settle(synced, error as Error)
    }
  }

  #settle(synced: readonly Waiting[], failure: Error | undefined): void {
    for (const { resolve, reject } of synced) {
      if (failure === undefined) resolve()
      else reject(failure)
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
