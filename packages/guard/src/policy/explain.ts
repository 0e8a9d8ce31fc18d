import type { GuardVerdict } from '@retake/tape/format'
import type { Denial } from '../guard-error.js'
import type { JudgedCall } from './call-filter.js'
import { CallHistory, type PastCall, wasMade } from './call-history.js'
import { CompiledPolicy, type PolicyJudgement } from './compiled-policy.js'
import type { Policy } from './policy.js'
import { matchOf } from './describe-denial.js'

/** A call that was made, and when: numbers that only have to be in order, such as those of events. */
interface TimedCall extends PastCall {
  /** Missing when it was over before the next one began. */
  readonly began?: number
  /** Missing when its answer never came. */
  readonly ended?: number | undefined
}

/**
 * Applies policies to recorded calls, each after those that really came
 * before it, and while those were under way that really were. Rules, hosts and programs
 * are judged by what is in the calls alone; only file scopes look at the disk of today,
 * for where links lead.
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

/** Those whose answers had come by then, in the order they came. */
const endedBefore = (moment: number | undefined, calls: ReadonlySet<TimedCall>): TimedCall[] =>
  [...calls]
    .filter(({ ended = Infinity }) => moment !== undefined && ended < moment)
    .toSorted((a, b) => (a.ended ?? 0) - (b.ended ?? 0))

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
