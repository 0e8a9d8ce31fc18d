import type { KeyObject } from 'node:crypto'
import type {
  BodyForm,
  EndEvent,
  DrawEvent,
  InitiationEvent,
  NewEvent,
  NoteEvent,
  OutputEvent,
  WriteEvent,
} from '@retake/tape/format'
import { environmentNote } from '@retake/tape/format'
import { callSite } from './call-site.js'
import { outsideRuns, sessionClosed, sessionOpened } from './scope.js'
import type { Machine, RecordedVariables } from './machine.js'
import type { Mask, Origin, RecordingMask } from './mask.js'
import { type AnswerSource, errorAnswer, hasSingleAnswer, outside } from './source.js'
import type { EventWriter } from './background-writer.js'
import type { DivergenceFacts } from './divergence.js'
import { Gate, type Turn } from './gate.js'
import { EMPTY, Operation } from './session.js'
import type {
  Action,
  Delivery,
  DrawOptions,
  NewDelivery,
  Recording,
  Session,
  Source,
  SyncCall,
} from './session.js'

interface Completed {
  readonly operation: Operation
  readonly event: NewDelivery
  readonly body: Uint8Array
  readonly native: unknown
}

/** The end of a run. */
export interface RunEnd extends Omit<NewEvent<EndEvent>, 'type'> {
  readonly body?: Uint8Array
}

export interface RecordSessionOptions {
  /** The session that boundaries see, if it is not this one. */
  readonly owner?: Session
  /** Offset from the position of an event on the tape to its number in the run, for a branch. */
  readonly shift?: number
  /** Source of answers; the outside by default. */
  readonly answers?: AnswerSource
  readonly mask: RecordingMask
  readonly machine: Machine
  /** Adds the parts of the agent, as frameworks name them, to the event of a step. */
  readonly withScopes: <E extends NewEvent<InitiationEvent | WriteEvent>>(event: E) => E
  /** Receives copies of the databases that the run opens; the originals stay unchanged. */
  readonly databases?: Session['databases']
  /** Provides the tasks of child programs that are recorded. */
  readonly childTask?: Session['childTask']
  /** Private ed25519 key that signs the seal. */
  readonly signingKey?: KeyObject | undefined
}

/**
 * Writes everything the agent touches to the tape, and delivers completions one at a time, in the
 * order in which they will be replayed.
 *
 * Output-commit rule: an event is in the file before anything that depends on it can leave the
 * process. Most events are written immediately; reads of variables and values of `drawAhead` are
 * written with the next event. Before a durable action starts, its event and all earlier ones are
 * synced to disk, because it could depend on any of them. Not synced themselves: output, calls to
 * files, and bytes for a child that begin no request. Messages to threads and signals to children
 * wait for nothing. With the durability `process`, writing to the file is enough. A discarded
 * branch may be written in the background, and nothing waits for its disk.
 *
 * If the tape cannot be written, the writer decides what happens: it stops the process, continues
 * without a tape, or throws. If it throws, the agent gets the error from the call that it made, or
 * in place of the answer that could not be written, and nothing leaves the process any more.
 */
export class RecordSession implements Session {
  closed = false
  readonly local: Source
  readonly remote: Source
  readonly secrets: Mask
  readonly databases: Session['databases']
  readonly environment: RecordedVariables
  readonly #queue: Completed[] = []
  /** True while a delivery waits for the disk. Nothing else is delivered in the meantime. */
  #isPaused = false
  /** The delivery that has waited, now on disk. It is next. */
  #turnOnDisk: Turn | undefined
  /** Noted boundaries, with the number of later uses. */
  readonly #noted = new Map<
    string,
    { readonly note: Omit<NewEvent<NoteEvent>, 'type'>; again: number }
  >()
  readonly #gate: Gate
  readonly #owner: Session
  readonly #shift: number
  readonly #answers: AnswerSource
  /** True if something that a write could depend on may not be on disk. */
  #isUnsynced = true
  readonly #recording: Recording
  readonly #atEnd: (() => void)[] = []
  readonly #signingKey: KeyObject | undefined
  readonly #mask: RecordingMask
  readonly #withScopes: RecordSessionOptions['withScopes']
  readonly childTask: NonNullable<Session['childTask']>

  constructor(
    readonly writer: EventWriter,
    options: RecordSessionOptions,
  ) {
    this.#owner = options.owner ?? this
    this.#shift = options.shift ?? 0
    this.#answers = options.answers ?? outside
    this.#mask = options.mask
    this.secrets = options.mask.values
    this.#withScopes = options.withScopes
    this.#gate = new Gate({
      next: () => this.#takeTurn(),
      after: () => this.#queue.length > 0 && this.#gate.request(),
      mayRun: options.machine.mayRun,
    })
    this.#signingKey = options.signingKey
    this.childTask = options.childTask ?? ((...child) => this.#answers.childTask?.(...child))
    this.databases = options.databases
    this.local = this.#answers.local
    this.remote = this.#answers.remote
    this.environment = options.machine.recordedVariables({
      // The note is synced with the next event, because only later events can depend on it.
      onRead: (reads) =>
        this.#appendAhead(environmentNote, Buffer.from(JSON.stringify(reads), 'utf8')),
      onChanged: (name) =>
        this.note({
          kind: 'boundary',
          name: 'process.env',
          text: `${name} was changed from outside the run after the run had read it`,
        }),
    })
    this.#recording = {
      tape: writer.path,
      mark: (name, text) => this.note({ kind: 'mark', name, text: this.secrets.text(text) }),
      onEnd: (work) => this.#atEnd.push(work),
    }
    sessionOpened(this.#owner)
  }

  get recording(): Recording | undefined {
    return this.local === 'tape' || this.closed ? undefined : this.#recording
  }

  /** Requests that a tape in place of the outside could not answer. */
  get divergences(): readonly DivergenceFacts[] {
    return this.#answers.divergences ?? []
  }

  draw<T>(kind: string, native: () => T, options?: DrawOptions<T>): T {
    const value = this.#answers.draw(kind, native, options?.isOutdated)
    const event: NewEvent<DrawEvent> = { type: 'draw', kind, value }
    this.#append(event, undefined, this.#drawnJson(event))
    return value
  }

  drawAhead<T>(kind: string, native: () => T, options?: DrawOptions<T>): T {
    const value = this.#answers.draw(kind, native, options?.isOutdated)
    const event: NewEvent<DrawEvent> = { type: 'draw', kind, value }
    const json = options?.isOwn?.(value) === true ? JSON.stringify(event) : this.#drawnJson(event)
    this.#appendAhead(event, undefined, json)
    return value
  }

  /** The masked JSON is reused on the tape: guards draw once per call, so this is hot. */
  #drawnJson(event: NewEvent<DrawEvent>): string | undefined {
    return typeof event.value === 'object' ? this.secrets.text(JSON.stringify(event)) : undefined
  }

  perform(action: Action): Operation {
    // A tool must start before its caller can change the arguments; a request has already copied
    // them.
    const isDeferred = action.event.type === 'request' && this.#isDeferred(action)
    const seq = this.#appendInitiation(action)
    if (isDurable(action) && !isDeferred) this.#barrier()
    const operation = new Operation(seq, action, this.#owner, this.local)
    if (isDeferred) this.#startWhenDurable(operation)
    else outsideRuns(() => this.#answers.start(operation))
    return operation
  }

  /** True if waiting for the disk would delay other runs. */
  #isDeferred({ durable }: Action): boolean {
    return (
      durable === 'deferrable' && !this.writer.isAlone && !this.closed && this.#answers === outside
    )
  }

  /** An operation that was aborted in the meantime is not started; the tape has it without an answer. */
  #startWhenDurable(operation: Operation): void {
    this.writer.whenDurable((failure) => {
      if (operation.closed) return
      const { event } = operation.action
      if (failure === undefined)
        operation.inContext(() => outsideRuns(() => this.#answers.start(operation)))
      else operation.complete(errorAnswer(hasSingleAnswer(event), failure), EMPTY, failure)
    })
  }

  performSync(call: SyncCall): Delivery {
    const seq = this.#appendInitiation(call)
    if (call.durable === true) this.#barrier()
    return this.answerSync(seq, call)
  }

  /** Executes a call that is already on the tape, and returns its answer. */
  answerSync(op: number, call: SyncCall): Delivery {
    const { event, body = EMPTY, native } = outsideRuns(() => this.#answers.run(call, op))
    this.#appendAnswer(call, event, op, body)
    return { event, body, native }
  }

  output(stream: OutputEvent['stream'], bytes: Uint8Array): void {
    this.#append({ type: 'output', stream }, bytes)
  }

  /**
   * Everything before the write is synced before it is sent. The write itself is synced only if it
   * is a request to a server: after a crash, the tape must show that the request may have had its
   * effect. Otherwise a program that pipes a file into a child would wait for the disk at every
   * piece. Chunks of a stream that the run returns are written here too, and need no sync, like
   * stdout.
   */
  write(operation: Operation, bytes: Uint8Array, as?: BodyForm): void {
    const isSynced = isDurable(operation.action) && this.local === 'live'
    if (this.#isUnsynced && isSynced) this.#barrier()
    const wasUnsynced = this.#isUnsynced
    const site = callSite()
    const event: NewEvent<WriteEvent> = {
      type: 'write',
      op: operation.id,
      ...(as !== undefined && { as }),
      ...(site !== undefined && { site }),
    }
    const masked = this.#mask.body(event, bytes)
    const seq = this.#appendMasked(this.#withScopes(event), masked)
    if (isSynced && startsServerRequest(bytes)) this.#barrier()
    else this.#isUnsynced = wasUnsynced
    this.#answers.wrote?.(operation, masked, seq)
  }

  commit(): void {
    if (this.#isUnsynced && this.local === 'live') this.#barrier()
  }

  note(note: Omit<NewEvent<NoteEvent>, 'type'>, body?: Uint8Array): void {
    if (note.kind === 'boundary') {
      const key = `${note.name} ${note.site}`
      const known = this.#noted.get(key)
      if (known !== undefined) {
        known.again++
        return
      }
      this.#noted.set(key, { note, again: 0 })
    }
    this.#append({ type: 'note', ...note }, body)
  }

  attach(name: string, body: Uint8Array, isDurable = true): number {
    if (this.closed || this.local === 'tape') return -1
    const seq = this.#append({ type: 'note', kind: 'attachment', name }, body)
    if (isDurable) this.#barrier()
    return seq
  }

  proceed(): void {
    this.#answers.proceed?.()
  }

  completed(operation: Operation, event: NewDelivery, body: Uint8Array, native: unknown): void {
    const stamp = operation.action.stamp?.()
    this.#queue.push({ operation, event: stamp ? { ...event, ...stamp } : event, body, native })
    this.#gate.request()
  }

  forget(): void {
    // Parts of a closed operation are dropped in #takeTurn.
  }

  refreshed(operation: Operation): void {
    for (let at = this.#queue.length - 1; at >= 0; at -= 1) {
      if (this.#queue[at]?.operation === operation) this.#queue.splice(at, 1)
    }
    this.#answers.refreshed?.(operation)
  }

  /** Ends the run: writes the last event and the seal. Later calls are no longer recorded. */
  finish(end: RunEnd): void {
    if (this.closed) return
    this.#end(end)
    this.writer.seal({ privateKey: this.#signingKey })
  }

  /** Like `finish`, but other runs do not wait for the disk. Resolves when the tape is sealed. */
  async finishLater(end: RunEnd): Promise<void> {
    if (this.closed || this.writer.isAlone) return this.finish(end)
    this.#end(end)
    await new Promise<void>((resolve, reject) =>
      this.writer.sealLater({ privateKey: this.#signingKey }, (failure) =>
        failure === undefined ? resolve() : reject(failure),
      ),
    )
  }

  /** The end is written together with the seal. */
  #end({ body, ...fields }: RunEnd): void {
    // A boundary is noted at its first use, so that a killed run has the note. It is counted here.
    for (const { note, again } of this.#noted.values())
      if (again > 0) this.#append({ type: 'note', ...note, count: again })
    this.#appendAhead({ type: 'end', ...this.#mask.members(fields) }, body)
    this.#close()
  }

  /** Stops recording without an end: the tape stays truncated. */
  close(): void {
    if (this.closed) return
    try {
      this.writer.flush()
    } catch {
      // The file stays unchanged.
    }
    this.#close()
  }

  #close(): void {
    this.closed = true
    for (const work of this.#atEnd.splice(0)) outsideRuns(work)
    sessionClosed(this.#owner, this.remote)
  }

  #appendAnswer(
    { event: origin }: { event: Origin },
    event: NewDelivery,
    op: number,
    body: Uint8Array,
    isAhead = false,
  ): void {
    // With a spread, V8 would create a hidden class for each answer with a duration.
    const answer = Object.assign({}, this.#mask.members(event), { op })
    const masked = this.#mask.body(answer, body, origin)
    if (masked !== body && origin.type === 'call' && origin.kind === 'file')
      Object.assign(answer, { proof: this.#mask.proofOf(body) ?? '' })
    if (isAhead) this.#bufferMasked(answer, masked)
    else this.#appendMasked(answer, masked)
  }

  /** Writes nothing after the end of the run: a connection that outlives the run continues unrecorded. */
  #append(event: NewEvent, body?: Uint8Array, json?: string): number {
    if (this.closed) return -1
    return this.#appendMasked(event, body && this.#mask.body(event, body), json)
  }

  #appendInitiation({ event, body, before }: Pick<Action, 'event' | 'body' | 'before'>): number {
    const file = this.local === 'live' && !this.closed ? before?.() : undefined
    if (file === undefined) return this.#append(this.#withScopes(event), body)
    const masked = body && this.#mask.body(event, body)
    const proof = body && masked !== body ? this.#mask.proofOf(body) : undefined
    const known = { ...file, ...(proof && { proof }) }
    return this.#appendMasked(this.#withScopes({ ...event, file: known }), masked)
  }

  #appendMasked(event: NewEvent, masked?: Uint8Array, json?: string): number {
    if (this.closed) return -1
    this.#isUnsynced = true
    const written = this.#prepared(event, json)
    const seq = this.writer.append(written, masked, json) + this.#shift
    this.#mask.written(event, seq)
    return seq
  }

  /**
   * Writes the notes that belong to an event. Fingerprints are added to the next event whose `json`
   * is not given.
   */
  #prepared(event: NewEvent, json: string | undefined): NewEvent {
    for (const { note, body } of this.#mask.notesBefore(event)) this.writer.buffer(note, body)
    return json === undefined ? this.#mask.fingerprinted(event) : event
  }

  /** The event may stay in memory until the next one. */
  #appendAhead(event: NewEvent, body?: Uint8Array, json?: string): void {
    this.#bufferMasked(event, body && this.#mask.body(event, body), json)
  }

  #bufferMasked(event: NewEvent, masked?: Uint8Array, json?: string): void {
    if (this.closed) return
    this.#isUnsynced = true
    const written = this.#prepared(event, json)
    this.#mask.written(event, this.writer.buffer(written, masked, json) + this.#shift)
  }

  #barrier(): void {
    if (this.closed) return
    this.writer.barrier()
    this.#isUnsynced = false
  }

  /**
   * Writes the next delivery, and returns it; the result of an asynchronous durable call only once
   * it is synced. Responses, parts from processes and results of synchronous calls are synced when
   * something next leaves. If a delivery cannot be written, the agent gets the error in its place.
   */
  #takeTurn(): Turn | undefined {
    if (this.#isPaused) return undefined
    if (this.#turnOnDisk !== undefined) {
      const turn = this.#turnOnDisk
      this.#turnOnDisk = undefined
      return turn
    }
    let next = this.#queue.shift()
    while (next?.operation.closed === true) next = this.#queue.shift()
    if (next === undefined) return undefined
    const { operation } = next
    const deliveries = this.#joinedTo(next)
    let turn: Turn = { operation, deliveries }
    try {
      const last = deliveries.length - 1
      for (const [index, { event, body }] of deliveries.entries())
        this.#appendAnswer(operation.action, event, operation.id, body, index < last)
      if (next.event.type === 'result' && isDurable(operation.action)) {
        if (this.#isDeferred(operation.action)) return this.#pauseFor(turn)
        this.#barrier()
      }
    } catch (failure) {
      turn = failedTurn(turn, failure as Error)
    }
    for (const { event } of turn.deliveries) this.#answers.delivering?.(operation, event)
    return turn
  }

  /**
   * The next part of an answer and, if the action allows it, the following parts that have already
   * arrived. They are written together and delivered in the same turn.
   */
  #joinedTo(first: Completed): readonly Completed[] {
    const { operation } = first
    if (operation.action.joins !== true) return [first]
    const parts = [withJoined(first, undefined)]
    while (this.#queue[0]?.operation === operation)
      parts.push(withJoined(this.#queue.shift() as Completed, true))
    return parts
  }

  /**
   * Delivers the turn when it is on disk. Until then nothing else is delivered, because the position
   * of this turn on the tape is fixed.
   */
  #pauseFor(turn: Turn): undefined {
    this.writer.whenDurable((failure) => {
      this.#isPaused = false
      this.#turnOnDisk = failure === undefined ? turn : failedTurn(turn, failure)
      this.#gate.request()
    })
    this.#isPaused = this.#turnOnDisk === undefined
    return undefined
  }
}

/**
 * The turn of an answer that could not be written. Timers and local work have no error to report:
 * they reach the agent, which gets the error from whatever it does next.
 */
function failedTurn(turn: Turn, failure: Error): Turn {
  const { operation, deliveries } = turn
  const { type } = operation.action.event
  if (type === 'timer' || type === 'work') return turn
  const [first] = deliveries
  const event = errorAnswer(first?.event.type === 'result', failure)
  return { operation, deliveries: [{ event, body: EMPTY, native: failure }] }
}

/** A part from a tape may have been joined to another one in the recording. */
function withJoined(part: Completed, joined: true | undefined): Completed {
  const { event } = part
  if (event.type !== 'deliver' || event.joined === joined) return part
  const { joined: _, ...rest } = event
  return { ...part, event: joined ? { ...rest, joined } : rest }
}

const isDurable = ({ durable }: Action): boolean => Boolean(durable)

/** True if a write begins a JSON-RPC request, as sent by clients of MCP servers. */
function startsServerRequest(bytes: Uint8Array): boolean {
  const [first] = bytes
  if (first !== OBJECT && first !== ARRAY) return false
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return head.includes('"jsonrpc"') && head.includes('"method"') && head.includes('"id"')
}

const OBJECT = 0x7b
const ARRAY = 0x5b
