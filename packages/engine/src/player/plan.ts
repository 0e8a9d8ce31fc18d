import type { BranchDetails } from '@retake/tape'
import type { Leave } from './divergence.js'
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
  readonly pinned?: PinnedPlan
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

/**
 * What a fork does with each step after it has left the tape. Plain data, so that
 * it can be handed to another process as a part of a `ContinuePlan`.
 */
export interface PinnedPlan {
  /** Labels of the steps that get their recorded answers, whatever they are asked. */
  readonly pinned: readonly string[]
  /** `frozen`: a free step that is asked live is asked the recorded question. */
  readonly mode: 'free' | 'frozen'
  /** By label, how a free step is answered; live unless named. */
  readonly answers?: Readonly<Record<string, FreeAnswer>>
  /**
   * By label, what a free step is asked in place of what the agent asks: a parsed
   * request, as the `data` of what `requestPayload` gives.
   */
  readonly requests?: Readonly<Record<string, unknown>>
  /** File of a module whose default export is a `Simulator`: asked about every free step that `answers` does not name. */
  readonly simulator?: string
  /** Told to the simulator: two forks with the same seed may come to the same. */
  readonly seed: number
}

/**
 * How a free step is answered without asking: with `payload`, the parsed answer (the
 * `data` of what `answerPayload` gives), or with an error of that message.
 */
export type FreeAnswer = { readonly payload: unknown } | { readonly error: string }

/** What a simulator is asked: a step that is free, and what it is asked now. */
export interface SimulatedStep {
  /** Label of the recorded step it matches; missing for one that the recording does not have. */
  readonly label?: string
  readonly kind: 'model' | 'tool' | 'http' | 'mcp' | 'process'
  /** Of a tool, its name; of a request, method and URL; of a process, its command line. */
  readonly name: string
  /** Parsed request, or the arguments of a tool: as the plan has it; in frozen mode, as recorded. */
  readonly request: unknown
  /** The recorded answer, parsed; missing where there is none. */
  readonly recorded?: unknown
  readonly seed: number
}

/** Answers free steps in place of the outside. `undefined`: it is asked live. */
export type Simulator = (
  step: SimulatedStep,
) => FreeAnswer | undefined | Promise<FreeAnswer | undefined>

/** What became of the steps of the recording, by their labels. */
export interface PinnedReport {
  /** Event of this run that starts the step; missing where it was not asked for. */
  readonly matched: Readonly<Record<string, number>>
  /** Kept, and asked something else than then: the recorded answer was forced. */
  readonly forced: readonly string[]
  /** Steps of this run that match no recorded one. */
  readonly unmatched: number
  /** Steps that were really asked. */
  readonly live: number
  /** Why the fork shows nothing: a free step could not be answered as the plan says. */
  readonly broken?: {
    readonly code: string
    readonly what: string
    readonly why: string
    readonly fix: string
  }
}
