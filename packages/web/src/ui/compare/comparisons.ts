import { Worker } from 'node:worker_threads'
import { RetakeError } from '@retake/engine/errors'
import type { RunComparison } from '@retake/tape'
import { project } from '@retake/runner/config'
import { cliErrors } from '@retake/runner/errors'
import type { RunStore } from '@retake/runner/runs'
import type { CompareAnswer, CompareTask } from './compare-worker.js'
import { FileCache, openStored, withMark } from '../runs/run-models.js'
import { webEntry } from '../../built/package-root.js'

/** Number of cached results; each contains the texts of all differences. */
const CACHED_MAX = 6
/** Maximum number of threads. */
const THREADS_MAX = 2

/**
 * Compares runs, each pair in its own thread, because reading all bodies of long runs takes
 * seconds. A result is cached until one of its tapes changes.
 */
export class Comparisons {
  readonly #cached = new FileCache<Promise<RunComparison>>(CACHED_MAX)
  readonly #threads = new Set<Worker>()
  readonly #waiting: (() => void)[] = []
  #isClosed = false

  constructor(private readonly store: RunStore) {}

  async compare(a: string, b: string): Promise<RunComparison> {
    const tapes = [openStored(this.store, a), openStored(this.store, b)]
    const key = `${a} ${b}`
    const files = tapes.flatMap(({ path }) => withMark(path))
    const compared = this.#cached.get(key, files, () => this.#compareAside(a, b))
    compared.catch(() => this.#cached.delete(key))
    return compared
  }

  /** Ends running comparisons. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#threads].map((thread) => thread.terminate()))
  }

  async #compareAside(a: string, b: string): Promise<RunComparison> {
    if (this.#threads.size >= THREADS_MAX)
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    if (this.#isClosed) throw cliErrors.SERVER_CLOSING()
    const workerData: CompareTask = { folder: this.store.folder, a, b, prices: project().prices }
    const thread = new Worker(webEntry('compare-worker'), { workerData })
    this.#threads.add(thread)
    try {
      const answer = await new Promise<CompareAnswer>((resolve, reject) => {
        thread.once('message', resolve)
        thread.once('error', reject)
        // Ended by `close`; any other end of a thread is reported before.
        thread.once('exit', () => reject(cliErrors.SERVER_CLOSING()))
      })
      if ('compared' in answer) return answer.compared
      const { code, what, why = '', fix = '' } = answer.error
      throw new RetakeError(code, what, why, fix)
    } finally {
      this.#threads.delete(thread)
      this.#waiting.shift()?.()
    }
  }
}
