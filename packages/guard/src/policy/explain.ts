import type { GuardVerdict } from '@retake/tape/format'
import type { Denial } from '../guard-error.js'
import type { JudgedCall } from './call-filter.js'
import { CallHistory, type PastCall } from './call-history.js'
import { CompiledPolicy, type PolicyJudgement } from './compiled-policy.js'
import type { Policy } from './policy.js'
import { matchOf } from './rule-match.js'

/** One rule beside one call. */
export interface ExplainedRule {
  /** `policy/rule`. */
  readonly rule: string
  readonly verdict: GuardVerdict
  readonly matched: boolean
  /** It is the first of its policy that matches. */
  readonly decides: boolean
  readonly because?: string
  /** Reasons for the match, or against it. */
  readonly why: string
}

export interface Explanation {
  readonly judgement: PolicyJudgement
  /** A scope that denied the call before any rule. */
  readonly outside?: Denial
  /** Every rule of every policy, and its default, in order. */
  readonly rules: readonly ExplainedRule[]
}

/** Every rule with whether it matches a call and why not, for people who wonder. */
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

/** The same for calls that were made, each after those before it; the twin of `judgeCalls`. */
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
