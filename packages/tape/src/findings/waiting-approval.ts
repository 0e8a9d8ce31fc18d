/** A guarded call that waits for a person's decision. */
export interface WaitingApproval {
  /** Digest of the request that is shown. The decision must contain it. */
  readonly id: string
  readonly run: string
  readonly tool: string
  readonly args: string
  readonly guard: string
  readonly rule: string
  readonly why: string
  readonly event: number
  readonly askedAt: number
  readonly expiresAt: number
}

/** The decision about the call that was shown. */
export interface ShownDecision {
  readonly id: string
  readonly approved: boolean
  readonly reason?: string
}
