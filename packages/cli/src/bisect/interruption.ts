import { Interrupted } from '../agent-process.js'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Holds back signals while something must be cleaned up, and says at the next chance that one came. */
export class Interruption {
  readonly #controller = new AbortController()
  #by: NodeJS.Signals | undefined
  readonly #listener = (signal: NodeJS.Signals): void => {
    this.#by = signal
    this.#controller.abort()
  }

  constructor() {
    for (const signal of SIGNALS) process.on(signal, this.#listener)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  throwIfAny(): void {
    if (this.#by !== undefined) throw new Interrupted(this.#by)
  }

  stop(): void {
    for (const signal of SIGNALS) process.off(signal, this.#listener)
  }
}
