import type { BodyForm, NoteEvent, RecordedError } from '../format/events.js'
import type {
  ApprovalFacts,
  CallUsage,
  GuardFacts,
  GuardIntent,
  ServedFrom,
} from './guard-facts.js'
import { fromBase64, toBase64 } from '../format/bytes.js'
import type { TapeLike } from '../format/tape-like.js'

/**
 * Notes of a guard, which no replay compares: under which policy and
 * where it ran, that somebody let a call through, what was spent beside the results
 * of calls, and the calls that its tools make of other guarded tools. Those happen
 * inside a call, so they are not part of what the agent did, and yet must not be lost.
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

/** Where a guard ran. Versions and digests only: no variables, no secrets. */
export interface GuardEnvironment {
  readonly node: string
  readonly platform: string
  /** Version of each package of Retake. */
  readonly retake: Readonly<Record<string, string>>
  readonly git?: { readonly revision: string; readonly branch?: string; readonly dirty?: boolean }
  readonly lockfile?: { readonly name: string; readonly sha256: string }
}

/** Written at the first call of a guard in a run. */
export interface GuardOpened {
  readonly guard: string
  /** The policies in force, as data, under the hash that every decision names. */
  readonly policy: { readonly hash: string; readonly policies: readonly unknown[] }
  /** Limits of the guard itself, in addition to its policies. */
  readonly limits?: unknown
  /** `memory`: the last calls before a crash may be missing. */
  readonly durability?: 'disk' | 'memory'
  readonly environment: GuardEnvironment
  /** The runs whose results are served, the latest first. */
  readonly resumes?: readonly ResumedRun[]
}

export interface ResumedRun {
  readonly run: string
  /** Chain hash of its last event when it was resumed. */
  readonly chain: string
}

/** The start of a call that a guarded tool made. `body` is text, or base64 where `as` is `bytes`. */
export interface NestedCallNote {
  readonly intent: GuardIntent
  readonly tool: string
  readonly as: BodyForm
  readonly body: string
}

export interface NestedResultNote {
  /** The note of its start. */
  readonly op: number
  readonly facts: GuardFacts
  readonly as?: BodyForm
  readonly body?: string
  readonly error?: RecordedError
}

/** A call that a rule asks about was let through: only now its tool may start. */
export interface ApprovedNote {
  /** The event, or the note, that started it. */
  readonly op: number
  /** Who let it through. Also in its result, which older tapes only have there. */
  readonly approval?: ApprovalFacts
}

/** A recorded call is made again, live: the decision about it this time. */
export interface DecidedAgainNote {
  readonly op: number
  readonly intent: GuardIntent
  /** Its cost before, if the run that made it is the one that continues. */
  readonly spent?: CallUsage
}

/**
 * Something was spent of which no result tells: by `run.spend`, by an attempt before the
 * next one starts, by a tool after its call was over, by the run that this one continues
 * after the point from which it does.
 */
export interface SpentNote {
  readonly guard: string
  readonly usage: CallUsage
  /** Of which tool, if of one. */
  readonly tool?: string
  /** The event, or the note, that started the call it belongs to. */
  readonly op?: number
  /** The agent itself said so: a run that continues a recording hears it again. */
  readonly isSaidAgain?: true
}

/** Calls in doubt of earlier runs that a resumed run, at its end, had not asked for again. */
export interface LeftOpenNote {
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

/** Content of each note. */
interface GuardNotes {
  readonly opened: GuardOpened
  readonly approved: ApprovedNote
  readonly again: DecidedAgainNote
  readonly call: NestedCallNote
  readonly result: NestedResultNote
  readonly leftOpen: LeftOpenNote
  readonly spent: SpentNote
}

/** Content of a note; undefined if it is another one, or not written by a guard. */
export function readGuardNote<Kind extends keyof GuardNotes>(
  tape: TapeLike,
  note: NoteEvent,
  kind: Kind,
): GuardNotes[Kind] | undefined {
  if (note.name !== GUARD_NOTES[kind]) return undefined
  try {
    return JSON.parse(new TextDecoder().decode(tape.body(note.seq))) as GuardNotes[Kind]
  } catch {
    return undefined
  }
}
