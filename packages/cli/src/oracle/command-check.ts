import { clipText } from '@retake/tape'
import { hashOfCode } from '../hash-of-code.js'
import { runCommand } from '../run-command.js'
import type { Check, WrongOracle } from './check.js'
import { cannotTell, judged } from './oracle.js'

/** What `git bisect run` takes for "cannot be tested". */
const CANNOT_TELL = 125

/** What a shell says when it cannot run a command: that is no judgement. */
const CANNOT_RUN = new Set([126, 127])

const SHOWN_MAX = 60

/**
 * A shell command that gets the output on stdin: exit code 0 passes, 125 cannot tell,
 * any other fails. It learns more from the variables RETAKE_EXIT_CODE, RETAKE_TAPE,
 * RETAKE_FILES and, when commits are tried, RETAKE_COMMIT.
 */
export function commandCheck(command: string, wrong: WrongOracle): Check {
  if (command.trim() === '')
    throw wrong('The oracle is empty.', 'Use exit:0, stdout:/regex/ or a command.')
  const shown = clipText(command, SHOWN_MAX)
  return {
    key: hashOfCode(filesIn(command)),
    prepare: () => async (outcome, signal) => {
      const { stdout, stdoutBytes = Buffer.from(stdout), exitCode, tape, files, commit } = outcome
      const { code, stderr } = await runCommand(command, [], {
        cwd: process.cwd(),
        shell: true,
        input: stdoutBytes,
        signal,
        env: {
          ...process.env,
          ...(commit !== undefined && { RETAKE_COMMIT: commit }),
          ...(tape !== undefined && { RETAKE_TAPE: tape }),
          ...(files !== undefined && { RETAKE_FILES: files }),
          ...(exitCode !== undefined && { RETAKE_EXIT_CODE: String(exitCode) }),
        },
      })
      if (CANNOT_RUN.has(code) && !signal.aborted)
        throw wrong(
          `The oracle "${shown}" cannot be run.`,
          stderr.trim() || `The shell ended with exit code ${code}.`,
        )
      const reason = `${shown} ended with exit code ${code}`
      return code === CANNOT_TELL ? cannotTell(reason) : judged(code === 0, reason)
    },
  }
}

/** Words of a command that may be files it reads: another script under the same name is another oracle. */
const filesIn = (command: string): string[] =>
  command.replaceAll(/>{1,2}\s*[^\s;|&]+/g, ' ').split(/[\s"'`;|&()<=$]+/)
