import { judgeCalls, type Judgement, type Policy } from '@retake/engine/guard'
import type { Verdict } from '@retake/tape'
import type { RecordedCall, RecordedRun } from './recorded-calls.js'

/** A call that a policy would treat otherwise than it was treated. */
export interface ChangedCall {
  readonly call: RecordedCall
  readonly judgement: Judgement
}

export interface BackTest {
  readonly runs: number
  readonly calls: number
  /** Ran then, would be denied now, or wait for approval where it did not. */
  readonly newlyBlocked: readonly ChangedCall[]
  /** Not started then because of a policy, would be now. What a scope kept a running tool from is none. */
  readonly newlyAllowed: readonly ChangedCall[]
}

/**
 * What a policy would have done in recorded runs. Each call is judged after the
 * calls that really came before it; what an agent had done after a denial, no
 * tape knows.
 */
export function backTest(policies: readonly Policy[], runs: readonly RecordedRun[]): BackTest {
  const newlyBlocked: ChangedCall[] = []
  const newlyAllowed: ChangedCall[] = []
  for (const { calls } of runs) {
    const judgements = judgeCalls(policies, calls)
    for (const [index, call] of calls.entries()) {
      const judgement = judgements[index]
      if (judgement === undefined) continue
      if (call.started) {
        if (isStricter(judgement.verdict, call.verdict)) newlyBlocked.push({ call, judgement })
      } else if (call.status === 'denied' && call.isByPolicy && judgement.verdict === 'allow')
        newlyAllowed.push({ call, judgement })
    }
  }
  const calls = runs.reduce((sum, run) => sum + run.calls.length, 0)
  return { runs: runs.length, calls, newlyBlocked, newlyAllowed }
}

/** What was approved then and would be asked about now is nothing new. */
const isStricter = (verdict: Verdict, then: Verdict): boolean =>
  verdict === 'deny' || (verdict === 'ask' && then !== 'ask')
