import { decideApproval, pendingApprovals, userName } from '@retake/engine/guard'
import type { ApprovalDecisionRequest, WaitingApproval } from '@retake/web'
import { approvalNotPending } from '../../errors/guard.js'
import type { RunStore } from '../../run-store.js'

/** Calls of a run that wait for approval, as the viewer shows them. */
export const waitingApprovals = (store: RunStore, run: string): WaitingApproval[] =>
  pendingApprovals(store.find(run), Date.now()).map(({ request, of }) => {
    const { tool, args, guard, rule, why, event, askedAt, expiresAt } = request
    const shown = JSON.stringify(args, undefined, 2) ?? 'undefined'
    return { id: of, tool, args: shown, guard, rule, why, event, askedAt, expiresAt }
  })

export function decideWaiting(
  store: RunStore,
  run: string,
  { id, approved, reason }: ApprovalDecisionRequest,
): void {
  const decision = { approved, by: userName(), ...(reason !== undefined && { reason }) }
  if (!decideApproval(store.find(run), id, decision, Date.now())) throw approvalNotPending(id)
}
