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
  guard: {
    group: 'Improve',
    summary: 'Rules for tool calls',
  },
  'guard policy': {
    summary: 'Check, test and suggest policies for tools',
    load: () => import('./guard-policy.js'),
  },
  'guard approvals': {
    summary: 'List and decide tool calls awaiting approval',
    load: () => import('./guard-approvals.js'),
  },
  'guard audit': {
    summary: 'Show guarded tool calls and the rules applied',
    load: () => import('./guard-audit.js'),
  },
  'demo guard': {
    summary: 'Try guarded tools: policy, contract, replay',
    load: () => import('./demo-guard.js'),
  },
  policy: { nowCalled: 'retake guard policy' },
  approvals: { nowCalled: 'retake guard approvals' },
  audit: { nowCalled: 'retake guard audit' },
  sample: { nowCalled: 'retake demo guard' },
}
