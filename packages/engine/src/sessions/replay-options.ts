import type { DeliveryEvent, InitiationEvent } from '@retake/tape'
import type { ReplayDiverged } from '../errors.js'
import type { Divergence } from './divergence.js'
import type { Leave } from './divergence-log.js'
import type { Session } from './session.js'

/** How a tape is replayed, and who is told about it. */
export interface ReplayOptions {
  /** `strict` stops at the first difference; `observe` reports every one and goes on. */
  readonly mode?: 'strict' | 'observe'
  /** `full` delivers as fast as possible; `recorded` keeps the recorded gaps. */
  readonly pace?: 'full' | 'recorded'
  /** `ignore` does not compare what is written to stdout and stderr. */
  readonly output?: 'compare' | 'ignore'
  /** Told about each divergence as it is found. */
  readonly onDivergence?: (divergence: Divergence) => void
  /** The replay cannot go on: the first divergence in strict mode, a stall, or the end of a cut-off tape. */
  readonly onStopped: (error: ReplayDiverged) => void
  /** Milliseconds without progress after which a silent program counts as diverged. */
  readonly stallMs?: number
  /** Keeps the process alive while it waits for a stall to show. */
  readonly keepAlive?: boolean
  /** The first event that is not served: the tape counts as cut off there. */
  readonly until?: number
  /** The session that boundaries see, when this one is part of another. */
  readonly owner?: Session
  /** Where the owner goes live. Calls that find it out throw `LeftTape`; `onLeft` is told where no call does. */
  readonly leave?: Leave
  readonly onLeft?: (why: Divergence | undefined) => void
  /** Told of each delivery just before it reaches the agent; it may hold the thread, to look around. */
  readonly beforeDelivery?: (event: DeliveryEvent) => void
  /** Told of each initiation once it is found to be the recorded one, on the agent's own stack. */
  readonly afterInitiation?: (event: InitiationEvent) => void
}
