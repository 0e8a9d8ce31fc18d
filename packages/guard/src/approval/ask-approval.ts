import type { ApprovalFacts } from '@retake/tape'
import { natives, type Operation } from '@retake/engine/hook'
import type { Decision } from '../decide-call.js'
import type { Denial } from '../guard-error.js'
import type { GuardedCall } from '../guarded-call.js'
import type { Approved } from './approval.js'
import { approvalDenials } from './approval-denials.js'
import { approveCall } from './approve-call.js'

const DEFAULT_EXPIRY_MS = 300_000

/** Asks whoever the guard has named about a call that a rule wants approved. */
export function askApproval(
  { run, name, options }: GuardedCall,
  operation: Operation,
  { intent }: Decision,
  args: unknown,
): Promise<Approved> {
  const { approval = {} } = run.options
  const askedAt = natives.dateNow()
  return approveCall(
    {
      digest: `${intent.fingerprint}-${intent.occurrence}-${intent.policy}`,
      guard: run.name,
      tool: name,
      args,
      rule: intent.rule ?? 'default',
      why: intent.why ?? '',
      tape: operation.session.recording?.tape,
      event: operation.id,
      askedAt,
      expiresAt: askedAt + (approval.expiresMs ?? DEFAULT_EXPIRY_MS),
    },
    approval,
    options.signal,
  )
}

/** An approval is not good for longer because its call had to wait. */
export function expiredApproval(
  approval: ApprovalFacts | undefined,
  { name }: GuardedCall,
  { intent }: Decision,
): Denial | undefined {
  if (approval === undefined || approval.how === 'break-glass') return undefined
  if (natives.dateNow() <= approval.expiresAt) return undefined
  return approvalDenials.waitedTooLong({ tool: name, rule: intent.rule ?? 'default' }, approval.by)
}
