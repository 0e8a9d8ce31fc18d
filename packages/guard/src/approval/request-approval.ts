import type { ApprovalFacts } from '@retake/tape/format'
import { natives, type Operation } from '@retake/engine/hook'
import type { Decision } from '../decide-call.js'
import type { Denial } from '../guard-error.js'
import type { GuardedCall } from '../guarded-call.js'
import type { ApprovalDecision, ApprovalOptions, ApprovalRequest, Approved } from './approval.js'
import { approvalDenials } from './approval-denials.js'
import { requestInFolder } from './approval-files.js'
import { promptTerminal, hasTerminal } from './prompt-terminal.js'

const MOST_TIMER_MS = 2 ** 31 - 1

/** Asks about one call, and waits for the answer no longer than it is good for. */
async function approveCall(
  request: ApprovalRequest,
  { ask, breakGlass }: ApprovalOptions,
  caller: AbortSignal | undefined,
): Promise<Approved> {
  if (breakGlass !== undefined) {
    const { by, reason } = breakGlass
    if (reason.trim() === '' || by.trim() === '')
      return { denial: approvalDenials.noReason(request) }
    return { approval: factsOf(request, { approved: true, by, reason }, 'break-glass') }
  }
  if (ask === 'terminal' && !hasTerminal()) return { denial: approvalDenials.noTerminal(request) }
  const approver = ask === 'terminal' ? promptTerminal : ask === 'viewer' ? requestInFolder : ask
  if (approver === undefined) return { denial: approvalDenials.nobody(request) }
  const how = ask === 'terminal' || ask === 'viewer' ? ask : 'callback'
  const waiting = new AbortController()
  const decision = await race(request, caller, waiting.signal, () =>
    approver(request, waiting.signal),
  )
  waiting.abort()
  if ('denial' in decision) return decision
  // The answer may have come in time and only been read too late.
  if (natives.dateNow() > request.expiresAt) return { denial: approvalDenials.expired(request) }
  const approval = factsOf(request, decision, how)
  return decision.approved
    ? { approval }
    : { denial: approvalDenials.refused(request, decision), approval }
}

/** The decision, or why there is none: timeout, abort, or a failed approver. */
function race(
  request: ApprovalRequest,
  caller: AbortSignal | undefined,
  waiting: AbortSignal,
  ask: () => ApprovalDecision | Promise<ApprovalDecision>,
): Promise<ApprovalDecision | Extract<Approved, { denial: unknown }>> {
  return new Promise((resolve) => {
    const left = Math.min(MOST_TIMER_MS, Math.max(0, request.expiresAt - natives.dateNow()))
    const timer = natives.setTimeout(
      () => resolve({ denial: approvalDenials.expired(request) }),
      left,
    )
    const giveUp = (): void => resolve({ denial: approvalDenials.givenUp(request) })
    if (caller?.aborted === true) giveUp()
    caller?.addEventListener('abort', giveUp, { once: true })
    waiting.addEventListener('abort', () => {
      natives.clearTimeout(timer)
      caller?.removeEventListener('abort', giveUp)
    })
    new Promise<ApprovalDecision>((settle) => settle(ask())).then(
      (decision) =>
        resolve(
          isDecision(decision)
            ? decision
            : { denial: approvalDenials.failed(request, 'no decision with a name came back') },
        ),
      (error: unknown) => resolve({ denial: approvalDenials.failed(request, error) }),
    )
  })
}

/** Only what says `true` in so many words lets a call through, and who said so. */
const isDecision = (value: unknown): value is ApprovalDecision =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as ApprovalDecision).approved === 'boolean' &&
  typeof (value as ApprovalDecision).by === 'string' &&
  (value as ApprovalDecision).by.trim() !== '' &&
  ['string', 'undefined'].includes(typeof (value as ApprovalDecision).reason)

const factsOf = (
  { digest, askedAt, expiresAt }: ApprovalRequest,
  { by, reason }: ApprovalDecision,
  how: ApprovalFacts['how'],
): ApprovalFacts => ({
  by,
  how,
  ...(reason !== undefined && { reason }),
  digest,
  askedAt,
  decidedAt: natives.dateNow(),
  expiresAt,
})

const DEFAULT_EXPIRY_MS = 300_000

/** Asks whoever the guard has named about a call that a rule wants approved. */
export function requestApproval(
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
