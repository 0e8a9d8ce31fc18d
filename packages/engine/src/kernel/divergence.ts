import {
  type DeliveryEvent,
  type InitiationEvent,
  type NewEvent,
  type OutputEvent,
  type RetakeError,
  type TapeEvent,
} from '@retake/tape/format'
import type { Mismatch } from './compare.js'
import { callSite } from './call-site.js'
import { type Leave, leaveAtEnd, leaveAtMismatch } from './go-live.js'
import type { Operation } from './session.js'
import type { RecordedOperation, TapeCursor } from './timeline.js'

/** The fields that name an event. Without headers, arguments and bodies, so that it can be reported. */
export type EventName = NamingPart<NewEvent>

type NamingPart<E> = E extends NewEvent ? Pick<E, Extract<keyof E, NamingField>> : never

const NAMING_FIELDS = [
  'type',
  'kind',
  'name',
  'title',
  'method',
  'url',
  'ms',
  'host',
  'port',
  'path',
  'stream',
  'op',
  'part',
  'status',
] as const

type NamingField = (typeof NAMING_FIELDS)[number]

export const nameOf = (event: NewEvent): EventName =>
  Object.fromEntries(
    Object.entries(event).filter(([field]) => (NAMING_FIELDS as readonly string[]).includes(field)),
  ) as unknown as EventName

/**
 * Why a program and its tape differ, as data. The sentences are in `texts/divergence-text.ts`.
 * `current` is what the program did.
 */
export type DivergenceReason =
  /** The same call with other content. */
  | { readonly code: 'call-differs'; readonly current: EventName }
  /** Another call of the same type. */
  | { readonly code: 'other-call'; readonly current: EventName }
  /** Something else than what is next on the tape. */
  | { readonly code: 'other-event'; readonly current: EventName }
  /** The tape had ended by then. */
  | { readonly code: 'after-end'; readonly current: EventName }
  /** No recorded answer to this request. Only where answers are found by content. */
  | { readonly code: 'not-on-tape'; readonly current: EventName }
  /** Like `not-on-tape`, but with an answer to a similar request. */
  | { readonly code: 'nearest-differs'; readonly current: EventName }
  /** A recorded value that its owner would decide otherwise today. */
  | { readonly code: 'outdated-value'; readonly drawn: string }
  /** On the tape, this synchronous call is not directly followed by its answer. */
  | { readonly code: 'answer-missing'; readonly current: EventName }
  | { readonly code: 'output-differs'; readonly stream: OutputEvent['stream'] }
  /** Bytes written to a child process. */
  | { readonly code: 'write-differs'; readonly receiver: EventName }
  /** Bytes sent on a connection, of which the tape has only a digest. */
  | {
      readonly code: 'sent-bytes-differ'
      readonly receiver: EventName
      readonly protocol?: string
    }
  /** Bytes written to a process; `isBeyond` if the recorded one got no more. */
  | { readonly code: 'input-differs'; readonly isBeyond: boolean }
  /** The program ended, but the tape has `rest` more events. */
  | {
      readonly code: 'ended-early'
      readonly rest: number
      readonly error?: { readonly class: string; readonly message: string }
    }
  | { readonly code: 'end-differs' }
  /** The tape delivers something that the program does not wait for. */
  | { readonly code: 'not-awaited' }
  /** The program waits before it does what is next; `silentMs` if it is not idle. */
  | { readonly code: 'waiting'; readonly silentMs?: number }
  /** The program waits for an answer, or part of one, that was never recorded. */
  | { readonly code: 'waits-forever'; readonly awaited?: EventName }
  /** The program used something that no tape can answer. */
  | { readonly code: 'refused'; readonly error: RefusalText }
  /**
   * Not a difference: nothing more is served, because the recording was cut off or the plan leaves
   * the tape here. `current` is missing if the program waits.
   */
  | { readonly code: 'cut-off'; readonly current?: EventName }

/** Members of an error, which has its own code. */
export type RefusalText = Pick<RetakeError, 'code' | 'what' | 'why' | 'fix'>

/** Where the program differs from the tape, and in which fields. */
export interface DivergencePoint {
  /** The number of the event that was next on the tape. */
  readonly seq: number
  readonly kind: DivergenceKind
  /** That event; missing at the end of the tape. */
  readonly recorded?: TapeEvent
  /** The fields that differ, if the program did the same kind of thing. */
  readonly mismatches: readonly Mismatch[]
  /** Where in the agent's code, as `file:line:column`. */
  readonly site?: string
}

export type DivergenceFacts = DivergencePoint & DivergenceReason

/**
 * - `different`: same kind of call, different content
 * - `unexpected`: the program did something that the tape does not have at this point
 * - `missing`: the program ended, or waits, before the end of the tape
 * - `output`: the program printed something else
 * - `result`: the program returned or exited with something else
 * - `cut-off`: not a difference; nothing more is served, because the recording was cut off or the
 *   plan leaves the tape here
 */
export type DivergenceKind =
  | 'different'
  | 'unexpected'
  | 'missing'
  | 'output'
  | 'result'
  | 'cut-off'

const KINDS: Readonly<Record<DivergenceReason['code'], DivergenceKind>> = {
  'call-differs': 'different',
  'other-call': 'unexpected',
  'other-event': 'unexpected',
  'after-end': 'unexpected',
  'not-on-tape': 'unexpected',
  'nearest-differs': 'different',
  'outdated-value': 'different',
  'answer-missing': 'missing',
  'output-differs': 'output',
  'write-differs': 'different',
  'sent-bytes-differ': 'different',
  'input-differs': 'different',
  'ended-early': 'missing',
  'end-differs': 'result',
  'not-awaited': 'missing',
  waiting: 'missing',
  'waits-forever': 'missing',
  refused: 'unexpected',
  'cut-off': 'cut-off',
}

const withKind = (
  reason: DivergenceReason,
  point: Omit<DivergencePoint, 'kind'>,
): DivergenceFacts => ({ ...point, kind: KINDS[reason.code], ...reason })

/**
 * Collects divergences. In strict mode, the first one ends the replay: nothing more is served, and
 * every further call throws it, except an asynchronous one, which never gets an answer. In observe
 * mode, every one is reported and the program continues, as long as something can answer it. A run
 * that goes live at a difference leaves the tape instead of reporting it.
 */
export class DivergenceLog {
  readonly divergences: DivergenceFacts[] = []
  /** Set once the replay cannot continue. */
  stopped: RetakeError | undefined

  constructor(
    readonly cursor: TapeCursor,
    readonly options: {
      readonly mode?: 'strict' | 'observe'
      readonly onDivergence?: (divergence: DivergenceFacts) => void
      /** Makes the error that ends the replay. */
      readonly errorFor: (divergence: DivergenceFacts) => RetakeError
      readonly onStopped: (error: RetakeError) => void
      readonly leave: Leave | undefined
    },
  ) {}

  diverge(reason: DivergenceReason, mismatches: readonly Mismatch[] = []): void {
    const divergence = this.#report(reason, mismatches)
    if (this.options.mode !== 'observe') this.#halt(divergence)
  }

  /** Reports a divergence that ends the replay even in observe mode. */
  stop(reason: DivergenceReason): never {
    this.#halt(this.#report(reason))
  }

  /** Reports that the program used something that no tape can answer. */
  refuse(error: RetakeError): never {
    const { code, what, why, fix } = error
    const reason = { code: 'refused', error: { code, what, why, fix } } as const
    const divergence = this.#report(reason)
    if (this.options.mode === 'observe') throw error
    this.#halt(divergence)
  }

  /** Not a difference: the recording was cut off, or the plan leaves the tape here. */
  stopAtCut(current?: EventName, answering?: number): never {
    const divergence = this.#here({ code: 'cut-off', ...(current && { current }) })
    leaveAtEnd(this.options.leave, divergence, answering)
    this.#halt(divergence)
  }

  /**
   * Adds a divergence. If it makes the run go live, throws `LeftTape` instead, which `Player` and
   * `RecordedDeliveries` catch.
   */
  #report(reason: DivergenceReason, mismatches?: readonly Mismatch[]): DivergenceFacts {
    const divergence = this.#here(reason, mismatches)
    leaveAtMismatch(this.options.leave, divergence)
    this.divergences.push(divergence)
    this.options.onDivergence?.(divergence)
    return divergence
  }

  #halt(divergence: DivergenceFacts): never {
    const error = this.options.errorFor(divergence)
    this.stopped = error
    this.options.onStopped(error)
    throw error
  }

  #here(reason: DivergenceReason, mismatches: readonly Mismatch[] = []): DivergenceFacts {
    const { seq, tape } = this.cursor
    const site = callSite()
    return withKind(reason, {
      seq,
      mismatches,
      ...(seq < tape.count && { recorded: tape.event(seq) }),
      ...(site !== undefined && { site }),
    })
  }
}

/** The recorded operation closest to one that the tape does not have. */
export interface Nearest {
  readonly recorded: RecordedOperation
  readonly mismatches: readonly Mismatch[]
}

/** The tape has no answer for this operation. */
export function noAnswer(
  event: NewEvent<InitiationEvent>,
  nearest: Nearest | undefined,
  count: number,
): DivergenceFacts {
  const site = ('site' in event ? event.site : undefined) ?? callSite()
  const at = site === undefined ? {} : { site }
  const current = nameOf(event)
  if (nearest === undefined)
    return withKind({ code: 'not-on-tape', current }, { ...at, seq: count, mismatches: [] })
  const { recorded, mismatches } = nearest
  return withKind(
    { code: 'nearest-differs', current },
    { ...at, seq: recorded.event.seq, recorded: recorded.event, mismatches },
  )
}

/** The program wrote bytes to a connection or process that differ from those written when this part came. */
export const otherBytes = (
  receiver: NewEvent,
  event: DeliveryEvent,
  digest: string,
): DivergenceFacts =>
  withKind(sentBytesDiffer(receiver), {
    seq: event.seq,
    recorded: event,
    mismatches: [digestMismatch(event, digest)],
  })

/** `firstAnswer`: the first bytes that arrived on the connection. */
export function sentBytesDiffer(receiver: NewEvent, firstAnswer?: Uint8Array): DivergenceReason {
  const protocol = protocolOf(receiver, firstAnswer)
  const code = 'sent-bytes-differ'
  return { code, receiver: nameOf(receiver), ...(protocol !== undefined && { protocol }) }
}

export const digestMismatch = (event: DeliveryEvent, digest: string): Mismatch => ({
  field: 'sent bytes (sha256)',
  recorded: 'digest' in event ? event.digest : undefined,
  current: digest,
  isDigest: true,
})

/** A process gets other input than the recorded one. */
export const otherInput = (
  recorded: TapeEvent,
  mismatches: readonly Mismatch[],
  isBeyond: boolean,
): DivergenceFacts =>
  withKind({ code: 'input-differs', isBeyond }, { seq: recorded.seq, recorded, mismatches })

/** The program waits for an answer, or part of one, that was never recorded. */
export function waitsForever(
  unanswered: readonly { readonly isTimer: boolean; readonly operation: Operation }[],
  count: number,
): DivergenceFacts {
  const event = unanswered.find(({ isTimer }) => !isTimer)?.operation.action.event
  return withKind(
    { code: 'waits-forever', ...(event && { awaited: nameOf(event) }) },
    { seq: count, mismatches: [] },
  )
}

const PROTOCOLS: Readonly<Record<number, string>> = {
  3306: 'mysql',
  5432: 'postgres',
  6379: 'redis',
  27017: 'mongodb',
}

/** What a connection speaks, if its port or first answer shows it. */
export function protocolOf(event: NewEvent, firstAnswer?: Uint8Array): string | undefined {
  if (event.type !== 'socket') return undefined
  return PROTOCOLS[event.port ?? 0] ?? databaseOf(firstAnswer)
}

/** Detects the database by its first bytes: PostgreSQL's authentication request, MySQL's greeting. */
function databaseOf(bytes: Uint8Array | undefined): string | undefined {
  if (bytes === undefined || bytes.length < 9) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (view.getUint8(0) === 0x52 && view.getUint32(1) < 256 && view.getUint32(5) <= 12)
    return 'postgres'
  return view.getUint8(3) === 0 && view.getUint8(4) === 10 ? 'mysql' : undefined
}
