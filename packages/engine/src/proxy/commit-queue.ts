import type { TapeWriter } from '@retake/tape/node'

/**
 * Output-commit rule for many requests at once: all that arrived in one turn of
 * the event loop share one barrier, then leave together.
 */
export class CommitQueue {
  #waiting: { readonly resolve: () => void; readonly reject: (error: unknown) => void }[] = []

  constructor(readonly writer: TapeWriter) {}

  /** Resolves when everything appended so far is on disk. */
  commit(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
      if (this.#waiting.length === 1) setImmediate(() => this.#flush())
    })
  }

  #flush(): void {
    const waiting = this.#waiting
    this.#waiting = []
    try {
      this.writer.barrier()
      for (const { resolve } of waiting) resolve()
    } catch (error) {
      for (const { reject } of waiting) reject(error)
    }
  }
}
