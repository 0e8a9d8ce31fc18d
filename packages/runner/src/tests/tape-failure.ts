import { fileURLToPath } from 'node:url'
import { type Divergence, ReplayDiverged } from '@retake/engine'
import { openTape } from '@retake/tape/node'
import { divergenceReport } from '../agent/divergence.js'
import { shellQuote, shellWord } from '../terminal/shell-word.js'
import { fromHere, PLAIN_LOOK } from '../terminal/terminal.js'
import { explain } from '../terminal/print-error.js'
import { commandRoot, runnerEntry } from '../package-root.js'

function divergenceText(file: string, found: Divergence, test: RunningTest): string {
  // Runners show the location themselves.
  const { site: _, ...divergence } = found
  const tape = openTape(file)
  const advice = keyAdvice(divergence)
  const lines = divergenceReport(tape, divergence, PLAIN_LOOK, {
    again: test.again ?? recordAgain(test),
    withTitle: true,
    ...(advice && { fix: advice }),
  })
  return [`The agent no longer matches ${fromHere(file)}.`, '', ...lines].join('\n')
}

/** An SDK without a key stops before its first request, although the agent has not changed. */
function keyAdvice(divergence: Divergence): string[] | undefined {
  const { message = '' } = (divergence.code === 'ended-early' && divergence.error) || {}
  if (!/api.?key|auth.?token|credentials/i.test(message)) return undefined
  const name = /\b[A-Z][A-Z\d_]*_(?:KEY|TOKEN)\b/.exec(message)?.[0]
  const example = name === undefined ? '' : `: ${name}=for-replay`
  return [`If the SDK requires a key, set any value for the replay${example}`]
}

/** The test that uses the tape, as reported by the runner. */
export interface RunningTest {
  readonly testPath?: string
  /** Includes the names of its groups. */
  readonly currentTestName?: string
  /** How to record its tape again, if not by running the test in `record` mode. */
  readonly again?: string
  readonly updates?: boolean
}

function recordAgain({ testPath, currentTestName }: RunningTest): string {
  const runner = process.env['VITEST'] === undefined ? 'jest' : 'vitest run'
  // Vitest joins groups with ` > ` in names, but with a space in name filters.
  const name = currentTestName
    ?.replaceAll(' > ', ' ')
    .replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)
  return [
    `RETAKE_MODE=record npx ${runner}`,
    ...(testPath === undefined ? [] : [shellWord(fromHere(testPath))]),
    ...(name === undefined ? [] : ['-t', shellQuote(name)]),
  ].join(' ')
}

/**
 * Fails a test because the agent diverged or the tape cannot be used. Runners show the message, and
 * the topmost stack frame, which is where the agent diverged.
 */
export class TapeFailure extends Error {
  override readonly name = 'TapeFailure'
  declare readonly code: string

  /** Converts Retake's own errors; returns any other error unchanged. */
  static from(cause: unknown, file: string, test: RunningTest = {}): unknown {
    const explained = explain(cause)
    if (explained === undefined) return cause
    if (cause instanceof ReplayDiverged)
      return new TapeFailure(
        divergenceText(file, cause.divergence, test),
        explained.code,
        cause.divergence.site,
      )
    const { code, what, why, fix } = explained
    return new TapeFailure(`${what}\n  why  ${why}\n  fix  ${fix}\n  code ${code}`, code)
  }

  constructor(message: string, code: string, site?: string) {
    super(message)
    // This package, as stacks name it: by URL, or by path.
    const own = [commandRoot(), new URL('..', runnerEntry('tests'))].flatMap((folder) => [
      folder.href,
      fileURLToPath(folder),
    ])
    const theirs = (this.stack ?? '')
      .split('\n')
      .filter((line) => /^ +at /.test(line) && own.every((prefix) => !line.includes(prefix)))
    // Runners map stack frames to original sources, but not locations in a message.
    const frames = site === undefined ? theirs : [`    at ${site}`, ...theirs]
    const stack = [`${this.name}: ${message}`, ...frames].join('\n')
    // Not enumerable, because runners print enumerable properties again.
    const hidden = { code, name: this.name, stack }
    for (const [key, value] of Object.entries(hidden))
      Object.defineProperty(this, key, { value, enumerable: false })
  }
}
