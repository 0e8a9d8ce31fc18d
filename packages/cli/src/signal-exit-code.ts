import { constants } from 'node:os'

/** What shells answer for a process that a signal killed: 130 for Ctrl-C. */
export const signalExitCode = (signal: NodeJS.Signals): number => 128 + constants.signals[signal]
