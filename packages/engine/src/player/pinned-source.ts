import {
  decodeBody,
  encodeBody,
  type InitiationEvent,
  type NewEvent,
  type RequestEvent,
  type SocketEvent,
  type Tape,
} from '@retake/tape/format'
import {
  type Answer,
  type AnswerPart,
  type AnswerSource,
  endsAnswer,
  isJoined,
  isPart,
  outside,
  recordedPart,
} from '../kernel/source.js'
import { AnswerQueue, type WaitingAnswer } from '../kernel/answer-queue.js'
import { AmbientInputs, type AmbientSource, RerunInputs } from './ambient-inputs.js'
import { DrawnValues, seededDraws } from '../kernel/draws.js'
import { isStepEvent, TapeTimeline } from '../kernel/timeline.js'
import { lostAnswer, SILENCE_MS } from '../kernel/stand-in-answer.js'
import { viewOf } from './find-doubts.js'
import type { RetakeError } from '../errors.js'
import { natives } from '../kernel/natives.js'
import { outsideRuns } from '../kernel/scope.js'
import {
  type Delivery,
  EMPTY,
  type IsOutdated,
  type NewDelivery,
  type Operation,
  type Session,
  type SyncCall,
} from '../kernel/session.js'
import { answersAnyMessage } from './effect-answers.js'
import { type FreeRequest, FreeSteps, type StepEvent, answerUnderId } from './free-answers.js'
import { LateAnswers } from '../kernel/hand-over.js'
import type { MovedRoot } from './moved-tape.js'
import type { ChildPlan, FreeAnswer, PinnedPlan, PinnedReport, Simulator } from './plan.js'
import { planChild } from './make-plan.js'
import { moduleLoadInFlight } from '../boundaries/module-loads.js'
import type { ChildTask } from '../kernel/session.js'
import { childReportPath, childTapePath } from '../runs/runs-folder.js'
import { PinnedServers } from './pinned-servers.js'
import type { Step } from '@retake/tape'
import {
  isUpgrade,
  type RecordedStep,
  recordedSteps,
  serversIn,
  isStoredConversation,
  PinnedMatcher,
  type PinnedMatcherOptions,
  whyNotSearchable,
} from './pinned-matcher.js'
import type { RecordSession } from '../kernel/record-session.js'
import type { Tail } from '../kernel/player.js'
import { withToolResults } from './tool-results.js'

/** The arguments of a call are a list, so any other value is wrapped in one. */
const argumentsOf = (request: unknown): Uint8Array =>
  encodeBody(Array.isArray(request) ? request : [request]).body

interface QueuedPart extends AnswerPart {
  /** Position among all waiting parts: the number of the recorded part it replaces. */
  readonly order: number
  /** For processes: bytes that the agent had written when this part came. */
  readonly written?: number
}

/** Parts of one answer; undefined until they are known. */
class Waiting implements WaitingAnswer {
  constructor(
    readonly operation: Operation,
    public parts: readonly QueuedPart[] | undefined,
    readonly orderUnlessMade = 0,
  ) {}

  get isMade(): boolean {
    return this.parts !== undefined
  }

  get order(): number {
    return this.parts?.[0]?.order ?? this.orderUnlessMade
  }

  /** True if the agent has written as much as it had written when this part came in the recording. */
  get isDue(): boolean {
    const written = this.parts?.[0]?.written
    if (written === undefined) return true
    return (this.operation.action.stamp?.().written ?? written) >= written
  }
}

/**
 * Hands out answers in the recorded order or another one, without the recorded delays. An answer
 * that is live or still being made delays those that came later in the recording, so that the order
 * does not depend on how long it takes. Not promised: that a live answer comes after the recorded
 * ones before it.
 */
class PinnedQueue extends AnswerQueue<Waiting> {
  /** `chooseDue` returns undefined if all have to wait for a live answer. */
  constructor(readonly chooseDue: (due: readonly Waiting[]) => Waiting | undefined) {
    super(() => !moduleLoadInFlight())
  }

  give(operation: Operation, parts: readonly QueuedPart[]): void {
    if (parts.length > 0) this.add(new Waiting(operation, parts))
  }

  /** Adds an answer that is still being made. An empty one means that the answer comes from elsewhere. */
  giveLater(operation: Operation, order: number, making: Promise<readonly QueuedPart[]>): void {
    const waiting = new Waiting(operation, undefined, order)
    this.add(waiting)
    const made = (parts: readonly QueuedPart[]): void => {
      waiting.parts = parts
      this.request()
    }
    making.then(made, () => made([]))
  }

  /** Drops the rest of an answer, because the agent uses its connection for something else. */
  drop(operation: Operation): void {
    this.waiting = this.waiting.filter((one) => one.operation !== operation)
  }

  protected isOver({ parts }: Waiting): boolean {
    return parts?.length === 0
  }

  protected choose(): Waiting | undefined {
    const due = this.waiting.filter(({ isDue }) => isDue)
    return due.length === 0 ? undefined : this.chooseDue(due)
  }

  protected complete(next: Waiting): void {
    const { operation, parts = [] } = next
    const after = parts.findIndex(({ event }, index) => index > 0 && !isJoined(event))
    const count = after < 0 ? parts.length : after
    next.parts = parts.slice(count)
    for (const { event, body } of parts.slice(0, count)) operation.complete(event, body)
  }

  /** Lets a process answer even if the agent writes less than in the recording, as changed code may do. */
  protected patience(): NodeJS.Timeout | undefined {
    if (this.waiting.length === 0) return undefined
    const waitsForLive = this.waiting.some(({ isDue }) => isDue)
    return natives.setTimeout(
      () => {
        const first = earliest(this.waiting.filter(({ operation }) => !operation.closed))
        if (first !== undefined) this.handOut(first)
      },
      waitsForLive ? LIVE_PATIENCE_MS : PATIENCE_MS,
    )
  }
}

const PATIENCE_MS = 200
/** After this time, a live answer no longer delays others. */
const LIVE_PATIENCE_MS = 30_000

const earliest = (waiting: readonly Waiting[]): Waiting | undefined =>
  waiting.reduce<Waiting | undefined>(
    (first, one) => (first === undefined || one.order < first.order ? one : first),
    undefined,
  )

type Target = Pick<SocketEvent, 'kind' | 'host' | 'port' | 'path'>

/**
 * The connections of a fork. Connections to hosts of recorded requests are opened from the tape,
 * with a real connection behind them only during a live request. All others are real, because their
 * bytes are not steps.
 */
class PinnedConnections {
  readonly open = new Map<number, Operation>()
  /** By address, the delivery of `connect`. */
  readonly #connects = new Map<string, number>()
  /** Addresses to which the recorded run sent non-HTTP bytes, for example to a database. */
  readonly #opaque = new Set<string>()

  constructor(
    readonly tape: Tape,
    readonly recorded: TapeTimeline,
    steps: Iterable<RecordedStep>,
  ) {
    const requested = new Set<string>()
    const upgraded = new Set<string>()
    for (const { event } of steps) {
      if (event.type !== 'request') continue
      const key = this.#keyFor(event)
      if (key !== undefined) (isUpgrade(event) ? upgraded : requested).add(key)
    }
    for (const { event, parts } of recorded.operations) {
      if (event.type !== 'socket') continue
      const key = keyOf(event)
      const connect = parts.find((seq) => isPart(recorded.delivery(seq), 'connect'))
      if (connect !== undefined && !requested.has(key) && !upgraded.has(key)) this.#opaque.add(key)
      if (connect !== undefined && requested.has(key) && !upgraded.has(key))
        this.#connects.set(key, connect)
    }
  }

  /** The address of the connection that a request used; the connections of `fetch` are invisible to the agent. */
  #keyFor({ socket, seam, url }: RequestEvent): string | undefined {
    if (seam === 'http2') {
      const { protocol, hostname: host, port } = new URL(url)
      const isTls = protocol === 'https:'
      return keyOf({ kind: isTls ? 'tls' : 'tcp', host, port: Number(port || (isTls ? 443 : 80)) })
    }
    const event = socket === undefined ? undefined : this.tape.event(socket)
    return event?.type === 'socket' ? keyOf(event) : undefined
  }

  /** The recorded delivery that opens a connection to this address; undefined if it must be real. */
  connectFor(target: Target): number | undefined {
    return this.#connects.get(keyOf(target))
  }

  /** True if connections to this target do not use HTTP. */
  isOpaque(target: Target): boolean {
    return this.#opaque.has(keyOf(target))
  }

  /** Parts of an answer. Includes the end of its connection only if nothing else completes the answer. */
  answerParts(parts: readonly number[]): readonly number[] {
    const first = parts.find((seq) => isPart(this.recorded.delivery(seq), 'chunk'))
    if (first === undefined) return parts
    const [head = ''] = Buffer.from(this.tape.body(first)).toString('latin1').split('\r\n\r\n')
    const saysLength = /^(content-length|transfer-encoding):|^HTTP\/1\.\d (204|304)/im.test(head)
    if (!saysLength || /^connection:\s*close/im.test(head)) return parts
    return parts.filter((seq) => {
      const event = this.recorded.delivery(seq)
      return !isPart(event, 'end') && !isPart(event, 'close')
    })
  }
}

const keyOf = ({ kind, host, port, path }: Target): string => `${kind} ${host} ${port} ${path}`

export interface PinnedSourceOptions {
  /**
   * `judged`: pinned steps get their answers even if their requests differ. `identical`: only
   * identical requests get the recorded answer; everything in progress is handed over.
   */
  readonly match: PinnedMatcherOptions['match']
  /** The first event that is not served. */
  readonly at: number
  readonly owner: Pick<Session, 'secrets' | 'overlay'>
  /** Takes over operations that are not steps. */
  readonly handOver: Tail
  readonly simulator?: Simulator | undefined
  /** Called if a free step cannot be answered as planned, so that the outcome of the fork means nothing. */
  readonly onBroken: (error: RetakeError) => void
  readonly branch: string
  /** Set if the program is now in another folder. */
  readonly root?: MovedRoot | undefined
}

interface PendingRequest extends FreeRequest {
  /** Event of this run that starts it. */
  readonly seq: number
  /** The operation through which the answer reaches the agent: itself, or its connection. */
  readonly channel: Operation
  /** Sends the request, optionally with another body. */
  readonly send: (body: Uint8Array | undefined) => void
}

/**
 * Answers a blame fork or a rerun that has left its tape. Pinned steps get their recorded
 * answers, free ones what the plan says. Timers and operations that are not steps are real; so are
 * files, clocks and random values, unless the plan pins them. Not promised for judged matches: that
 * the request of a pinned step equals the recorded one. If it does not, the answer is forced, and
 * the report says so.
 */
export class PinnedSource implements AnswerSource, Tail {
  readonly source = this
  readonly local = 'live'
  readonly remote = 'live'
  #live = 0
  readonly #sent: number[] = []
  readonly #sampled: string[] = []
  readonly #assumed: string[] = []
  readonly #steps: ReadonlyMap<number, RecordedStep>
  readonly #matcher: PinnedMatcher
  readonly #recorded: TapeTimeline
  readonly #free: FreeSteps
  readonly #connections: PinnedConnections
  readonly #queue: PinnedQueue
  /** Live steps without a complete answer, by the operation that delivers the answer. */
  readonly #underWay = new Map<Operation, RecordedStep>()
  readonly #lateAnswers = new LateAnswers()
  readonly #drawn = new DrawnValues()
  readonly #pinned: ReadonlySet<string>
  readonly #servers: ReadonlySet<number>
  readonly #served: PinnedServers
  readonly #ambient: AmbientSource | undefined
  /** Deliveries of timers on the tape. */
  readonly #firedTimers: readonly number[]
  /** Hosts and tools on which this run had an effect that the recorded run did not have. */
  readonly #changedHosts = new Set<string>()
  readonly #stale: string[] = []
  /** True if no step is free. Operations that are not on the tape are then refused. */
  readonly #isAllPinned: boolean
  /** By event of this run, processes that are forked, too. */
  readonly #children = new Map<number, ChildPlan>()
  /** Recorded process id of the pinned process that was started last. */
  #pid: { readonly value: unknown } | undefined

  constructor(
    readonly tape: Tape,
    readonly plan: PinnedPlan,
    readonly options: PinnedSourceOptions,
  ) {
    const { at, owner, simulator, onBroken } = options
    const { recordedSteps: viewed } = viewOf(tape)
    this.#pinned = new Set(plan.pinned)
    const random = seededDraws(`order ${plan.seed}`)
    this.#queue = new PinnedQueue((due) => {
      // Any order is possible outside, except that parts of one answer stay in order.
      if (plan.ambient?.order === false) return due[Math.floor(random() * due.length)]
      const next = earliest(due)
      return next && this.#comesAfterLive(next.order) ? undefined : next
    })
    this.#servers = serversIn(tape, viewed)
    const recorded = new TapeTimeline(tape, 1)
    for (const { kind, value } of recorded.draws) this.#drawn.add(kind, value)
    this.#recorded = recorded
    const steps = recordedSteps(tape, viewed, recorded)
    this.#steps = new Map(steps.map((step) => [step.seq, step]))
    this.#connections = new PinnedConnections(tape, recorded, steps)
    this.#matcher = new PinnedMatcher(tape, steps, {
      at,
      drawn: this.#drawn,
      match: options.match,
      ignoresSystem: plan.ignoresSystem === true,
      owner,
      isPinned: (step) => this.#isPinned(step),
    })
    this.#isAllPinned =
      plan.ambient !== undefined &&
      plan.isOpen !== true &&
      viewed.every(
        (step) =>
          this.#pinned.has(step.label) ||
          this.#childOf(step) !== undefined ||
          whyNotSearchable(tape, step, this.#servers) !== undefined,
      )
    const isAllPinned = this.#isAllPinned
    this.#free = new FreeSteps({
      tape,
      plan,
      matcher: this.#matcher,
      simulator,
      onBroken,
      isAllPinned,
    })
    this.#served = new PinnedServers(tape, viewed, {
      owner,
      isPinned: ({ label }) => this.#pinned.has(label),
      planned: ({ label }) => plannedMessage(plan.answers?.[label]),
      blocks: (tool) => this.#free.blocks('tool') && this.#free.blocks(tool),
      onMatched: (step, seq, isSame) =>
        this.#matcher.noteServed(step, seq, !isSame && this.#pinned.has(step.label)),
      fitsAny: (step, tool) => this.#assumesMessage(step, tool),
      onLive: () => (this.#live += 1),
      onRefused: (what) => this.#free.breakAt(what),
      give: (operation, parts) => this.#queue.give(operation, parts),
    })
    this.#ambient = plan.ambient
      ? new AmbientInputs(tape, plan.ambient, recorded, isAllPinned)
      : plan.draws === 'by turn'
        ? new RerunInputs(tape, at)
        : undefined
    this.#firedTimers = recorded.operations
      .filter(({ event }) => event.type === 'timer')
      .flatMap(({ parts }) => parts)
  }

  get report(): PinnedReport {
    const { broken } = this.#free
    const { report } = this.#matcher
    return {
      ...report,
      live: this.#live,
      sent: this.#sent,
      sampled: this.#sampled,
      assumed: this.#assumed,
      stale: this.#stale,
      ...(broken && { broken }),
    }
  }

  draw<T>(kind: string, native: () => T, isOutdated?: IsOutdated<T>): T {
    const value =
      kind === 'ChildProcess.pid'
        ? this.#drawPid(native)
        : this.#ambient === undefined
          ? native()
          : this.#ambient.draw(kind, native, isOutdated)
    this.#drawn.add(kind, value)
    return value
  }

  start(operation: Operation): void {
    const { event, body } = operation.action
    this.#matcher.causes.started(operation.id, event)
    if (event.type === 'socket') this.#connect(operation, event)
    else if (!isStepEvent(event)) this.#startOther(operation)
    else if (event.type === 'request' && event.socket !== undefined)
      this.#requestOn(this.#connections.open.get(event.socket), operation, event)
    else {
      const requested = this.#matcher.take({ seq: operation.id, event, body })
      const send = (edited?: Uint8Array): void => operation.action.start(operation, edited)
      const pending = { ...requested, seq: operation.id, channel: operation, send }
      const { decided } = operation.action
      const { recorded } = requested
      // If the guard decides differently now, the recorded answer does not apply.
      const isNew = decided === 'allow' ? recorded?.step.state === 'denied' : decided !== undefined
      if (!isNew) return this.#answer(pending)
      if (recorded !== undefined) this.#ambient?.follow?.(operation.id, recorded.parts)
      if (decided === 'deny') send(undefined)
      else this.#goLive(pending)
    }
  }

  run(call: SyncCall, op: number): Answer {
    const { event, body } = call
    if (op >= this.options.at) this.#matcher.causes.started(op, event)
    if (!isStepEvent(event)) {
      const [part] = this.#ambientAnswer(event, body) ?? []
      return part ?? outside.run(call, op)
    }
    const requested = this.#matcher.take({ seq: op, event, body })
    const { recorded } = requested
    if (recorded !== undefined) this.#matcher.answered(recorded)
    if (this.#addChild(op, recorded)) return outside.run(call, op)
    const [seq] = recorded?.parts ?? []
    if (recorded !== undefined && this.#isPinned(recorded) && seq !== undefined)
      return this.#part(seq)
    const [part] = this.#free.planned(requested) ?? this.#free.simulatedNow(requested) ?? []
    if (part !== undefined) return part
    const [other] = this.#free.fromRecordings(requested) ?? []
    if (other !== undefined) return other
    if (this.#free.isBlocked(requested)) {
      const [same] = (this.#matcher.sameCall(requested) ?? this.#assume(requested))?.parts ?? []
      if (same === undefined) throw this.#free.block(requested)
      return this.#part(same)
    }
    this.#live += 1
    return outside.run(call, op)
  }

  wrote(operation: Operation, bytes: Uint8Array, seq: number): void {
    this.#served.wrote(operation, bytes, seq)
    this.#queue.request()
  }

  proceed(): void {
    this.#served.proceed()
    this.#queue.request()
  }

  delivering(operation: Operation, event: NewDelivery): void {
    // On a connection, the first part completes an answer.
    const started = operation.action.event
    const isPipeEnd = started.type === 'call' && isPart(event, 'end')
    const isComplete = started.type === 'socket' || (endsAnswer(event) && !isPipeEnd)
    this.#matcher.delivered(operation, isComplete)
    this.#ambient?.delivering?.(operation.id)
    if (isComplete) this.#underWay.delete(operation)
    this.#queue.delivering(operation)
  }

  prepare(operation: Operation, recorder: RecordSession): () => void {
    const takeOver = this.#isByContent ? undefined : this.#prepareStep(operation)
    return takeOver ?? this.options.handOver.prepare(operation, recorder)
  }

  answerSync(op: number, call: SyncCall, recorder: RecordSession): Delivery {
    return this.#isByContent
      ? this.options.handOver.answerSync(op, call, recorder)
      : recorder.answerSync(op, call)
  }

  get #isByContent(): boolean {
    return this.options.match === 'identical'
  }

  /**
   * Takes over an operation that was served until now. Undefined unless it is a step, or the
   * connection of one. Steps before the first free one are pinned.
   */
  #prepareStep(operation: Operation): (() => void) | undefined {
    const { action, id } = operation
    const { event } = action
    const isConnection = event.type === 'socket'
    if (isConnection) {
      this.#connections.open.set(operation.id, operation)
      if (this.#connections.connectFor(event) === undefined) {
        operation.isConfined = this.#isConfined(event)
        return undefined
      }
      operation.source = 'tape'
    } else if (!isStepEvent(event) || this.#servers.has(id)) return undefined
    const recorded = this.#steps.get((isConnection ? this.#matcher.causes.requestOn(id) : id) ?? -1)
    if (recorded === undefined) {
      // The connection was being opened when the tape was left.
      const { parts = [] } = this.#recorded.byStart.get(id) ?? {}
      const opening = this.#queued(parts.filter((seq) => seq >= this.options.at)).filter(
        ({ event: part }) => isPart(part, 'connect') || isPart(part, 'error'),
      )
      return () => this.#queue.give(operation, opening)
    }
    if (recorded.seq !== this.options.at - 1) return () => this.#pin(operation, recorded)
    // Sends the recorded request, unless the plan has another one.
    const { event: requested, seq } = recorded
    const send = (request: Uint8Array | undefined): void => {
      operation.source = 'live'
      action.start(operation, request)
    }
    return () => {
      const body = this.tape.body(seq)
      this.#answer({ event: requested, body, recorded, seq, channel: operation, send })
    }
  }

  #startOther(operation: Operation): void {
    const { event, body } = operation.action
    const parts = this.#ambientAnswer(event, body, operation.id)
    const isThread = event.type === 'call' && event.kind === 'worker'
    if (parts === undefined && isThread && this.#isAllPinned)
      return void this.#free.breakAt(`The thread ${event.title}`)
    if (parts === undefined) return outside.start(operation)
    operation.source = 'tape'
    this.#queue.give(operation, parts)
  }

  /** The recorded answer to a call that is not a step; undefined if the call is live. */
  #ambientAnswer(
    event: NewEvent<InitiationEvent>,
    body: Uint8Array = EMPTY,
    op?: number,
  ): QueuedPart[] | undefined {
    const { owner } = this.options
    return this.#ambient
      ?.answerTo(event, owner.secrets.unredacted.body(event, body), owner, op)
      ?.map((part) => ({
        ...this.#part(part.seq),
        order: part.seq,
        ...(part.type === 'deliver' && part.written !== undefined && { written: part.written }),
      }))
  }

  // ── answers ──────────────────────────────────────────────────────────────

  #answer(pending: PendingRequest): void {
    const { recorded, channel } = pending
    if (recorded !== undefined) this.#ambient?.follow?.(channel.id, recorded.parts)
    if (recorded !== undefined && this.#addChild(channel.id, recorded)) {
      this.#underWay.set(channel, recorded)
      outsideRuns(() => pending.send(undefined))
      return
    }
    if (recorded !== undefined && this.#isPinned(recorded) && !this.#isOutdated(recorded))
      return this.#givePinned(pending, recorded)
    // One answer cannot replace a server, which receives many requests.
    if (recorded !== undefined && this.#servers.has(recorded.seq)) {
      const isServed = this.plan.ambient !== undefined && this.#served.start(channel, recorded.seq)
      if (!isServed) this.#goLive(pending)
      else this.#pid = this.#pidOf(recorded)
      return
    }
    const planned = this.#free.planned(pending)
    if (planned !== undefined) return this.#give(pending, planned)
    if (this.options.simulator === undefined) return this.#runOrServe(pending)
    channel.source = 'simulated'
    const making = this.#free.simulated(pending).then((parts) => {
      if (parts === undefined) natives.setImmediate(() => this.#runOrServe(pending))
      return withOrder(parts ?? [], recorded)
    })
    this.#queue.giveLater(channel, recorded?.parts[0] ?? LAST, making)
  }

  #givePinned(pending: PendingRequest, recorded: RecordedStep): void {
    const { channel, event, body } = pending
    if (event.type === 'call' && event.kind === 'process') this.#pid = this.#pidOf(recorded)
    const other = event.type === 'request' && answerUnderId(this.tape, recorded.step, body)
    if (other) this.#give(pending, other)
    else this.#pin(channel, recorded)
  }

  #pin(channel: Operation, recorded: RecordedStep): void {
    channel.source = 'tape'
    const { seq } = recorded
    const { at } = this.options
    const isHttp1 = channel.action.event.type === 'socket'
    const answer = isHttp1 ? this.#connections.answerParts(recorded.parts) : recorded.parts
    const parts = this.#queued(seq < at ? answer.filter((part) => part >= at) : answer)
    const last = recorded.parts.at(-1) ?? seq
    const mayRaceTimer = this.#firedTimers.some((fired) => fired > seq && fired < last)
    if (this.#isByContent && mayRaceTimer) {
      // Answers after the recorded time, so that the race has the same winner.
      const requestedAt = this.tape.event(seq).at
      const dueMs = ({ order }: QueuedPart): number => this.tape.event(order).at - requestedAt
      const late = parts.map((part) => ({ ...part, dueMs: dueMs(part) }))
      return this.#lateAnswers.add(channel, late)
    }
    this.#queue.give(channel, parts)
    if (recorded.step.state !== 'aborted') return
    // The recorded run abandoned this request, and needs time to abandon it again.
    const giveLost = (): void => {
      for (const { event, body } of lostAnswer(channel.action.event)) channel.complete(event, body)
    }
    natives.setTimeout(giveLost, SILENCE_MS).unref()
  }

  #queued(parts: readonly number[]): QueuedPart[] {
    return parts.map((seq) => {
      const event = this.#recorded.delivery(seq)
      const isProcess = this.#steps.get(event.op)?.event.type === 'call'
      const written = isProcess && event.type === 'deliver' ? event.written : undefined
      return { ...this.#part(seq), order: seq, ...(written !== undefined && { written }) }
    })
  }

  #part(seq: number): AnswerPart {
    return recordedPart(this.tape, this.#recorded.delivery(seq), this.options.owner.secrets)
  }

  #give({ channel, recorded }: PendingRequest, parts: readonly AnswerPart[]): void {
    channel.source = 'edited'
    this.#queue.give(channel, withOrder(parts, recorded))
  }

  /** Answers a free step that must not run from recordings of the same call; runs any other step. */
  #runOrServe(pending: PendingRequest): void {
    const other = this.#free.fromRecordings(pending)
    if (other !== undefined) return this.#give(pending, other)
    if (!this.#free.isBlocked(pending)) return this.#sampleOrGoLive(pending)
    const same = this.#matcher.sameCall(pending) ?? this.#assume(pending)
    if (same !== undefined) return this.#givePinned(pending, same)
    // Until the fork ends, nothing more may be sent.
    pending.channel.source = 'simulated'
    this.#free.block(pending)
  }

  /** A recorded step whose answer is assumed to fit a call that may not run. */
  #assume(request: FreeRequest): RecordedStep | undefined {
    if (this.#isByContent) return undefined
    const recorded = this.#free.assumedStep(request)
    if (recorded !== undefined) this.#assumed.push(recorded.label)
    return recorded
  }

  /** Uses samples only for the agent's own request: they do not answer a request that the plan changes. */
  #sampleOrGoLive(pending: PendingRequest): void {
    const { recorded } = pending
    const isUnchanged = this.#requestInstead(pending) === undefined
    const sample = isUnchanged ? this.#free.fromSamples(pending) : undefined
    if (sample === undefined || recorded === undefined) {
      if (isUnchanged) this.#sent.push(pending.seq)
      return this.#goLive(pending)
    }
    this.#sampled.push(recorded.label)
    this.#give(pending, sample)
  }

  #goLive(pending: PendingRequest): void {
    const { recorded, channel, send } = pending
    if (channel.closed) return
    if (this.#free.isBlocked(pending)) {
      this.#free.block(pending)
      return
    }
    this.#live += 1
    if (recorded !== undefined) this.#underWay.set(channel, recorded)
    if (this.#free.hasEffects(pending)) this.#changedHosts.add(hostOf(pending.event))
    const request = this.#requestInstead(pending)
    outsideRuns(() => send(request))
  }

  /** The planned or recorded body that replaces the agent's; undefined if the agent's is sent unchanged. */
  #requestInstead({ event, body, recorded }: FreeRequest): Uint8Array | undefined {
    const other = recorded && this.#otherRequest(recorded)
    const { results = [] } = this.plan
    if (event.type !== 'request' || results.length === 0) return other
    const changed = withToolResults(other ?? body, results)
    return changed === undefined ? other : this.#revealed(changed)
  }

  #otherRequest({ event, label, seq }: RecordedStep): Uint8Array | undefined {
    const planned = this.plan.requests?.[label]
    if (planned !== undefined)
      return event.type === 'call'
        ? argumentsOf(planned)
        : this.#revealed(Buffer.from(JSON.stringify(planned)))
    if (this.plan.mode !== 'frozen') return undefined
    const body = this.tape.body(seq)
    if (event.type === 'call')
      return event.kind === 'tool' ? argumentsOf(decodeBody(event.as ?? 'json', body)) : undefined
    return body.length === 0 ? undefined : this.#revealed(body)
  }

  /** The tape has placeholders where the agent sent secrets. */
  #revealed(body: Uint8Array): Uint8Array {
    const text = Buffer.from(body).toString('latin1')
    const revealed = this.options.owner.secrets.reveal(text)
    return revealed === text ? body : Buffer.from(revealed, 'latin1')
  }

  /** True if a part at this position came after an answer that is now live and has not arrived yet. */
  #comesAfterLive(order: number): boolean {
    for (const [operation, { parts }] of this.#underWay) {
      const last = parts.at(-1)
      if (operation.closed) this.#underWay.delete(operation)
      else if (last !== undefined && last < order) return true
    }
    return false
  }

  #isPinned({ label, step, seq }: RecordedStep): boolean {
    if (this.#servers.has(seq)) return false
    return this.#pinned.has(label) || (step.state === 'aborted' && !this.#isByContent)
  }

  /**
   * Notes that a served answer may be stale, because this run had a different effect on the same
   * host. True if it must not be served at all, because it continues a conversation that the
   * provider stores.
   */
  #isOutdated({ label, step, event, seq }: RecordedStep): boolean {
    if (this.#changedHosts.size === 0) return false
    const isChanged = this.#changedHosts.has(hostOf(event))
    if (step.kind === 'model') return isChanged && isStoredConversation(this.tape.body(seq))
    if (isChanged) this.#stale.push(label)
    return false
  }

  /** The same for a call of a tool of an MCP server on pipes. */
  #assumesMessage({ seq, label }: Step, tool: string): boolean {
    const step = viewOf(this.tape).recordedSteps.find((one) => one.seq === seq)
    const result = step?.mcp()?.result
    if (this.#isByContent || !answersAnyMessage(tool, result)) return false
    this.#assumed.push(label)
    return true
  }

  // ── connections ───────────────────────────────────────────────────────────

  #connect(operation: Operation, event: NewEvent<SocketEvent>): void {
    this.#connections.open.set(operation.id, operation)
    const connect = this.#connections.connectFor(event)
    if (connect === undefined) {
      if (this.#isConfined(event)) {
        this.#free.breakAt(`A connection to ${event.host ?? event.path}`)
        return
      }
      return outside.start(operation)
    }
    operation.source = 'tape'
    this.#queue.give(operation, [{ ...this.#part(connect), order: 0 }])
  }

  /** True if the plan forbids a real connection to a server that does not use HTTP. */
  #isConfined(event: NewEvent<SocketEvent>): boolean {
    const isBlocked = this.#isAllPinned || this.#connections.isOpaque(event)
    return isBlocked && this.#free.blocks('connection')
  }

  #requestOn(
    connection: Operation | undefined,
    operation: Operation,
    event: Extract<StepEvent, { type: 'request' }>,
  ): void {
    const requested = this.#matcher.take({
      seq: operation.id,
      event,
      body: operation.action.body,
    })
    if (connection === undefined) {
      if (this.#free.isBlocked(requested)) {
        this.#free.block(requested)
        return
      }
      this.#live += 1
      return outside.start(operation)
    }
    // The connection carries a new request, so its recorded end is dropped.
    this.#queue.drop(connection)
    let isWritten = false
    const send = (edited: Uint8Array | undefined): void => {
      connection.source = isWritten || edited !== undefined ? 'edited' : 'live'
      // Nothing was written yet, so the agent's bytes are sent unchanged.
      if (connection.source === 'live') return
      natives.setImmediate(() => {
        connection.source = 'live'
        outsideRuns(() => connection.action.start(connection, edited))
      })
    }
    this.#answer({ ...requested, seq: operation.id, channel: connection, send })
    isWritten = true
  }

  // ── processes ─────────────────────────────────────────────────────────────

  /** True if the process is forked, too, with the steps inside it pinned or free. */
  #addChild(op: number, recorded: RecordedStep | undefined): boolean {
    const child = recorded && this.#childOf(recorded)
    if (child !== undefined) this.#children.set(op, child)
    return child !== undefined
  }

  #childOf({ label }: Pick<Step, 'label'>): ChildPlan | undefined {
    return this.plan.children?.[label]
  }

  childTask(op: number): ChildTask | undefined {
    const child = this.#children.get(op)
    if (child === undefined) return undefined
    const tape = childTapePath(this.options.branch, op)
    const plan = planChild(child, tape, this.options.root)
    const task = { mode: 'continue', plan, report: childReportPath(tape) } as const
    return { tape, task, variables: child.variables }
  }

  /** Serves the process id, which is drawn right after the start of a process. */
  #drawPid<T>(native: () => T): T {
    const known = this.#pid
    this.#pid = undefined
    return known === undefined ? native() : (known.value as T)
  }

  #pidOf({ seq }: RecordedStep): { readonly value: unknown } | undefined {
    const next = this.tape.event(seq + 1)
    return next.type === 'draw' && next.kind === 'ChildProcess.pid'
      ? { value: next.value }
      : undefined
  }
}

const plannedMessage = (answer: FreeAnswer | undefined): unknown =>
  answer === undefined
    ? undefined
    : 'error' in answer
      ? { error: { code: -32_000, message: answer.error } }
      : answer.payload

/** The target of a step's effects: the host of a request, the name of a tool or program. */
const hostOf = (event: StepEvent): string =>
  event.type === 'request' ? new URL(event.url).host : `${event.kind} ${event.name}`

/** Position after all recorded parts. */
const LAST = Number.MAX_SAFE_INTEGER

/** Gives a planned answer the position of the recorded one. */
function withOrder(parts: readonly AnswerPart[], recorded: RecordedStep | undefined): QueuedPart[] {
  const last = recorded?.parts.at(-1) ?? LAST
  return parts.map((part, index) => ({ ...part, order: recorded?.parts[index] ?? last }))
}
