import { writeFileSync } from 'node:fs'
import { CodedError, recordError, type RecordedError } from '@retake/tape/format'
import type { errors } from '../errors.js'
import { natives } from '../kernel/natives.js'
import { outsideRuns } from '../kernel/scope.js'

/** Captured before the file boundary is patched. */
const write = writeFileSync

/** Writes a file for the process that started this one; not part of any run. */
export function writeJson(file: string, value: unknown): void {
  outsideRuns(() => write(file, JSON.stringify(value)))
}

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

/** Crosses from the loader's thread as a copy, which has the code, but not the class. */
const REFUSED_BY_LOADER = 'DECORATORS_NOT_COMPILED' satisfies keyof typeof errors

export interface ProcessEnd {
  readonly exitCode: number
  readonly error?: RecordedError
}

/** Like `onProcessExit`, with the end in the form that a session takes. */
export function onAgentEnd(last: (end: ProcessEnd) => void): void {
  let error: RecordedError | undefined
  process.on('uncaughtExceptionMonitor', (thrown: Error & { readonly code?: unknown }) => {
    error = recordError(thrown)
    if (thrown?.code !== REFUSED_BY_LOADER) return
    // Nothing of the agent has run, and Node would print its own stack and the fields of the error.
    natives.stderrWrite(Buffer.from(`${thrown.stack}\n`))
    process.exit(FAILED)
  })
  onProcessExit((exitCode) => last({ exitCode, ...(error && { error }) }))
}

/** Ends this process immediately. `process.exit` would still run the agent's exit listeners. */
export const exitNow = (exitCode: number): never =>
  (process as unknown as { reallyExit(code: number): never }).reallyExit(exitCode)

const FAILED = 1

/**
 * Ends this process because Retake cannot continue: everything that the agent did from here on
 * would be missing from the tape. Runs no exit listener of the agent.
 */
export function stopWith(error: unknown, file: string | undefined): never {
  const known = error instanceof CodedError
  if (file === undefined || !known) throw error
  const { code, what, why, fix } = error
  try {
    writeJson(file, { code, what, why, fix })
  } catch {
    natives.stderrWrite(Buffer.from(`${what} ${why} ${fix} (${code})\n`))
  }
  return exitNow(FAILED)
}
