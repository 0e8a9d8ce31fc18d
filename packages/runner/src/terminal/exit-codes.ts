import { constants } from 'node:os'

/** Exit code that shells use for a process killed by a signal: 130 for Ctrl-C. */
export const signalExitCode = (signal: NodeJS.Signals): number => 128 + constants.signals[signal]

/** Exit codes for scripts. The agent's own code is passed through. */
export const WRONG_USAGE = 2
/** Something was found: a divergence, a damaged tape, something not captured. */
export const FOUND = 3
export const CREDENTIALS_MISSING = 4
/** Something that this machine lacks, such as a sandbox, prevented a result. */
export const NOT_TRIED = 5

/** The user stopped a command that has nothing to show yet. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
  constructor(readonly signal: NodeJS.Signals) {
    super(`interrupted by ${signal}`)
  }
}

const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Calls `listener` on SIGINT, SIGTERM or SIGHUP. Returns an unsubscribe function. */
export function onStopSignal(listener: (signal: NodeJS.Signals) => void): () => void {
  for (const signal of STOP_SIGNALS) process.on(signal, listener)
  return () => {
    for (const signal of STOP_SIGNALS) process.off(signal, listener)
  }
}

export const nextSignal = (): Promise<NodeJS.Signals> =>
  new Promise((resolve) => {
    const stop = onStopSignal((signal) => {
      stop()
      resolve(signal)
    })
  })

const PARENT_MS = 1000

/**
 * Resolves on a stop signal. Under `npx`, also when npm is gone: npm passes no signal on, so that its
 * program would go on without it.
 */
export async function stopRequest(): Promise<void> {
  const { ppid } = process
  let timer: NodeJS.Timeout | undefined
  const orphaned = new Promise<void>((resolve) => {
    if (process.env['npm_command'] !== 'exec') return
    timer = setInterval(() => {
      if (process.ppid !== ppid) resolve()
    }, PARENT_MS).unref()
  })
  await Promise.race([nextSignal(), orphaned])
  clearInterval(timer)
}

/** Records a stop signal so that cleanup can finish; `throwIfAny()` reports it as `Interrupted`. */
export class Interruption {
  readonly #controller = new AbortController()
  #by: NodeJS.Signals | undefined
  readonly [Symbol.dispose] = onStopSignal((signal) => {
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
