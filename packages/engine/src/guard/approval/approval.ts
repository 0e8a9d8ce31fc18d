import type { ApprovalFacts } from '@retake/tape'

/** A call that waits for somebody to decide. */
export interface ApprovalRequest {
  /** Of tool, canonical arguments and policy: an approval is good for exactly this. */
  readonly digest: string
  readonly guard: string
  readonly tool: string
  readonly args: unknown
  readonly rule: string
  readonly why: string
  /** Tape and event of the call, for those who look at it elsewhere. */
  readonly tape: string | undefined
  readonly event: number
  readonly askedAt: number
  readonly expiresAt: number
}

export interface ApprovalDecision {
  readonly approved: boolean
  readonly by: string
  readonly reason?: string
}

/** Asks somebody. What it returns is only good until the request expires. */
export type Approver = (
  request: ApprovalRequest,
  signal: AbortSignal,
) => ApprovalDecision | Promise<ApprovalDecision>

export interface ApprovalOptions {
  /** Who is asked: a function, the terminal, or whoever watches the run in the viewer or with `retake approvals`. */
  readonly ask?: Approver | 'terminal' | 'viewer'
  /** How long a request and what is decided on it are good for; five minutes unless set. */
  readonly expiresMs?: number
  /** Lets every call through that a rule asks about, and says so on the tape. */
  readonly breakGlass?: { readonly reason: string; readonly by: string }
}

export type Approved =
  | { readonly approval: ApprovalFacts }
  | { readonly denial: import('../guard-error.js').Denial; readonly approval?: ApprovalFacts }
