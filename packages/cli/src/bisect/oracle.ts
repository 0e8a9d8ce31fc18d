import { wrongUsage } from '../errors.js'
import { runCommand } from './run-command.js'

/** What a replayed program came to. */
export interface Outcome {
  readonly commit: string
  readonly stdout: Buffer
  /** Missing when the program did not come to its own end. */
  readonly exitCode?: number
}

export interface Judgement {
  readonly verdict: 'same' | 'different' | 'untestable'
  readonly reason: string
}

/** Tells good outcomes from bad ones. */
export type Oracle = (outcome: Outcome, signal: AbortSignal) => Promise<Judgement>

/** `exit:0`, `stdout:/regex/`, or else a shell command that gets the output on stdin. */
export function parseOracle(text: string, verb = 'bisect'): Oracle {
  if (text.trim() === '')
    throw wrongUsage(verb, 'The oracle is empty.', 'Use exit:0, stdout:/regex/ or a command.')
  if (text.startsWith('exit:')) return exitOracle(text, verb)
  return text.startsWith('stdout:') ? outputOracle(text, verb) : commandOracle(text, verb)
}

function exitOracle(text: string, verb: string): Oracle {
  const wanted = /^exit:(\d{1,3})$/.exec(text)?.[1]
  if (wanted === undefined)
    throw wrongUsage(verb, `"${text}" names no exit code.`, 'For example: --oracle exit:0.')
  return async ({ exitCode }) =>
    judge(
      exitCode === Number(wanted),
      exitCode === undefined ? 'it did not come to an end' : `exit code ${exitCode}`,
    )
}

function outputOracle(text: string, verb: string): Oracle {
  const parts = /^stdout:\/(.+)\/([a-z]*)$/s.exec(text)
  const pattern = parts && regExp(parts[1] ?? '', parts[2] ?? '')
  if (!pattern)
    throw wrongUsage(
      verb,
      `"${text}" holds no regular expression.`,
      "For example: --oracle 'stdout:/order \\d+ refunded/i'.",
    )
  return async ({ stdout }) => {
    const matches = stdout.toString().search(pattern) >= 0
    return judge(matches, `stdout ${matches ? 'matches' : 'does not match'} ${String(pattern)}`)
  }
}

/** What `git bisect run` takes for "cannot be tested". */
const UNTESTABLE = 125

/** What a shell says when it cannot run a command: that is no judgement. */
const CANNOT_RUN = new Set([126, 127])

function commandOracle(command: string, verb: string): Oracle {
  return async ({ commit, stdout, exitCode }, signal) => {
    const { code, stderr } = await runCommand(command, [], {
      cwd: process.cwd(),
      shell: true,
      input: stdout,
      signal,
      env: {
        ...process.env,
        RETAKE_COMMIT: commit,
        ...(exitCode !== undefined && { RETAKE_EXIT_CODE: String(exitCode) }),
      },
    })
    if (CANNOT_RUN.has(code))
      throw wrongUsage(
        verb,
        `The oracle "${command}" cannot be run.`,
        stderr.trim() || `The shell ended with exit code ${code}.`,
      )
    const reason = `${command} ended with exit code ${code}`
    return code === UNTESTABLE ? { verdict: 'untestable', reason } : judge(code === 0, reason)
  }
}

const judge = (passes: boolean, reason: string): Judgement => ({
  verdict: passes ? 'same' : 'different',
  reason,
})

function regExp(source: string, flags: string): RegExp | undefined {
  try {
    return new RegExp(source, flags)
  } catch {
    return undefined
  }
}
