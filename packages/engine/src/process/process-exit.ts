import { recordError, type RecordedError } from '@retake/tape/format'

/**
 * Calls `last` when the process ends, after every exit listener of the agent, so that their output
 * is still part of the run. `last` may change the exit code.
 */
export function onProcessExit(last: (exitCode: number) => void): void {
  const emit = process.emit.bind(process) as (event: string | symbol, ...args: unknown[]) => boolean
  process.emit = function (event: string | symbol, ...args: unknown[]): boolean {
    const heard = emit(event, ...args)
    if (event === 'exit') last(Number(process.exitCode ?? args[0] ?? 0))
    return heard
  } as typeof process.emit
}

/** End of an agent process: its exit code, and its uncaught error. */
export interface ProcessEnd {
  readonly exitCode: number
  readonly error?: RecordedError
}

/** The same, with the end in the form that a session takes. */
export function onAgentEnd(last: (end: ProcessEnd) => void): void {
  let error: RecordedError | undefined
  process.on('uncaughtExceptionMonitor', (thrown) => (error = recordError(thrown)))
  onProcessExit((exitCode) => last({ exitCode, ...(error && { error }) }))
}

/** Ends this process immediately. `process.exit` would still run the agent's exit listeners. */
export const exitNow = (exitCode: number): never =>
  (process as unknown as { reallyExit(code: number): never }).reallyExit(exitCode)
