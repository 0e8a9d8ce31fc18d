import type { Denial } from '../guard-error.js'
import type { ApprovalDecision, ApprovalRequest } from './approval.js'

const denial = (
  { tool, rule }: Pick<ApprovalRequest, 'tool' | 'rule'>,
  code: string,
  why: string,
  allowed: string,
): Denial => ({ code, rule, what: `Tool "${tool}" was not started.`, why, allowed })

/** Why a call that a rule asks about did not start. */
export const approvalDenials = {
  nobody: (request: ApprovalRequest): Denial =>
    denial(
      request,
      'APPROVAL_MISSING',
      `Rule ${request.rule} asks for approval, and the guard knows nobody to ask.`,
      "Give the guard `approval: { ask: 'terminal' }`, 'viewer', or a function.",
    ),
  noTerminal: (request: ApprovalRequest): Denial =>
    denial(
      request,
      'APPROVAL_MISSING',
      `Rule ${request.rule} asks for approval on a terminal, and there is none.`,
      "Run it on a terminal, or give the guard `approval: { ask: 'viewer' }` or a function.",
    ),
  refused: (request: ApprovalRequest, { by, reason }: ApprovalDecision): Denial =>
    denial(
      request,
      'APPROVAL_REFUSED',
      `${by} refused it${reason === undefined || reason === '' ? '.' : `: ${reason.replace(/[.!?]*$/, '')}.`}`,
      'Do something else, or ask again with other arguments.',
    ),
  expired: (request: ApprovalRequest): Denial =>
    denial(
      request,
      'APPROVAL_EXPIRED',
      `Nobody decided within ${(request.expiresAt - request.askedAt) / 1000} seconds.`,
      'Make the call again when somebody is there, or set `approval.expiresMs`.',
    ),
  /** It was approved in time, and then waited for other calls to end. */
  waitedTooLong: (about: Pick<ApprovalRequest, 'tool' | 'rule'>, by: string): Denial =>
    denial(
      about,
      'APPROVAL_EXPIRED',
      `${by} approved it, but it had to wait for other calls, and the approval was over by then.`,
      'Make the call again, set a longer `approval.expiresMs`, or raise the limit of concurrency.',
    ),
  givenUp: (request: ApprovalRequest): Denial => ({
    ...denial(
      request,
      'APPROVAL_GIVEN_UP',
      'The caller gave up on it before anybody decided.',
      'Make the call again.',
    ),
    exitReason: 'aborted',
  }),
  failed: (request: ApprovalRequest, error: unknown): Denial =>
    denial(
      request,
      'APPROVAL_FAILED',
      `Whoever was asked failed: ${error instanceof Error ? error.message : String(error)}.`,
      'Mend the function that `approval.ask` is; it returns { approved, by }.',
    ),
  noReason: (request: ApprovalRequest): Denial =>
    denial(
      request,
      'BREAK_GLASS_WITHOUT_REASON',
      'Break-glass needs a name and a reason, which go on the tape.',
      'Give `approval.breakGlass` both `by` and `reason`.',
    ),
}
