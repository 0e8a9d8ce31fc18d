import type { DeliveryEvent, InitiationEvent, NewEvent, TapeEvent } from '@retake/tape/format'
import type { Mismatch } from './compare.js'
import { callSite } from '../call-site.js'
import type { PendingAnswer } from './turns.js'
import type { Nearest } from './content-matcher.js'
import { ReplayDiverged, type RetakeError } from '../errors.js'
import type { TapeCursor } from './timeline.js'

/** Where a session leaves its tape and goes live. If missing, a replay stops there. */
export type Leave = 'at the end' | 'on mismatch'

/** Thrown to leave the tape. The call that throws it has consumed nothing, so it can be repeated live. */
export class LeftTape extends Error {
  override readonly name = 'LeftTape'
  constructor(
    readonly why: Divergence,
    /** A call that was started, but not answered, on the tape. */
    readonly answering?: number,
  ) {
    super(why.summary)
  }
}

/** Collects divergences. In strict mode the first one is thrown, and serving ends. */
export class DivergenceLog {
  readonly divergences: Divergence[] = []
  /** Set once the replay cannot continue. */
  stopped: ReplayDiverged | undefined

  constructor(
    readonly cursor: TapeCursor,
    readonly options: {
      readonly mode?: 'strict' | 'observe'
      readonly onDivergence?: (divergence: Divergence) => void
      readonly onStopped: (error: ReplayDiverged) => void
      readonly leave: Leave | undefined
    },
  ) {}

  diverge(
    kind: DivergenceKind,
    summary: string,
    explanation: string,
    mismatches: readonly Mismatch[] = [],
  ): void {
    const found = this.#add(this.#leaveAt(this.#describe(kind, summary, explanation, mismatches)))
    if (this.options.mode !== 'observe') this.#halt(found)
  }

  /** Reports a divergence that ends the replay even in observe mode. */
  stop(kind: DivergenceKind, summary: string, explanation: string): never {
    this.#halt(this.#add(this.#leaveAt(this.#describe(kind, summary, explanation))))
  }

  /** Reports that the program used something that no tape can answer. */
  refuse(error: RetakeError): never {
    const { code, what, why, fix } = error
    const found = this.#leaveAt(this.#describe('unexpected', what.replace(/\.$/, ''), why))
    const divergence = this.#add({ ...found, fix })
    if (this.options.mode === 'observe') throw error
    this.#halt(divergence, new ReplayDiverged(divergence, { code, what, fix }))
  }

  /** Reports that the recording was cut off here. Not a difference, but nothing more can be served. */
  stopAtCut(what: string, answering?: number): never {
    const summary = 'the recording was cut off here'
    const found = this.#describe('cut-off', summary, `The program continued with ${what}.`)
    if (this.options.leave !== undefined) throw new LeftTape(found, answering)
    this.#halt(found)
  }

  #leaveAt(found: Divergence): Divergence {
    if (this.options.leave === 'on mismatch') throw new LeftTape(found)
    return found
  }

  #add(divergence: Divergence): Divergence {
    this.divergences.push(divergence)
    this.options.onDivergence?.(divergence)
    return divergence
  }

  #halt(divergence: Divergence, error = new ReplayDiverged(divergence)): never {
    this.stopped = error
    this.options.onStopped(error)
    throw error
  }

  #describe(
    kind: DivergenceKind,
    summary: string,
    explanation: string,
    mismatches: readonly Mismatch[] = [],
  ): Divergence {
    const { seq, tape } = this.cursor
    const site = callSite()
    return {
      seq,
      kind,
      summary,
      explanation,
      mismatches,
      ...(seq < tape.count && { recorded: tape.event(seq) }),
      ...(site !== undefined && { site }),
    }
  }
}

/** The tape has no answer for this operation. */
export function noAnswer(
  event: NewEvent<InitiationEvent>,
  nearest: Nearest | undefined,
  count: number,
): Divergence {
  const site = ('site' in event ? event.site : undefined) ?? callSite()
  const found = { kind: 'unexpected', ...(site !== undefined && { site }) } as const
  if (nearest === undefined)
    return {
      ...found,
      seq: count,
      summary: `the tape has no answer to ${describe(event)}`,
      explanation: 'Nothing of this kind is left on the tape.',
      mismatches: [],
    }
  const { recorded, mismatches } = nearest
  const fields = mismatches.map(({ field }) => field).join(', ')
  return {
    ...found,
    kind: 'different',
    seq: recorded.event.seq,
    summary: `${describe(event)} differs in ${fields}`,
    explanation: `The nearest recorded one is event ${recorded.event.seq}; nothing on the tape is identical.`,
    recorded: recorded.event,
    mismatches,
  }
}

/** The program wrote bytes to a connection or process that differ from those written when this part came. */
export const otherBytes = (event: DeliveryEvent, receiver: string, digest: string): Divergence => ({
  kind: 'different',
  seq: event.seq,
  summary: `what was sent to ${receiver} differs`,
  explanation: `The tape has ${describe(event)} after other bytes were sent.`,
  recorded: event,
  mismatches: [
    {
      field: 'sent bytes (sha256)',
      recorded: 'digest' in event ? event.digest : undefined,
      current: digest,
    },
  ],
})

/** The program waits for an answer, or part of one, that was never recorded. */
export function waitsForever(unanswered: readonly PendingAnswer[], count: number): Divergence {
  const what = unanswered.find(({ isTimer }) => !isTimer)?.operation.action.event
  return {
    kind: 'missing',
    seq: count,
    summary: `the program waits${what === undefined ? '' : ` for ${describe(what)}`}, and the tape has nothing more to deliver`,
    explanation: 'In the recording the program did not wait for it, or gave up on it.',
    mismatches: [],
  }
}

/** The first point where the program differs from the tape, in words and as data. */
export interface Divergence {
  /** The event of the tape at which it happened. */
  readonly seq: number
  readonly kind: DivergenceKind
  readonly summary: string
  /** One or two sentences about what the tape has and what the program did. */
  readonly explanation: string
  /** How to fix it; missing if the fix is to undo a change. */
  readonly fix?: string
  /** The event of the tape there, if any. */
  readonly recorded?: TapeEvent
  readonly mismatches: readonly Mismatch[]
  /** Where in the agent's code, as `file:line:column`. */
  readonly site?: string
  /** For a request to the replay proxy: built-in matchers that would ignore all that differs. */
  readonly matchers?: readonly string[]
}

/**
 * - `different`: same kind of call, different content
 * - `unexpected`: the program did something that the tape does not have at this point
 * - `missing`: the program ended, or waits, before the end of the tape
 * - `output`: the program printed something else
 * - `result`: the program returned or exited with something else
 * - `cut-off`: not a difference; the recording was cut off here and cannot serve more
 */
export type DivergenceKind =
  | 'different'
  | 'unexpected'
  | 'missing'
  | 'output'
  | 'result'
  | 'cut-off'

/** A short readable name for an event. */
export function describe(event: NewEvent): string {
  switch (event.type) {
    case 'draw':
      return `a read of ${event.kind}`
    case 'request':
      return `${event.method} ${event.url}`
    case 'call':
      if (event.kind === 'tool') return `tool call ${event.name}`
      return event.title === undefined ? event.name : `${event.name} ${event.title}`
    case 'timer':
      return event.kind === 'immediate' ? 'setImmediate' : `a ${event.kind} of ${event.ms} ms`
    case 'work':
      return `start of ${event.name}`
    case 'socket':
      return `a connection to ${event.path ?? `${event.host}:${event.port}`}`
    case 'output':
      return `a write to ${event.stream}`
    case 'write':
      return `a write to event ${event.op}`
    case 'response':
      return `the response (status ${event.status}) to event ${event.op}`
    case 'result':
      return `the result of event ${event.op}`
    case 'deliver':
      return `"${event.part}" of event ${event.op}`
    case 'end':
      return 'the end of the run'
    case 'run':
    case 'note':
    case 'seal':
      return `a ${event.type} record`
  }
}

const PROTOCOLS: Readonly<Record<number, string>> = {
  3306: 'mysql',
  5432: 'postgres',
  6379: 'redis',
  27017: 'mongodb',
}

/** Readable target of bytes: `127.0.0.1:5432 (postgres)`, or a command. */
export function nameReceiver(event: NewEvent, firstAnswer?: Uint8Array): string {
  if (event.type !== 'socket')
    return event.type === 'call' ? (event.title ?? event.name) : describe(event)
  const protocol = PROTOCOLS[event.port ?? 0] ?? protocolOf(firstAnswer)
  const endpoint = event.path ?? `${event.host}:${event.port}`
  return protocol === undefined ? endpoint : `${endpoint} (${protocol})`
}

/** Detects the database by its first bytes: PostgreSQL's authentication request, MySQL's greeting. */
function protocolOf(bytes: Uint8Array | undefined): string | undefined {
  if (bytes === undefined || bytes.length < 9) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (view.getUint8(0) === 0x52 && view.getUint32(1) < 256 && view.getUint32(5) <= 12)
    return 'postgres'
  return view.getUint8(3) === 0 && view.getUint8(4) === 10 ? 'mysql' : undefined
}
