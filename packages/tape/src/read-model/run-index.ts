import { isStoppedNote, SITE_NOTE } from '../format/events.js'
import type {
  CallEvent,
  DeliveryEvent,
  EndEvent,
  InitiationEvent,
  NoteEvent,
  OutputEvent,
  RecordedError,
  RequestEvent,
  ResponseEvent,
  ResultEvent,
  SocketEvent,
  TapeEvent,
} from '../format/events.js'
import { intentOf } from '../guards/check-guard-facts.js'
import type { GuardIntent } from '../guards/guard-facts.js'
import { pushTo } from '../format/values/collections.js'
import type { TraceEntry } from './lanes.js'
import { isListening } from './mcp/http-mcp.js'
import type { TapeLike } from '../format/tape-like.js'

export interface EventMark {
  readonly seq: number
  readonly at: number
}

/** An operation that counts as a step, with everything that was delivered for it. */
export interface StepOp {
  /** A socket only if it failed to connect. */
  event: RequestEvent | CallEvent | SocketEvent
  response?: ResponseEvent
  result?: ResultEvent
  /** For a guarded tool: the decision before it started. */
  guard?: GuardIntent
  /** Pieces of the answer; for a request on a socket, raw pieces of the connection. */
  readonly chunks: (EventMark & { readonly pipe?: number })[]
  /** Writes of the agent to the stdin of a child process. */
  readonly writes: EventMark[]
  /** Set if the answer is complete, or its connection has ended. */
  end?: EventMark
  /** Wire value of `[code, signal]` of a child process. */
  exit?: unknown
  failure?: RecordedError
  last?: EventMark
}

export interface IndexedFileCall {
  readonly call: CallEvent
  result?: ResultEvent
}

/** Result of one pass over the events, without reading any body. */
export interface RunIndex {
  readonly counts: Readonly<Partial<Record<TapeEvent['type'], number>>>
  /** In the order in which they started, including marks of the user. */
  readonly steps: readonly (StepOp | NoteEvent)[]
  /** Starts and deliveries in order, for `assignLanes`. */
  readonly trace: readonly TraceEntry[]
  readonly bySocket: ReadonlyMap<number, readonly StepOp[]>
  readonly notes: readonly NoteEvent[]
  readonly outputs: readonly OutputEvent[]
  readonly fileCalls: readonly IndexedFileCall[]
  readonly end: EndEvent | undefined
  /** True if the last event is a `stoppedNote`. */
  readonly isStopped: boolean
  readonly lastAt: number
}

/** Reads every event once, and no body. */
export const indexRun = (tape: TapeLike): RunIndex => {
  const builder = new RunIndexBuilder()
  for (const event of tape.events()) builder.add(event)
  return builder
}

type StartEntry = Extract<TraceEntry, { readonly type: 'start' }>
type Mutable<T> = { -readonly [K in keyof T]: T[K] }

class RunIndexBuilder implements RunIndex {
  readonly counts: Partial<Record<TapeEvent['type'], number>> = {}
  readonly steps: (StepOp | NoteEvent)[] = []
  readonly trace: TraceEntry[] = []
  readonly bySocket = new Map<number, StepOp[]>()
  readonly notes: NoteEvent[] = []
  readonly outputs: OutputEvent[] = []
  readonly fileCalls: IndexedFileCall[] = []
  end: EndEvent | undefined
  isStopped = false
  lastAt = 0
  readonly #ops = new Map<number, StepOp>()
  readonly #sockets = new Map<number, OpenedSocket>()
  readonly #syncCalls = new Set<number>()
  #drawn: GuardIntent | undefined
  readonly #files = new Map<number, IndexedFileCall>()

  add(event: TapeEvent): void {
    this.counts[event.type] = (this.counts[event.type] ?? 0) + 1
    this.lastAt = event.at
    this.isStopped = isStoppedNote(event)
    // The decision of a guard immediately precedes its call.
    if (event.type !== 'call') this.#drawn = undefined
    switch (event.type) {
      case 'request':
      case 'call':
      case 'timer':
      case 'work':
      case 'socket':
        this.#start(event)
        break
      case 'response':
      case 'result':
      case 'deliver':
        this.#deliver(event)
        break
      case 'note':
        if (event.kind !== 'attachment') this.notes.push(event)
        if (event.kind === 'mark') {
          this.steps.push(event)
          this.trace.push({ type: 'start', op: event.seq, role: 'instant' })
        }
        if (event.kind === 'attachment' && event.name === SITE_NOTE) {
          const op = this.#ops.get(Number(event.text))
          if (op?.event.type === 'request' && event.site !== undefined)
            op.event = { ...op.event, site: op.event.site ?? event.site }
        }
        break
      case 'output':
        this.outputs.push(event)
        break
      case 'write':
        // Messages over Node's own channel are not a stream.
        if (event.as === undefined)
          this.#ops.get(event.op)?.writes.push({ seq: event.seq, at: event.at })
        break
      case 'end':
        this.end = event
        break
      case 'draw': {
        const intent = intentOf(event)
        const last = this.steps.at(-1)
        if (intent?.again !== true) this.#drawn = intent
        else if (last !== undefined && 'event' in last) last.guard = intent
        break
      }
      case 'run':
      case 'seal':
        break
    }
  }

  #start(event: InitiationEvent): void {
    const entry: Mutable<StartEntry> = { type: 'start', op: event.seq, role: roleOf(event) }
    this.trace.push(entry)
    if (event.type === 'socket') this.#sockets.set(event.seq, { event, entry })
    if (event.type === 'call' && event.sync === true) this.#syncCalls.add(event.seq)
    if (event.type === 'call' && event.kind === 'file') {
      const file: IndexedFileCall = { call: event }
      this.fileCalls.push(file)
      this.#files.set(event.seq, file)
    }
    if (!isStep(event)) return
    const op = this.#addStep(event)
    if (this.#drawn !== undefined && event.type === 'call') op.guard = this.#drawn
    this.#drawn = undefined
    if (event.type === 'request' && event.socket !== undefined)
      pushTo(this.bySocket, event.socket, op)
  }

  #addStep(event: StepOp['event']): StepOp {
    const op: StepOp = { event, chunks: [], writes: [] }
    this.steps.push(op)
    this.#ops.set(event.seq, op)
    return op
  }

  #deliver(event: DeliveryEvent): void {
    const own = this.#ops.get(event.op)
    const op = own ?? this.#requestOn(event)
    // The end of a connection concerns a request only if the request has no answer at all.
    const isChunk = event.type === 'deliver' && event.part === 'chunk'
    const isNews = own !== undefined || isChunk || op?.chunks.length === 0
    // A synchronous answer arrives in the middle of running code and starts nothing.
    if (!this.#syncCalls.has(event.op)) {
      const about = isNews ? (op?.event.seq ?? event.op) : event.op
      this.trace.push({ type: 'delivery', op: about, seq: event.seq })
    }
    const file = event.type === 'result' ? this.#files.get(event.op) : undefined
    if (file !== undefined && event.type === 'result') file.result ??= event
    if (op === undefined) return
    const mark = { seq: event.seq, at: event.at }
    if (isNews) op.last = mark
    if (event.type === 'response') op.response = event
    else if (event.type === 'result') op.result = event
    else if (event.part === 'chunk')
      op.chunks.push(event.pipe === undefined ? mark : { ...mark, pipe: event.pipe })
    else if (
      ['exit', 'close', 'error'].includes(event.part) ||
      // The end of one pipe of a child process is not the end of the process.
      (event.part === 'end' && event.pipe === undefined)
    )
      op.end ??= mark
    if (event.type === 'deliver' && event.part === 'exit') op.exit = event.value
    if (event.type !== 'response' && event.error !== undefined) op.failure ??= event.error
  }

  /**
   * The request that an event on a socket concerns: the latest one. A connection that fails before
   * its first request becomes a step itself, unless it was in use for something else than HTTP.
   */
  #requestOn(event: DeliveryEvent): StepOp | undefined {
    const request = this.bySocket.get(event.op)?.at(-1)
    if (request !== undefined) return request
    const socket = this.#sockets.get(event.op)
    if (socket === undefined || event.type !== 'deliver') return undefined
    if (event.part === 'chunk') socket.isUsed = true
    if (event.part !== 'error' || socket.isUsed === true) return undefined
    socket.entry.role = 'step'
    const op = this.#addStep(socket.event)
    this.steps.sort((left, right) => seqOf(left) - seqOf(right))
    return op
  }
}

interface OpenedSocket {
  readonly event: SocketEvent
  readonly entry: Mutable<StartEntry>
  /** True if the other end has sent something. */
  isUsed?: boolean
}

const seqOf = (step: StepOp | NoteEvent): number => ('event' in step ? step.event.seq : step.seq)

const isStep = (event: InitiationEvent): event is RequestEvent | CallEvent =>
  event.type === 'request' ||
  (event.type === 'call' && (event.kind === 'tool' || event.kind === 'process'))

const roleOf = (event: InitiationEvent): StartEntry['role'] => {
  if (event.type === 'call' && event.sync === true) return 'instant'
  // A listening stream may stay open forever, and nothing waits for it.
  if (event.type === 'request' && isListening(event)) return 'instant'
  if (isStep(event)) return 'step'
  return event.type === 'socket' || (event.type === 'timer' && event.kind === 'interval')
    ? 'background'
    : 'other'
}
