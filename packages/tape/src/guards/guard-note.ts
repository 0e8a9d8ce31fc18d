import type { BodyForm, NoteEvent, RecordedError } from '../format/events.js'
import type {
  ApprovalFacts,
  CallUsage,
  GuardFacts,
  GuardIntent,
  ServedFrom,
} from './guard-facts.js'
import { fromBase64, toBase64 } from '../format/values/bytes.js'
import { guardNoteProblem } from './check-guard-facts.js'
import { parseJson } from '../format/values/json-shape.js'
import type { TapeLike } from '../format/tape-like.js'

/**
 * Notes of a guard, which a replay does not compare: its policy and environment, approvals,
 * spending beyond the results of calls, and guarded calls made by its tools. Nested calls are not
 * the agent's own operations, but must not be lost.
 */
export const GUARD_NOTES = {
  opened: 'guard',
  approved: 'guard-approved',
  again: 'guard-again',
  call: 'guard-call',
  result: 'guard-result',
  leftOpen: 'guard-left-open',
  spent: 'guard-spent',
} as const

/** Where a guard ran. Only versions and digests: no variables, no secrets. */
export interface GuardEnvironment {
  readonly node: string
  readonly platform: string
  /** Version of each package of Retake. */
  readonly retake: Readonly<Record<string, string>>
  readonly git?: { readonly revision: string; readonly branch?: string }
  readonly lockfile?: { readonly name: string; readonly sha256: string }
}

/** Written at the first call of a guard in a run. */
export interface GuardOpened {
  readonly guard: string
  /** The active policies as data, and the hash by which decisions refer to them. */
  readonly policy: { readonly hash: string; readonly policies: readonly unknown[] }
  /** Limits of the guard, in addition to its policies. */
  readonly limits?: unknown
  readonly environment: GuardEnvironment
  /** The runs whose results are served, latest first. */
  readonly resumes?: readonly ResumedRun[]
}

export interface ResumedRun {
  readonly run: string
  /** Chain hash of its last event when it was resumed. */
  readonly chain: string
}

/** The start of a call made by a guarded tool. `body` is text, or base64 if `as` is `bytes`. */
interface NestedCallNote {
  readonly intent: GuardIntent
  readonly tool: string
  readonly as: BodyForm
  readonly body: string
}

interface NestedResultNote {
  /** Number of the note about its start. */
  readonly op: number
  readonly facts: GuardFacts
  readonly as?: BodyForm
  readonly body?: string
  readonly error?: RecordedError
}

/** A call that needed approval was approved. Its tool may only start after this note. */
export interface ApprovedNote {
  /** Number of the event or note that started it. */
  readonly op: number
  /** Who approved it. Also in its result. */
  readonly approval?: ApprovalFacts
}

/** A recorded call is repeated live: the new decision about it. */
interface DecidedAgainNote {
  readonly op: number
  readonly intent: GuardIntent
  /** Its earlier cost, if the same run continues. */
  readonly spent?: CallUsage
}

/**
 * Spending that no result reports: by `run.spend`, by an attempt before the next one starts, by a
 * tool after the end of its call, or by the continued run after the point of continuation.
 */
export interface SpentNote {
  readonly guard: string
  readonly usage: CallUsage
  readonly tool?: string
  /** Number of the event or note that started its call. */
  readonly op?: number
  /** Set if the agent reported it: a run that continues the recording reports it again. */
  readonly isSaidAgain?: true
}

/** Calls in doubt of earlier runs that a resumed run had not repeated by its end. */
interface LeftOpenNote {
  readonly guard: string
  readonly calls: readonly {
    readonly tool: string
    readonly fingerprint: string
    readonly occurrence: number
    readonly from: ServedFrom
  }[]
}

/** A body as text inside a note. */
export const bodyToText = (as: BodyForm, body: Uint8Array): string =>
  as === 'bytes' ? toBase64(body) : new TextDecoder('utf-8', { ignoreBOM: true }).decode(body)

export const bodyFromText = (as: BodyForm, text: string): Uint8Array =>
  as === 'bytes' ? fromBase64(text) : new TextEncoder().encode(text)

export interface GuardNotes {
  readonly opened: GuardOpened
  readonly approved: ApprovedNote
  readonly again: DecidedAgainNote
  readonly call: NestedCallNote
  readonly result: NestedResultNote
  readonly leftOpen: LeftOpenNote
  readonly spent: SpentNote
}

type GuardNote = {
  [Kind in keyof GuardNotes]: { readonly kind: Kind; readonly content: GuardNotes[Kind] }
}[keyof GuardNotes]

/** Undefined for other notes, and for notes that no guard wrote. */
export function readGuardNote(tape: TapeLike, { name, seq }: NoteEvent): GuardNote | undefined {
  const kinds = Object.keys(GUARD_NOTES) as (keyof typeof GUARD_NOTES)[]
  const kind = kinds.find((each) => GUARD_NOTES[each] === name)
  if (kind === undefined) return undefined
  const content = parseJson(new TextDecoder().decode(tape.body(seq)))
  if (guardNoteProblem(kind, content) !== undefined) return undefined
  return { kind, content } as unknown as GuardNote
}
