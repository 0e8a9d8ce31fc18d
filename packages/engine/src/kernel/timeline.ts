import {
  type CallEvent,
  type DeliveryEvent,
  type InitiationEvent,
  isDelivery,
  isEnvironmentNote,
  isInitiation,
  type NewEvent,
  pushTo,
  type Tape,
  type TapeEvent,
} from '@retake/tape/format'

/** A recorded operation with the parts of its answer. */
export interface RecordedOperation {
  readonly event: InitiationEvent
  /** The delivery that the agent was handling when it started this operation. */
  readonly turn: number
  /** Numbers of the deliveries that belong to it, in order. */
  readonly parts: number[]
  /** For connections: bytes written when its answer began. */
  readonly written: number
  used: boolean
  /** The requests before and after it in the same turn, by event. */
  requestBefore: number | undefined
  requestAfter: number | undefined
}

/** The latest request of a turn, and the operations started since then. */
interface Neighbours {
  readonly requestBefore: number | undefined
  readonly waiting: RecordedOperation[]
}

interface Connection {
  requests: number
  /** The request that is being answered, or the connection itself before its first request. */
  answering: RecordedOperation
}

/** The operations of a tape from an event on, each with its turn and the parts of its answer. */
export class TapeTimeline {
  /** Operations started from the event on, in order. */
  readonly operations: RecordedOperation[] = []
  /** All operations, including those in progress at that event, with their parts from the event on. */
  readonly byStart = new Map<number, RecordedOperation>()
  /** By connection that was open at the event, the operation being answered on it. */
  readonly answering = new Map<number, RecordedOperation>()
  #neighbours: Neighbours = { requestBefore: undefined, waiting: [] }
  /** Deliveries after which the agent started or wrote something before the next one. */
  readonly acted = new Set<number>()
  /** Writes to each process from the event on, by the event that started it. */
  readonly writes = new Map<number, number[]>()
  /** Values that were drawn from the event on, each with its turn. */
  readonly draws: { readonly turn: number; readonly kind: string; readonly value: unknown }[] = []
  /** The turn that the event belongs to. */
  readonly firstTurn: number

  constructor(
    readonly tape: Tape,
    readonly from: number,
  ) {
    const connections = new Map<number, Connection>()
    const synchronous = new Set<number>()
    let turn = 0
    let firstTurn = 0
    for (const event of tape.events(1)) {
      if (event.seq === from) {
        firstTurn = turn
        for (const [seq, { answering }] of connections) this.answering.set(seq, answering)
      }
      if (event.type === 'draw' && event.seq >= from)
        this.draws.push({ turn, kind: event.kind, value: event.value })
      else if (event.type === 'output') this.acted.add(turn)
      else if (event.type === 'write') {
        this.acted.add(turn)
        if (event.seq < from) continue
        pushTo(this.writes, event.op, event.seq)
      } else if (isInitiation(event)) {
        this.acted.add(turn)
        if (event.type === 'call' && event.sync === true) synchronous.add(event.seq)
        this.#start(event, turn, connections)
      } else if (isDelivery(event)) {
        if (!synchronous.has(event.op)) {
          turn = event.seq
          this.#neighbours = { requestBefore: undefined, waiting: [] }
        }
        if (event.seq < from) continue
        // On a connection, a part belongs to the last written request.
        const owner = connections.get(event.op)?.answering ?? this.byStart.get(event.op)
        owner?.parts.push(event.seq)
      }
    }
    this.firstTurn = firstTurn
  }

  delivery(seq: number): DeliveryEvent {
    return this.tape.event(seq) as DeliveryEvent
  }

  #start(event: InitiationEvent, turn: number, connections: Map<number, Connection>): void {
    const connection = event.type === 'request' ? connections.get(event.socket ?? -1) : undefined
    if (connection !== undefined) connection.requests += 1
    const operation: RecordedOperation = {
      event,
      turn,
      parts: [],
      written: connection?.requests ?? 0,
      used: false,
      requestBefore: this.#neighbours.requestBefore,
      requestAfter: undefined,
    }
    this.#noteNeighbour(operation)
    if (connection !== undefined) connection.answering = operation
    if (event.type === 'socket') connections.set(event.seq, { requests: 0, answering: operation })
    this.byStart.set(event.seq, operation)
    if (event.seq >= this.from) this.operations.push(operation)
  }

  #noteNeighbour(operation: RecordedOperation): void {
    const { event } = operation
    const isRequest = event.type === 'request' || (event.type === 'call' && event.sync !== true)
    if (!isRequest) this.#neighbours.waiting.push(operation)
    else {
      for (const one of this.#neighbours.waiting) one.requestAfter = event.seq
      this.#neighbours = { requestBefore: event.seq, waiting: [] }
    }
  }
}

/** The position of a replay on its tape. Notes and the seal are skipped. */
export class TapeCursor {
  seq = 1
  /** Cache of the event at `seq`, which is read several times before it happens. */
  #peeked: TapeEvent | undefined
  /** True if the run did not end by itself: a signal killed it, or its end is unknown. */
  readonly isCut: boolean
  readonly #end: number

  readonly #passes: (event: TapeEvent) => boolean
  /** Called for each note about variables that it skips. */
  onEnvironment: ((seq: number) => void) | undefined

  /** `until`: the first event that is not served. `passes`: true for events to skip like notes. */
  constructor(
    readonly tape: Tape,
    {
      until = tape.count,
      passes = () => false,
    }: { until?: number | undefined; passes?: (event: TapeEvent) => boolean } = {},
  ) {
    this.#end = until
    this.#passes = passes
    this.isCut = until < tape.count || isCutOff(tape)
  }

  /** The event that must happen next; undefined at the end of the tape. */
  peek(): TapeEvent | undefined {
    if (this.#peeked !== undefined) return this.#peeked
    for (; this.seq < this.#end; this.seq += 1) {
      const event = this.tape.event(this.seq)
      if (isEnvironmentNote(event)) this.onEnvironment?.(event.seq)
      if (event.type === 'note' || this.#passes(event)) continue
      // A program's actions cannot be compared with these events.
      const isOver = event.type === 'seal' || (event.type === 'end' && event.signal !== undefined)
      if (!isOver) this.#peeked = event
      return this.#peeked
    }
    return undefined
  }

  advance(): void {
    this.seq += 1
    this.#peeked = undefined
  }

  /** Moves past the first fitting event, if it comes before the next delivery. */
  skipTo(fits: (event: TapeEvent) => boolean): TapeEvent | undefined {
    for (let seq = this.seq; seq < this.#end; seq += 1) {
      const event = this.tape.event(seq)
      if (isDelivery(event)) return undefined
      if (!fits(event)) continue
      this.seq = seq + 1
      this.#peeked = undefined
      return event
    }
    return undefined
  }
}

/** True if the run was killed by a signal, or its end is unknown. */
export function isCutOff(tape: Tape): boolean {
  if (tape.status === 'truncated') return true
  const end = tape.event(Math.max(0, tape.count - (tape.status === 'sealed' ? 2 : 1)))
  return end.type === 'end' && end.signal !== undefined
}

/** True for requests, tool calls and processes. Each of these is a step. */
export function isStepEvent<E extends { readonly type: string }>(
  event: E,
): event is Extract<E, { readonly type: 'request' | 'call' }> {
  if (event.type === 'request') return true
  if (event.type !== 'call') return false
  const { kind } = event as unknown as CallEvent
  return kind === 'tool' || kind === 'process'
}

/** True for stdin and other input from outside the run, such as signals and messages. */
export const isInput = (event: NewEvent<InitiationEvent>): boolean =>
  event.type === 'call' && event.kind === 'input'

export const readsStdin = (event: NewEvent<InitiationEvent>): boolean =>
  event.type === 'call' && event.kind === 'input' && event.name === 'stdin'
