import { attempt } from '@retake/tape/format'
import { offers, type VerbTable } from '@retake/runner/command-line'

offers.viewer = [
  ...(offers.viewer ?? []),
  async () => (await import('../approval/viewer-part.js')).default,
]
offers.approvals = async () => {
  const { approvalDigest, approvalText } = await import('../approval/approval-files.js')
  return { digest: approvalDigest, text: approvalText }
}
offers.suggestRule = async () => {
  const { recordedRun, suggestRule } = await import('../policy-files/index.js')
  return (file, step, passing) => {
    const runs = passing.flatMap((each) => attempt(() => [recordedRun(each)], []))
    return suggestRule(recordedRun(file), step, runs)?.rule
  }
}

/** The commands of this package. */
export const guardVerbs: VerbTable = {
  sample: ['Try guarded tools: policy, contract, replay', () => import('./demo-guard.js')],
  approvals: ['List and decide tool calls awaiting approval', () => import('./guard-approvals.js')],
  audit: ['Show guarded tool calls and the rules applied', () => import('./guard-audit.js')],
  policy: ['Check, test and suggest policies for tools', () => import('./guard-policy.js')],
}
