import type { Approved, ApprovalOptions, ApprovalRequest } from './approval.js'

/** Asks about one call, and waits for the answer no longer than it is good for. */
export function approveCall(
  request: ApprovalRequest,
  _options: ApprovalOptions,
  _signal: AbortSignal | undefined,
): Promise<Approved> {
  return Promise.resolve({
    denial: {
      code: 'APPROVAL_MISSING',
      rule: request.rule,
      what: `Tool "${request.tool}" was not started.`,
      why: 'Nobody was there to approve it.',
      allowed: 'Give the guard somebody to ask.',
    },
  })
}
