import { constants } from 'node:os'

/** Exit code that shells use for a process killed by a signal: 130 for Ctrl-C. */
export const signalExitCode = (signal: NodeJS.Signals): number => 128 + constants.signals[signal]

/** Exit codes with a meaning for scripts; the agent's own code is passed through. */
export const WRONG_USAGE = 2
/** A divergence, a damaged tape, something not captured. */
export const FOUND = 3
export const CREDENTIALS_MISSING = 4

/** The user stopped a command that has nothing to show yet. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
  constructor(readonly signal: NodeJS.Signals) {
    super(`interrupted by ${signal}`)
  }
}

const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Listens for the signals that ask this process to stop; the answer gives that up. */
export function onStopSignal(listener: (signal: NodeJS.Signals) => void): () => void {
  for (const signal of STOP_SIGNALS) process.on(signal, listener)
  return () => {
    for (const signal of STOP_SIGNALS) process.off(signal, listener)
  }
}

/** Resolves at the first signal to stop. */
export const nextSignal = (): Promise<NodeJS.Signals> =>
  new Promise((resolve) => {
    const stop = onStopSignal((signal) => {
      stop()
      resolve(signal)
    })
  })

/** Defers signals while something must be cleaned up, and reports at the next chance that one came. */
export class Interruption {
  readonly #controller = new AbortController()
  #by: NodeJS.Signals | undefined
  readonly stop = onStopSignal((signal) => {
    this.#by = signal
    this.#controller.abort()
  })

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  throwIfAny(): void {
    if (this.#by !== undefined) throw new Interrupted(this.#by)
  }
}
