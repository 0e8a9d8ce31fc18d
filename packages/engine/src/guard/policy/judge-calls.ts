import { CallHistory, type PastCall } from './call-history.js'
import { CompiledPolicy, type Judgement } from './compiled-policy.js'
import type { Policy } from './policy.js'

/** What policies would say to calls that were made, each after those before it. */
export function judgeCalls(
  policies: readonly Policy[],
  calls: readonly PastCall[],
): readonly Judgement[] {
  const compiled = new CompiledPolicy(policies)
  const history = new CallHistory()
  return calls.map((call) => {
    const judgement = compiled.judge(call, history)
    history.add(call)
    return judgement
  })
}
