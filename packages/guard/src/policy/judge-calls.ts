import { CallHistory, type PastCall, wasMade } from './call-history.js'
import { CompiledPolicy, type PolicyJudgement } from './compiled-policy.js'
import type { Policy } from './policy.js'

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
