import type { BranchDetails } from '@retake/tape'
import type { KeptPlan } from '../kept/kept-plan.js'
import type { Leave } from '../sessions/divergence-log.js'
import type { NewDelivery } from '../sessions/session.js'

/** What to do about a step whose request left and whose answer is not on the tape. */
export type InDoubtPolicy = 'retry' | 'skip' | 'fail'

/**
 * How a run goes on from its tape: what is served, where it goes live, and what
 * is changed there. Plain data, so that it can be handed to another process.
 */
export interface ContinuePlan {
  /** The tape that is served. */
  readonly source: string
  /** The new tape. Without it the source itself is continued. */
  readonly branch?: {
    readonly id: string
    readonly path: string
    readonly name: string
    readonly details: BranchDetails
  }
  readonly leave: Leave
  /** The first event that is not served; the end of the tape unless set. */
  readonly until?: number
  /** Answers in place of the recorded ones. */
  readonly answers?: {
    readonly op: number
    readonly parts: readonly PlannedPart[]
    /** Of an operation with many answers, a server on pipes: the events that carry the recorded one. */
    readonly replaces?: readonly number[]
  }
  /** Asked again, live, although the tape has an answer; with another body, if one is given (base64). */
  readonly again?: { readonly op: number; readonly body?: string }
  /** The first value drawn after the tape is left. */
  readonly draw?: { readonly value: unknown }
  readonly inDoubt: InDoubtPolicy
  /** Decisions for single operations; they come before `inDoubt`. */
  readonly decisions?: Readonly<Record<string, 'retry' | 'skip'>>
  readonly tail: 'live' | 'offline'
  /** Folder for files that the branch writes. */
  readonly overlay?: string
  /** Steps that are held at what was recorded, and how the others are answered, once the tape is left. */
  readonly kept?: KeptPlan
}

/** One part of an answer, its body as base64. */
export interface PlannedPart {
  readonly event: NewDelivery
  readonly body: string
}

/** Something that was in doubt when a run went live, and what was done about it. */
export interface SettledDoubt {
  /** The event that started it. */
  readonly seq: number
  readonly what: string
  readonly decision: 'retried' | 'skipped' | 'lost'
}
