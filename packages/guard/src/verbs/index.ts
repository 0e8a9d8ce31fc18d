import type { VerbTable } from '@retake/runner/command-line'

/** The commands of this package. */
export const guardVerbs: VerbTable = {
  sample: ['Try guarded tools: policy, contract, replay', () => import('./demo-guard.js')],
  approvals: ['List and decide tool calls awaiting approval', () => import('./guard-approvals.js')],
  audit: ['Show guarded tool calls and the rules applied', () => import('./guard-audit.js')],
  policy: ['Check, test and suggest policies for tools', () => import('./guard-policy.js')],
}
