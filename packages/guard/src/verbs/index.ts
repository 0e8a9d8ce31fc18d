import type { VerbTable } from '@retake/runner/command-line'

/** The commands of this package. */
export const guardVerbs: VerbTable = {
  sample: ['Try guarded tools: policy, contract, replay', () => import('./sample.js')],
  approvals: ['List and decide tool calls awaiting approval', () => import('./approvals.js')],
  audit: ['Show guarded tool calls and the rules applied', () => import('./audit.js')],
  policy: ['Check, test and suggest policies for tools', () => import('./policy.js')],
}
