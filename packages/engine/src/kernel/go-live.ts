import type { DivergenceFacts } from './divergence.js'

/**
 * Where a run that continues leaves its tape and goes live: after the last event, or also at the
 * first difference. A replay has no such point, and stops there.
 */
export type Leave = 'at the end' | 'on mismatch'

/**
 * Thrown to leave the tape. The call that throws it has consumed nothing, so it can be repeated
 * live. With `answering`, its start is consumed, and only its answer is missing.
 */
export class LeftTape extends Error {
  override readonly name = 'LeftTape'
  constructor(
    readonly why: DivergenceFacts,
    /** A synchronous call that was started, but not answered, on the tape. */
    readonly answering?: number,
  ) {
    super(why.code)
  }
}

/** Throws `LeftTape` if a run goes live at a difference. */
export function leaveAtMismatch(leave: Leave | undefined, why: DivergenceFacts): void {
  if (leave === 'on mismatch') throw new LeftTape(why)
}

/** Throws `LeftTape` if a run goes live at the end of its tape. */
export function leaveAtEnd(leave: Leave | undefined, why: DivergenceFacts, op?: number): void {
  if (leave !== undefined) throw new LeftTape(why, op)
}
