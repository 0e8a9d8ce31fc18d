import type { KeptPlan } from '@retake/engine'
import type { ForkRun } from './fork-run.js'

/** One fork to be run. Plain data: it may be run on another machine that has the tape and the program. */
export interface ForkJob {
  /** Path of the tape of the failed run. */
  readonly tape: string
  readonly plan: KeptPlan
  readonly timeoutMs: number
  /** Variables that differ from the recorded ones. */
  readonly env: Readonly<Record<string, string>>
}

/** Runs forks, several at a time. It judges nothing, keeps nothing and tries nothing twice. */
export interface ForkPool {
  /** How many it runs at once. */
  readonly size: number
  /** Waits for its turn. An aborted signal ends it: the promise is rejected then. */
  run(job: ForkJob, signal: AbortSignal): Promise<ForkRun>
}

/** Runs forks as processes of this machine, at most `size` at once, in the order they were asked for. */
export class LocalForkPool implements ForkPool {
  readonly size: number
  readonly #runFork: (job: ForkJob, signal: AbortSignal) => Promise<ForkRun>
  readonly #waiting: (() => void)[] = []
  #busy = 0

  constructor(size: number, runFork: (job: ForkJob, signal: AbortSignal) => Promise<ForkRun>) {
    this.size = size
    this.#runFork = runFork
  }

  async run(job: ForkJob, signal: AbortSignal): Promise<ForkRun> {
    if (this.#busy >= this.size) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#busy += 1
    try {
      signal.throwIfAborted()
      return await this.#runFork(job, signal)
    } finally {
      // The next in line takes over this place.
      const next = this.#waiting.shift()
      if (next === undefined) this.#busy -= 1
      else next()
    }
  }
}
