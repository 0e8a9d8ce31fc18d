import { clipText } from '@retake/tape'
import { type Check, judged, type WrongOracle } from './oracle.js'

const SHOWN_MAX = 60

/** `stdout:/regex/flags` or `stdout:some text`: passes when it matches, or stands in the output. */
export function stdoutCheck(wanted: string, wrong: WrongOracle): Check {
  if (wanted === '')
    throw wrong('"stdout:" names no text.', "For example: --oracle 'stdout:order refunded'.")
  if (!wanted.startsWith('/')) {
    const shown = JSON.stringify(clipText(wanted, SHOWN_MAX))
    return {
      prepare:
        () =>
        ({ stdout }) => {
          const holds = stdout.includes(wanted)
          return judged(holds, `stdout ${holds ? 'holds' : 'does not hold'} ${shown}`)
        },
    }
  }
  const pattern = patternOf(wanted)
  if (pattern === undefined)
    throw wrong(
      `"stdout:${wanted}" holds no regular expression.`,
      "For example: --oracle 'stdout:/order \\d+ refunded/i'.",
    )
  return {
    prepare:
      () =>
      ({ stdout }) => {
        const matches = matchesText(pattern, stdout)
        return judged(
          matches,
          `stdout ${matches ? 'matches' : 'does not match'} ${String(pattern)}`,
        )
      },
  }
}

/**
 * `$` also matches before the final newline, as in grep, Perl and Python: nearly all
 * output ends with one, and JavaScript's `$` would match only behind it.
 */
function matchesText(pattern: RegExp, text: string): boolean {
  if (text.search(pattern) >= 0) return true
  return pattern.source.includes('$') && text.replace(/\r?\n$/, '').search(pattern) >= 0
}

function patternOf(text: string): RegExp | undefined {
  const parts = /^\/(.+)\/([a-z]*)$/s.exec(text)
  if (parts === null) return undefined
  try {
    return new RegExp(parts[1] ?? '', parts[2] ?? '')
  } catch {
    return undefined
  }
}
