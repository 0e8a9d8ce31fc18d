import { CallHistory, wasMade, type PastCall } from './call-history.js'
import { CompiledPolicy, type PolicyJudgement } from './compiled-policy.js'
import type { Policy } from './policy.js'

/** A call that was made, and when: numbers that only have to be in order, such as those of events. */
export interface TimedCall extends PastCall {
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
