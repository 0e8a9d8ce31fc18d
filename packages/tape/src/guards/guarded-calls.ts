import { decodeBody } from '../format/event-body.js'
import type {
  BodyForm,
  CallEvent,
  NoteEvent,
  RecordedError,
  ResultEvent,
} from '../format/events.js'
import type { GuardFacts, GuardIntent, GuardStatus } from './guard-facts.js'
import {
  bodyFromText,
  readGuardNote,
  type GuardOpened,
  type NestedCallNote,
  type NestedResultNote,
  type SpentNote,
} from './guard-note.js'
import type { TapeLike } from '../format/tape-like.js'

/** A call that passed a guard, as a tape tells it. Bodies are read when asked for. */
export interface GuardedCallOnTape {
  /** What was decided before it started. */
  readonly intent: GuardIntent
  readonly tool: string
  /** What became of it; missing when that is not on the tape. */
  readonly facts: GuardFacts | undefined
  /**
   * As in `facts`. Without a result it is `in doubt`: it may have had its effect.
   * Of a call that a rule asked about and nobody had let through, `stopped`.
   */
  readonly state: GuardStatus
  readonly error: RecordedError | undefined
  /** Made by a guarded tool, inside another call: it stands on the tape as notes. */
  readonly isNested: boolean
  readonly callSeq: number
  readonly resultSeq: number | undefined
  /** Milliseconds since the run started. */
  readonly at: number
  readonly latencyMs: number | undefined
  readonly site: string | undefined
  args(): unknown
  /** Undefined when there is none. */
  output(): unknown
  /** The result as it is stored. */
  result(): { readonly as: BodyForm | undefined; readonly body: Uint8Array }
}

/** What a guard said about itself at its first call, and where. */
export interface GuardOnTape extends GuardOpened {
  readonly seq: number
}

/** What was spent beside what the results of calls tell. */
export interface SpentOnTape extends SpentNote {
  readonly seq: number
  /** Milliseconds since the run started. */
  readonly at: number
}

/** All that guards put on a tape. */
export interface GuardsOnTape {
  readonly guards: readonly GuardOnTape[]
  /** In the order they were made, nested ones among them. */
  readonly calls: readonly GuardedCallOnTape[]
  /** In addition to what the calls count for; attempts of a call that has a result are not among them. */
  readonly spent: readonly SpentOnTape[]
}

/** The guarded calls of a tape, nested ones among them, in the order they were made. */
export const guardedCalls = (tape: TapeLike): readonly GuardedCallOnTape[] => readGuards(tape).calls

/** Reads every event once, and no body but those of the notes that guards keep. */
export function readGuards(tape: TapeLike): GuardsOnTape {
  const reader = new GuardReader(tape)
  return { guards: reader.guards, calls: reader.calls, spent: reader.spent }
}

class GuardReader {
  readonly guards: GuardOnTape[] = []
  readonly calls: OpenCall[] = []
  readonly spent: SpentOnTape[] = []
  /** Of calls that have no result so far: it will tell what all of them cost. */
  readonly #attempts = new Map<number, SpentOnTape[]>()
  readonly #byOp = new Map<number, OpenCall>()

  constructor(readonly tape: TapeLike) {
    let drawn: GuardIntent | undefined
    for (const event of tape.events()) {
      if (event.type === 'draw') {
        drawn = event.kind === 'guard' ? (event.value as GuardIntent) : undefined
        const last = this.calls.at(-1)
        if (drawn?.again === true && last !== undefined) {
          last.intent = drawn
          drawn = undefined
        }
      } else if (event.type === 'call') {
        if (drawn !== undefined && event.kind === 'tool') this.#start(drawn, event)
        drawn = undefined
      } else if (event.type === 'result') {
        const call = this.#byOp.get(event.op)
        if (call instanceof TopCall && call.end === undefined) {
          call.end = event
          this.#attempts.delete(event.op)
        }
      } else if (event.type === 'note' && event.kind === 'kept') this.#note(event)
    }
    for (const left of this.#attempts.values()) this.spent.push(...left)
  }

  #start(intent: GuardIntent, event: CallEvent): void {
    this.#add(new TopCall(this.tape, intent, event))
  }

  #add(call: OpenCall): void {
    this.calls.push(call)
    this.#byOp.set(call.callSeq, call)
  }

  #note(event: NoteEvent): void {
    const { tape } = this
    const opened = readGuardNote(tape, event, 'opened')
    if (opened !== undefined) this.guards.push({ ...opened, seq: event.seq })
    const start = readGuardNote(tape, event, 'call')
    if (start !== undefined) this.#add(new NestedCall(tape, start, event))
    const end = readGuardNote(tape, event, 'result')
    const ended = end && this.#byOp.get(end.op)
    if (end && ended instanceof NestedCall && ended.ended === undefined) {
      ended.ended = { note: event, end }
      this.#attempts.delete(end.op)
    }
    const again = readGuardNote(tape, event, 'again')
    const decided = again && this.#byOp.get(again.op)
    if (again && decided) {
      decided.intent = again.intent
      this.#attempts.delete(again.op)
      const { guard } = again.intent
      if (again.spent) this.#spend(event, { guard, tool: decided.tool, usage: again.spent })
    }
    const spent = readGuardNote(tape, event, 'spent')
    if (spent !== undefined) this.#spend(event, spent)
    const approved = readGuardNote(tape, event, 'approved')
    const call = approved && this.#byOp.get(approved.op)
    if (call !== undefined) call.isApproved = true
  }

  #spend({ seq, at }: NoteEvent, note: SpentNote): void {
    const call = note.op === undefined ? undefined : this.#byOp.get(note.op)
    const spent = { ...note, seq, at }
    if (call === undefined || call.facts !== undefined) this.spent.push(spent)
    else this.#attempts.set(call.callSeq, [...(this.#attempts.get(call.callSeq) ?? []), spent])
  }
}

abstract class OpenCall implements GuardedCallOnTape {
  /** Only of a call that a rule asks about. */
  isApproved = false
  abstract readonly tool: string
  abstract readonly isNested: boolean
  abstract readonly facts: GuardFacts | undefined
  abstract readonly error: RecordedError | undefined
  abstract readonly resultSeq: number | undefined
  abstract readonly latencyMs: number | undefined
  readonly callSeq: number
  readonly at: number
  readonly site: string | undefined

  constructor(
    readonly tape: TapeLike,
    public intent: GuardIntent,
    event: CallEvent | NoteEvent,
  ) {
    this.callSeq = event.seq
    this.at = event.at
    this.site = event.site
  }

  get state(): GuardStatus {
    const { facts, intent } = this
    if (facts !== undefined) return facts.status
    // Its result is on another tape; here nothing ran.
    if (intent.served !== undefined) return 'stopped'
    if (intent.verdict === 'deny') return intent.exitReason === undefined ? 'denied' : 'stopped'
    return intent.verdict === 'ask' && !this.isApproved ? 'stopped' : 'in doubt'
  }

  output(): unknown {
    const { as, body } = this.result()
    return as === undefined ? undefined : decodeBody(as, body)
  }

  abstract args(): unknown
  abstract result(): ReturnType<GuardedCallOnTape['result']>
}

const EMPTY = new Uint8Array(0)

/** A call that the agent made itself. */
class TopCall extends OpenCall {
  readonly isNested = false
  readonly tool: string
  end: ResultEvent | undefined
  readonly #as: BodyForm

  constructor(tape: TapeLike, intent: GuardIntent, event: CallEvent) {
    super(tape, intent, event)
    this.tool = event.name
    this.#as = event.as ?? 'json'
  }

  get facts(): GuardFacts | undefined {
    return this.end && (this.end.guard ?? { status: this.end.error ? 'failed' : 'done' })
  }

  get error(): RecordedError | undefined {
    return this.end?.error
  }

  get resultSeq(): number | undefined {
    return this.end?.seq
  }

  get latencyMs(): number | undefined {
    return this.end && this.end.at - this.at
  }

  args(): unknown {
    return decodeBody(this.#as, this.tape.body(this.callSeq))
  }

  result(): { readonly as: BodyForm | undefined; readonly body: Uint8Array } {
    const { end } = this
    return { as: end?.as, body: end === undefined ? EMPTY : this.tape.body(end.seq) }
  }
}

/** A call that a guarded tool made. */
class NestedCall extends OpenCall {
  readonly isNested = true
  ended: { readonly note: NoteEvent; readonly end: NestedResultNote } | undefined

  constructor(
    tape: TapeLike,
    readonly start: NestedCallNote,
    event: NoteEvent,
  ) {
    super(tape, start.intent, event)
  }

  get tool(): string {
    return this.start.tool
  }

  get facts(): GuardFacts | undefined {
    return this.ended?.end.facts
  }

  get error(): RecordedError | undefined {
    return this.ended?.end.error
  }

  get resultSeq(): number | undefined {
    return this.ended?.note.seq
  }

  get latencyMs(): number | undefined {
    return this.ended && this.ended.note.at - this.at
  }

  args(): unknown {
    const { as, body } = this.start
    return decodeBody(as, bodyFromText(as, body))
  }

  result(): { readonly as: BodyForm | undefined; readonly body: Uint8Array } {
    const { as, body = '' } = this.ended?.end ?? {}
    return { as, body: as === undefined ? EMPTY : bodyFromText(as, body) }
  }
}
