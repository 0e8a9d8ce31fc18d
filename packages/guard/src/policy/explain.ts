import type { GuardVerdict } from '@retake/tape/format'
import type { Denial } from '../guard-error.js'
import type { JudgedCall } from './compiled-rule.js'
import { CallHistory, type PastCall, wasMade } from './call-history.js'
import { CompiledPolicy, type PolicyJudgement } from './compiled-policy.js'
import type { Policy } from './policy.js'
import { matchOf } from './describe-denial.js'

/** A call with its times: any numbers in order, such as those of events. */
interface TimedCall extends PastCall {
  /** Missing if it ended before the next one began. */
  readonly began?: number
  /** Missing if it has no result. */
  readonly ended?: number | undefined
}

/**
 * Applies policies to recorded calls, with the history and concurrency of the recording. File scopes
 * follow the links that are on disk now.
 */
export function judgeCalls(
  policies: readonly Policy[],
  calls: readonly TimedCall[],
): readonly PolicyJudgement[] {
  const compiled = new CompiledPolicy(policies)
  const history = new CallHistory(compiled)
  const underWay = new Set<TimedCall>()
  return calls.map((call) => {
    for (const each of endedBefore(call.began, underWay)) {
      underWay.delete(each)
      history.add(each, each)
    }
    const judgement = compiled.judge(call, history)
    if (call.began === undefined) history.add(call)
    else if (wasMade(call)) {
      history.begin(call, call)
      underWay.add(call)
    }
    return judgement
  })
}

/** Calls that had ended by then, in order. */
const endedBefore = (moment: number | undefined, calls: ReadonlySet<TimedCall>): TimedCall[] =>
  [...calls]
    .filter(({ ended = Infinity }) => moment !== undefined && ended < moment)
    .toSorted((a, b) => (a.ended ?? 0) - (b.ended ?? 0))

export interface ExplainedRule {
  /** `policy/rule`. */
  readonly rule: string
  readonly verdict: GuardVerdict
  readonly matched: boolean
  /** It is the first match of its policy. */
  readonly decides: boolean
  readonly because?: string
  /** Reasons for or against the match. */
  readonly why: string
}

export interface Explanation {
  readonly judgement: PolicyJudgement
  /** A scope that denied the call before any rule. */
  readonly outside?: Denial
  /** Every rule of every policy, and its default, in order. */
  readonly rules: readonly ExplainedRule[]
}

/** Explains for every rule whether it matches a call. */
export function explainJudgement(
  policy: CompiledPolicy,
  call: JudgedCall,
  history: CallHistory,
): Explanation {
  const rules = policy.rules.flatMap(({ name, default: verdict, rules: own }) => {
    let isDecided = false
    const explained = own.map((rule): ExplainedRule => {
      const { matched, reasons } = matchOf(rule, call, history)
      const decides = matched && !isDecided
      isDecided ||= matched
      const { because } = rule.rule
      return {
        rule: rule.name,
        verdict: rule.verdict,
        matched,
        decides,
        ...(because !== undefined && { because }),
        why: reasons.join('; ') || `the rule is about every call of ${call.tool}`,
      }
    })
    const byDefault: ExplainedRule = {
      rule: `${name}/default`,
      verdict,
      matched: !isDecided,
      decides: !isDecided,
      why: isDecided ? 'a rule decided' : 'no rule matched',
    }
    return [...explained, byDefault]
  })
  const outside = policy.outside(call)
  return { judgement: policy.judge(call, history), ...(outside && { outside }), rules }
}

/** The same for recorded calls, like `judgeCalls`. */
export function explainCalls(
  policies: readonly Policy[],
  calls: readonly PastCall[],
): readonly Explanation[] {
  const compiled = new CompiledPolicy(policies)
  const history = new CallHistory(compiled)
  return calls.map((call) => {
    const explanation = explainJudgement(compiled, call, history)
    history.add(call)
    return explanation
  })
}
