import { decodeBody } from '../format/event-body.js'
import type {
  BodyForm,
  CallEvent,
  NoteEvent,
  RecordedError,
  ResultEvent,
} from '../format/events.js'
import type { GuardFacts, GuardIntent, GuardStatus } from './guard-facts.js'
import { bodyFromText, readGuardNote, type GuardOpened, type SpentNote } from './guard-note.js'
import type { TapeLike } from '../format/tape-like.js'

/** A guarded call as recorded on a tape. Bodies are read on demand. */
export interface GuardedCallOnTape {
  /** The decision before it started. */
  readonly intent: GuardIntent
  readonly tool: string
  /** Its outcome; missing if it is not on the tape. */
  readonly facts: GuardFacts | undefined
  /**
   * As in `facts`. Without a result it is `in doubt`: it may have had its effect. `stopped` if it
   * needed approval and was not approved.
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
  /** The stored result. */
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
  /** In the order they were made, including nested ones. */
  readonly calls: readonly GuardedCallOnTape[]
  /** In addition to the usage of calls; without attempts of calls that have a result. */
  readonly spent: readonly SpentOnTape[]
}

/** The guarded calls of a tape, including nested ones, in the order they were made. */
export const guardedCalls = (tape: TapeLike): readonly GuardedCallOnTape[] => readGuards(tape).calls

/** Reads every event once, and only the bodies of guard notes. */
export function readGuards(tape: TapeLike): GuardsOnTape {
  const reader = new GuardReader(tape)
  return { guards: reader.guards, calls: reader.calls, spent: reader.spent }
}

class GuardReader {
  readonly guards: GuardOnTape[] = []
  readonly calls: GuardedCall[] = []
  readonly spent: SpentOnTape[] = []
  /** For calls without a result so far: the result will include the cost of all attempts. */
  readonly #attempts = new Map<number, SpentOnTape[]>()
  readonly #byOp = new Map<number, GuardedCall>()

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
        if (drawn !== undefined && event.kind === 'tool') this.#start(event, drawn)
        drawn = undefined
      } else if (event.type === 'result') this.#end(event)
      else if (event.type === 'note' && event.kind === 'kept') this.#note(event)
    }
    for (const left of this.#attempts.values()) this.spent.push(...left)
  }

  /** A call that the agent made itself. */
  #start(event: CallEvent, intent: GuardIntent): void {
    const { name: tool, as = 'json' } = event
    this.#add(event, { intent, tool, as, isNested: false, body: () => this.tape.body(event.seq) })
  }

  #end({ op, seq, at, error, as, guard: facts }: ResultEvent): void {
    this.#settle(op, false, {
      seq,
      at,
      facts: facts ?? { status: error ? 'failed' : 'done' },
      error,
      as,
      body: () => this.tape.body(seq),
    })
  }

  #add(event: CallEvent | NoteEvent, start: CallStart): void {
    this.calls.push(new GuardedCall(event, start))
    this.#byOp.set(event.seq, this.calls.at(-1) as GuardedCall)
  }

  #settle(op: number, isNested: boolean, end: CallEnd): void {
    const call = this.#byOp.get(op)
    if (call?.isNested !== isNested || call.end !== undefined) return
    call.end = end
    this.#attempts.delete(op)
  }

  #note(event: NoteEvent): void {
    const { tape } = this
    const { seq, at } = event
    const opened = readGuardNote(tape, event, 'opened')
    if (opened !== undefined) this.guards.push({ ...opened, seq })
    const start = readGuardNote(tape, event, 'call')
    if (start !== undefined) {
      const body = (): Uint8Array => bodyFromText(start.as, start.body)
      this.#add(event, { ...start, isNested: true, body })
    }
    const ended = readGuardNote(tape, event, 'result')
    if (ended !== undefined) {
      const { op, facts, error, as, body = '' } = ended
      const read = (): Uint8Array => (as === undefined ? EMPTY : bodyFromText(as, body))
      this.#settle(op, true, { seq, at, facts, error, as, body: read })
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

class GuardedCall implements GuardedCallOnTape {
  /** Only for a call that needs approval. */
  isApproved = false
  end: CallEnd | undefined
  intent: GuardIntent
  readonly tool: string
  readonly isNested: boolean
  readonly callSeq: number
  readonly at: number
  readonly site: string | undefined
  readonly #start: CallStart

  constructor(event: CallEvent | NoteEvent, start: CallStart) {
    this.#start = start
    this.intent = start.intent
    this.tool = start.tool
    this.isNested = start.isNested
    this.callSeq = event.seq
    this.at = event.at
    this.site = event.site
  }

  get facts(): GuardFacts | undefined {
    return this.end?.facts
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

  get state(): GuardStatus {
    const { facts, intent } = this
    if (facts !== undefined) return facts.status
    // Its result is on another tape; nothing ran here.
    if (intent.served !== undefined) return 'stopped'
    if (intent.verdict === 'deny') return intent.exitReason === undefined ? 'denied' : 'stopped'
    return intent.verdict === 'ask' && !this.isApproved ? 'stopped' : 'in doubt'
  }

  args(): unknown {
    return decodeBody(this.#start.as, this.#start.body())
  }

  output(): unknown {
    const { as, body } = this.result()
    return as === undefined ? undefined : decodeBody(as, body)
  }

  result(): { readonly as: BodyForm | undefined; readonly body: Uint8Array } {
    return { as: this.end?.as, body: this.end?.body() ?? EMPTY }
  }
}
