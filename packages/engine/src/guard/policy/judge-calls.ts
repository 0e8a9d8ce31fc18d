import { CallHistory, type PastCall } from './call-history.js'
import { CompiledPolicy, type Judgement } from './compiled-policy.js'
import type { Policy } from './policy.js'

/**
 * What policies would say to calls that were made, each after those that really came
 * before it. Rules, hosts and programs are judged by what is in the calls alone; only
 * file scopes look at the disk of today, for where links lead.
 */
export function judgeCalls(
  policies: readonly Policy[],
  calls: readonly PastCall[],
): readonly Judgement[] {
  const compiled = new CompiledPolicy(policies)
  const history = new CallHistory(compiled)
  return calls.map((call) => {
    const judgement = compiled.judge(call, history)
    history.add(call)
    return judgement
  })
}
