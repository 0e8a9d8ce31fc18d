import type { ApprovalFacts } from '@retake/tape/format'
import type { Denial } from '../guard-error.js'

/** A call that waits for approval. */
export interface ApprovalRequest {
  /** Of tool, arguments, occurrence and policy: an approval is valid only for these. */
  readonly digest: string
  readonly guard: string
  readonly tool: string
  readonly args: unknown
  /** Arguments of the last approved call of this tool in this run, as on the tape. */
  readonly lastApproved?: unknown
  readonly rule: string
  readonly why: string
  /** Tape and event of the call. */
  readonly tape: string | undefined
  readonly event: number
  /** Epoch milliseconds. */
  readonly askedAt: number
  readonly expiresAt: number
}

export interface ApprovalDecision {
  readonly approved: boolean
  /** Name of the approver, for the audit. */
  readonly by: string
  readonly reason?: string
}

/** Decides on a request. `signal` is aborted when the request expires. */
export type Approver = (
  request: ApprovalRequest,
  signal: AbortSignal,
) => ApprovalDecision | Promise<ApprovalDecision>

export interface ApprovalOptions {
  /**
   * The approver: a function, the terminal, or (`viewer`) a user of `retake ui` or
   * `retake approvals`. Without it, calls that need approval are denied.
   */
  readonly ask?: Approver | 'terminal' | 'viewer'
  /** Public keys (PEM) of approvers on other machines, printed by `retake approvals key`. */
  readonly keys?: readonly string[]
  /** Validity of a request and its approval; default five minutes. */
  readonly expiresMs?: number
  /** Approves every call that needs approval, and records who did so and why. */
  readonly breakGlass?: { readonly reason: string; readonly by: string }
}

export type Approved =
  | { readonly approval: ApprovalFacts }
  | { readonly denial: Denial; readonly approval?: ApprovalFacts }
