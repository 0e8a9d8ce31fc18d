import { clipText } from '@retake/tape'
import { cannotTell, judged } from './oracle.js'
import type { Judgement, Verdict } from './oracle.js'

const VERDICTS: readonly unknown[] = ['pass', 'fail', 'undefined'] satisfies Verdict[]
const SHOWN_MAX = 60
const isVerdict = (value: unknown): value is Verdict => VERDICTS.includes(value)

/** What a function of the user's answered, as a judgement; anything unexpected cannot tell. */
export function functionAnswer(answer: unknown): Judgement {
  if (typeof answer === 'boolean') return judged(answer, `the oracle said ${answer}`)
  if (isVerdict(answer)) return { verdict: answer, reason: `the oracle said ${answer}` }
  if (typeof answer === 'object' && answer !== null && 'verdict' in answer) {
    const { verdict } = answer
    const reason = 'reason' in answer ? answer.reason : undefined
    if (isVerdict(verdict))
      return {
        verdict,
        reason: typeof reason === 'string' ? reason : `the oracle said ${verdict}`,
      }
  }
  return cannotTell(
    `the oracle answered ${shown(answer)}, which is neither true, false, 'pass', 'fail' nor 'undefined'`,
  )
}

function shown(answer: unknown): string {
  try {
    return clipText(JSON.stringify(answer) ?? String(answer), SHOWN_MAX)
  } catch {
    return typeof answer
  }
}
