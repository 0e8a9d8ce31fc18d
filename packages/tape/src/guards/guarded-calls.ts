import { decodeBody } from '../format/event-body.js'
import { tapeErrors } from '../format/errors.js'
import type { BodyForm, CallEvent, NoteEvent, RecordedError, TapeEvent } from '../format/events.js'
import { factsOf, factsProblem, intentOf, intentProblem } from './check-guard-facts.js'
import type { GuardFacts, GuardIntent, GuardStatus } from './guard-facts.js'
import { bodyFromText, readGuardNote, type GuardOpened, type SpentNote } from './guard-note.js'
import type { TapeLike } from '../format/tape-like.js'

/** A guarded call as recorded on a tape. Bodies are read on demand. */
export interface GuardedCallOnTape {
  /** The decision before it started. */
  readonly intent: GuardIntent
  readonly tool: string
  /** The outcome; missing if the tape does not contain it. */
  readonly facts: GuardFacts | undefined
  /**
   * As in `facts`. Without a result: `stopped` if it needed approval and was not approved,
   * otherwise `in doubt`, because it may have had its effect.
   */
  readonly state: GuardStatus
  readonly error: RecordedError | undefined
  /** True if a guarded tool made it inside another call: it is on the tape as notes. */
  readonly isNested: boolean
  readonly callSeq: number
  readonly resultSeq: number | undefined
  /** Milliseconds since the run started. */
  readonly at: number
  readonly latencyMs: number | undefined
  readonly site: string | undefined
  args(): unknown
  /** Undefined if there is no output. */
  output(): unknown
  result(): { readonly as: BodyForm | undefined; readonly body: Uint8Array }
}

/** The note of a guard at its first call, and its position. */
export interface GuardOnTape extends GuardOpened {
  readonly seq: number
}

/** Spending beyond the results of calls. */
export interface SpentOnTape extends SpentNote {
  readonly seq: number
  /** Milliseconds since the run started. */
  readonly at: number
}

/** Everything that guards wrote to a tape. */
export interface GuardsOnTape {
  readonly guards: readonly GuardOnTape[]
  /** In the order in which they were made, including nested ones. */
  readonly calls: readonly GuardedCallOnTape[]
  /** Spending besides the usage of calls; excludes attempts of calls that have a result. */
  readonly spent: readonly SpentOnTape[]
}

/** The guarded calls of a tape, including nested ones, in the order they were made. */
export const guardedCalls = (tape: TapeLike): readonly GuardedCallOnTape[] => readGuards(tape).calls

/** Reads every event once, and only the bodies of guard notes. */
export function readGuards(tape: TapeLike): GuardsOnTape {
  const reader = new GuardReader(tape)
  const calls = [...reader.calls.values()]
  const attempts = calls.flatMap((call) => call.attempts).toSorted((a, b) => a.seq - b.seq)
  const spent = [...reader.spent, ...attempts]
  return { guards: reader.guards, calls: calls.map(callOnTape), spent }
}

class GuardReader {
  readonly guards: GuardOnTape[] = []
  /** By the event or note that started them. */
  readonly calls = new Map<number, ReadCall>()
  readonly spent: SpentOnTape[] = []

  constructor(readonly tape: TapeLike) {
    let drawn: GuardIntent | undefined
    let last: ReadCall | undefined
    for (const event of tape.events()) {
      if (event.type === 'draw') {
        drawn = intentOf(event)
        if (event.kind === 'guard')
          this.#require(event, intentProblem(event.value), 'has a decision of a guard that')
        if (drawn?.again === true && last !== undefined) {
          last.intent = drawn
          drawn = undefined
        }
      } else if (event.type === 'call') {
        const { seq, name: tool, as = 'json' } = event
        const body = (): Uint8Array => tape.body(seq)
        if (drawn !== undefined && event.kind === 'tool')
          last = this.#begin(event, { intent: drawn, tool, as, body, isNested: false })
        drawn = undefined
      } else if (event.type === 'result') {
        const { seq, at, error, as, guard } = event
        if (guard !== undefined)
          this.#require(event, factsProblem(guard), 'has facts of a guard and')
        const facts = factsOf(event) ?? { status: error ? 'failed' : 'done' }
        this.#settle(event.op, false, { seq, at, facts, error, as, body: () => tape.body(seq) })
      } else if (event.type === 'note' && event.kind === 'attachment')
        last = this.#note(event) ?? last
    }
  }

  /** Decisions of a tape decide what is repeated, so nothing is skipped that no guard wrote. */
  #require({ seq }: TapeEvent, problem: string | undefined, what: string): void {
    if (problem === undefined) return
    const { id } = this.tape.run
    throw tapeErrors.TAPE_CORRUPT(id, { seq }, `The event ${what} ${problem}.`)
  }

  #begin(event: CallEvent | NoteEvent, start: CallStart): ReadCall {
    const call = { ...start, event, isApproved: false, end: undefined, attempts: [] }
    this.calls.set(event.seq, call)
    return call
  }

  #settle(op: number, isNested: boolean, end: CallEnd): void {
    const call = this.calls.get(op)
    if (call?.isNested !== isNested || call.end !== undefined) return
    call.end = end
    call.attempts = []
  }

  /** Returns the call that a note starts. */
  #note(event: NoteEvent): ReadCall | undefined {
    const { seq, at } = event
    const note = readGuardNote(this.tape, event)
    if (note?.kind === 'opened') this.guards.push({ ...note.content, seq })
    else if (note?.kind === 'call') {
      const { as, body: text } = note.content
      const body = (): Uint8Array => bodyFromText(as, text)
      return this.#begin(event, { ...note.content, isNested: true, body })
    } else if (note?.kind === 'result') {
      const { op, facts, error, as, body: text = '' } = note.content
      const body = (): Uint8Array => (as === undefined ? EMPTY : bodyFromText(as, text))
      this.#settle(op, true, { seq, at, facts, error, as, body })
    } else if (note?.kind === 'again') {
      const { op, intent, spent } = note.content
      const call = this.calls.get(op)
      if (call === undefined) return undefined
      call.intent = intent
      call.attempts = []
      if (spent) this.#spend(event, { guard: intent.guard, tool: call.tool, usage: spent })
    } else if (note?.kind === 'spent') this.#spend(event, note.content)
    else if (note?.kind === 'approved') {
      const call = this.calls.get(note.content.op)
      if (call !== undefined) call.isApproved = true
    }
    return undefined
  }

  #spend({ seq, at }: NoteEvent, note: SpentNote): void {
    const call = note.op === undefined ? undefined : this.calls.get(note.op)
    const list = call === undefined || call.end !== undefined ? this.spent : call.attempts
    list.push({ ...note, seq, at })
  }
}

const EMPTY = new Uint8Array(0)

interface CallStart {
  readonly intent: GuardIntent
  readonly tool: string
  readonly as: BodyForm
  readonly body: () => Uint8Array
  readonly isNested: boolean
}

interface CallEnd {
  readonly seq: number
  readonly at: number
  readonly facts: GuardFacts
  readonly error: RecordedError | undefined
  readonly as: BodyForm | undefined
  readonly body: () => Uint8Array
}

interface ReadCall extends CallStart {
  intent: GuardIntent
  readonly event: CallEvent | NoteEvent
  /** Only for a call that needs approval. */
  isApproved: boolean
  end: CallEnd | undefined
  /** Spending of a call without a result: a result includes the cost of all attempts. */
  attempts: SpentOnTape[]
}

function callOnTape(call: ReadCall): GuardedCallOnTape {
  const { intent, tool, isNested, as, body, end } = call
  const { seq: callSeq, at, site } = call.event
  return {
    intent,
    tool,
    facts: end?.facts,
    state: end?.facts.status ?? stateWithoutResult(call),
    error: end?.error,
    isNested,
    callSeq,
    resultSeq: end?.seq,
    at,
    latencyMs: end && end.at - at,
    site,
    args: () => decodeBody(as, body()),
    output: () => (end?.as === undefined ? undefined : decodeBody(end.as, end.body())),
    result: () => ({ as: end?.as, body: end?.body() ?? EMPTY }),
  }
}

function stateWithoutResult({ intent, isApproved }: ReadCall): GuardStatus {
  // Its result is on another tape; nothing ran here.
  if (intent.served !== undefined) return 'stopped'
  if (intent.verdict === 'deny') return intent.exitReason === undefined ? 'denied' : 'stopped'
  return intent.verdict === 'ask' && !isApproved ? 'stopped' : 'in doubt'
}
