import type { ApprovalFacts } from '@retake/tape/format'
import type { Denial } from '../guard-error.js'

/** A call that waits for somebody to decide. */
export interface ApprovalRequest {
  /** Of tool, canonical arguments, occurrence and policy: an approval is good for exactly this. */
  readonly digest: string
  readonly guard: string
  readonly tool: string
  readonly args: unknown
  /** Arguments of the last call of this tool that was approved in this run, as on the tape. */
  readonly lastApproved?: unknown
  readonly rule: string
  readonly why: string
  /** Tape and event of the call, for those who look at it elsewhere. */
  readonly tape: string | undefined
  readonly event: number
  /** Epoch milliseconds. */
  readonly askedAt: number
  readonly expiresAt: number
}

export interface ApprovalDecision {
  readonly approved: boolean
  /** Who decided: a name that an audit can use. */
  readonly by: string
  readonly reason?: string
}

/** Asks somebody. What it returns is only good until the request expires; then `signal` is aborted. */
export type Approver = (
  request: ApprovalRequest,
  signal: AbortSignal,
) => ApprovalDecision | Promise<ApprovalDecision>

export interface ApprovalOptions {
  /**
   * Who is asked: a function, the terminal, or (`viewer`) whoever watches the run in `retake ui`
   * or with `retake approvals`. Without it nobody is, and the call does not run.
   */
  readonly ask?: Approver | 'terminal' | 'viewer'
  /** Public keys (PEM) of approvers on other machines. `retake approvals key` prints that of a machine. */
  readonly keys?: readonly string[]
  /** How long a request and what is decided on it are good for; five minutes unless set. */
  readonly expiresMs?: number
  /** Approves every call that a rule asks about, and records who wanted that and why. */
  readonly breakGlass?: { readonly reason: string; readonly by: string }
}

/** The call may start, or must not. */
export type Approved =
  | { readonly approval: ApprovalFacts }
  | { readonly denial: Denial; readonly approval?: ApprovalFacts }
