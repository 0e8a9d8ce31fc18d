import { constants } from 'node:os'

/** Exit code that shells use for a process killed by a signal: 130 for Ctrl-C. */
export const signalExitCode = (signal: NodeJS.Signals): number => 128 + constants.signals[signal]

/** The exit codes that mean something to scripts; an agent's own code is passed on as it is. */
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
