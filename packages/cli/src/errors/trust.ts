import { RetakeError } from '@retake/engine/errors'
import type { Tape } from '@retake/tape'
import { fromHere } from '../terminal/terminal.js'
import { reason } from './reason.js'

/** A tape names a program that nobody on this machine has agreed to start: exit code 2. */
export class RunNotTrusted extends RetakeError {
  override readonly name = 'RunNotTrusted'

  constructor(
    readonly tape: Tape,
    /** The command line that would be started. */
    readonly startLine: string,
    ...parts: ConstructorParameters<typeof RetakeError>
  ) {
    super(...parts)
  }
}

export const runNotTrusted = (tape: Tape, startLine: string): RunNotTrusted =>
  new RunNotTrusted(
    tape,
    startLine,
    'RUN_NOT_TRUSTED',
    `Run ${tape.run.id} was not recorded here, so its program is not started.`,
    `Its tape would start: ${startLine}`,
    `If you want that, allow it with \`retake trust ${fromHere(tape.path)}\`, or add --trust to this command.`,
  )

export const trustNotSaved = (file: string, cause: unknown): RetakeError =>
  new RetakeError(
    'TRUST_NOT_SAVED',
    `It cannot be remembered in ${file} that the run is trusted.`,
    `The system said: ${reason(cause)}.`,
    'Set XDG_STATE_HOME to a folder that you can write to, or add --trust to each command.',
    { cause },
  )
