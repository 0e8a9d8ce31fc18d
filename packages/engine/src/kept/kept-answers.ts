import { answerPayload, decodeBody, encodeBody } from '@retake/tape'
import type {
  CallEvent,
  DeliveryEvent,
  InitiationEvent,
  NewEvent,
  RequestEvent,
  Tape,
} from '@retake/tape'
import { DrawnValues } from '../answers/drawn-values.js'
import { RecordedAnswers } from '../answers/recorded-answers.js'
import { lostAnswer, SILENCE_MS } from '../continue/given-up-answer.js'
import { viewOf } from '../continue/in-doubt.js'
import { errors, RetakeError } from '../errors.js'
import { natives } from '../natives.js'
import { outsideRuns } from '../scope.js'
import { outside } from '../sessions/answer-source.js'
import type { Answer, AnswerSource } from '../sessions/answer-source.js'
import { EMPTY } from '../sessions/session.js'
import type { NewDelivery, Operation, Session, SyncCall } from '../sessions/session.js'
import { AnswerQueue } from './answer-queue.js'
import type { QueuedPart } from './answer-queue.js'
import { freeParts, underOtherId } from './free-parts.js'
import type { Part } from './free-parts.js'
import type { FreeAnswer, KeptPlan, KeptReport, SimulatedStep, Simulator } from './kept-plan.js'
import { parsed, recordedSteps } from './recorded-step.js'
import type { RecordedStep } from './recorded-step.js'
import { isAsked, StepCauses } from './step-causes.js'
import { StepMatcher } from './step-matcher.js'

type StepEvent = NewEvent<RequestEvent | CallEvent>

export interface KeptAnswersOptions {
  /** The first event that was not served. */
  readonly at: number
  readonly session: () => Pick<Session, 'secrets'>
  readonly simulator?: Simulator | undefined
  /** A free step cannot be answered as the plan says: what the fork comes to means nothing. */
  readonly onBroken: (error: RetakeError) => void
}

/** Something the agent asks, and what in the recording it is. */
interface Asking {
  readonly seq: number
  readonly event: StepEvent
  /** Masked. */
  readonly body: Uint8Array
  readonly recorded: RecordedStep | undefined
  /** The answer reaches the agent through this one: itself, or its connection. */
  readonly carrier: Operation
  /** Really asks. */
  readonly ask: (body: Uint8Array | undefined) => void
}

/**
 * Answers a run that has left its tape with some of its steps held: those get what
 * was recorded, the others what the plan says. Files, clocks, chance, timers and
 * whatever is no step are real.
 *
 * Not promised: that a held step was asked the same as then. Where it was not, its
 * answer is forced, and the report says so.
 */
export class KeptAnswers implements AnswerSource {
  readonly #matched: Record<string, number> = {}
  readonly #forced: string[] = []
  #unmatched = 0
  #live = 0
  #broken: KeptReport['broken']
  readonly #recorded: RecordedAnswers
  readonly #steps: ReadonlyMap<number, RecordedStep>
  readonly #matcher: StepMatcher
  readonly #drawn = new DrawnValues()
  readonly #queue = new AnswerQueue()
  /** What follows from what in this run. */
  readonly #causes: StepCauses
  /** By event of this run, the recorded step that it matched. */
  readonly #matches = new Map<number, RecordedStep>()
  readonly #underWay = new Set<RecordedStep>()
  readonly #kept: ReadonlySet<string>
  readonly #connections = new Map<number, Operation>()
  readonly #silences = new Map<Operation, NodeJS.Timeout>()
  /** Addresses that the recording sent requests to on connections of its own. */
  readonly #httpHosts = new Map<string, RecordedConnection>()
  #heldPid: unknown

  constructor(
    readonly tape: Tape,
    readonly plan: KeptPlan,
    readonly options: KeptAnswersOptions,
  ) {
    const { at } = options
    this.#kept = new Set(plan.kept)
    this.#recorded = new RecordedAnswers(tape, 1, (_turn, kind, value) =>
      this.#drawn.add(kind, value),
    )
    const steps = recordedSteps(tape, viewOf(tape).recordedSteps, this.#recorded)
    this.#steps = new Map(steps.map((step) => [step.seq, step]))
    this.#causes = StepCauses.of(tape, at)
    for (const step of steps) {
      if (step.seq >= at) continue
      step.used = true
      this.#matches.set(step.seq, step)
      this.#matched[step.label] = step.seq
    }
    this.#matcher = new StepMatcher(tape, steps, {
      causes: StepCauses.of(tape, tape.count),
      drawn: this.#drawn,
      isUnderWay: (step) => this.#underWay.has(step),
    })
    this.#findConnections()
  }

  get report(): KeptReport {
    return {
      matched: this.#matched,
      forced: this.#forced,
      unmatched: this.#unmatched,
      live: this.#live,
      ...(this.#broken && { broken: this.#broken }),
    }
  }

  draw<T>(kind: string, native: () => T): T {
    let value = native()
    if (kind === 'ChildProcess.pid' && this.#heldPid !== undefined) {
      value = this.#heldPid as T
      this.#heldPid = undefined
    }
    this.#drawn.add(kind, value)
    return value
  }

  start(operation: Operation): void {
    const { event, body } = operation.action
    this.#causes.started(operation.id, event)
    if (event.type === 'socket') this.#connect(operation, event)
    else if (!isStep(event)) outside.start(operation)
    else if (event.type === 'request' && event.socket !== undefined)
      this.#askOn(operation, event, body)
    else
      this.#answer(
        this.#asking(operation.id, event, body, operation, (edited) =>
          operation.action.start(operation, edited),
        ),
      )
  }

  run(call: SyncCall, op: number): Answer {
    const { event, body } = call
    if (op >= this.options.at) this.#causes.started(op, event)
    if (!isStep(event)) return outside.run(call, op)
    const asking = this.#asking(op, event, body, undefined as unknown as Operation, () => {})
    const { recorded } = asking
    const [seq] = recorded?.parts ?? []
    if (recorded !== undefined && this.#isHeld(recorded) && seq !== undefined)
      return { event: partOf(this.#recorded.delivery(seq)), body: this.tape.body(seq) }
    const given = recorded && this.plan.answers?.[recorded.label]
    const answer = given ?? this.#simulatedNow(asking)
    const [part] = answer === undefined ? [] : this.#given(asking, answer)
    if (part !== undefined) return part
    this.#live += 1
    return outside.run(call, op)
  }

  delivering(operation: Operation): void {
    this.#causes.delivered(operation.id)
    const step = this.#matches.get(this.#causes.askedOn(operation.id) ?? operation.id)
    if (step !== undefined) this.#underWay.delete(step)
    this.#queue.delivering(operation)
  }

  /**
   * Takes over an operation that was served until now, if it is a step or carries
   * one; what started before the first free step is held. False: it is neither.
   */
  carry(operation: Operation): boolean {
    const { event } = operation.action
    const isConnection = event.type === 'socket' && this.#isHttp(operation.id)
    if (isConnection) {
      this.#connections.set(operation.id, operation)
      operation.isTaped = true
    } else if (!isStep(event) || this.#isServer(operation.id)) return false
    const seq = isConnection ? this.#causes.askedOn(operation.id) : operation.id
    const recorded = this.#steps.get(seq ?? -1)
    const rest = this.#partsFrom(recorded?.parts ?? this.#recorded.byStart.get(operation.id)?.parts)
    if (recorded === undefined || this.#isHeld(recorded) || recorded.seq !== this.#firstFree) {
      if (recorded !== undefined && !isAnswered(recorded, this.options.at))
        this.#underWay.add(recorded)
      this.#hold(operation, rest, recorded)
      return true
    }
    const { action } = operation
    this.#underWay.add(recorded)
    this.#answer({
      seq: recorded.seq,
      event: recorded.event,
      body: this.tape.body(recorded.seq),
      recorded,
      carrier: operation,
      ask: () => {
        operation.isTaped = false
        action.start(operation)
      },
    })
    return true
  }

  // ── what is asked ─────────────────────────────────────────────────────────

  /** The step at which the tape was left. */
  get #firstFree(): number {
    return this.options.at - 1
  }

  #asking(
    seq: number,
    event: StepEvent,
    bytes: Uint8Array | undefined,
    carrier: Operation,
    ask: Asking['ask'],
  ): Asking {
    const body = bytes === undefined ? EMPTY : this.options.session().secrets.bytes(bytes)
    const known = this.#matches.get(seq)
    if (known !== undefined) return { seq, event, body, recorded: known, carrier, ask }
    const match = this.#matcher.take({ event, body, after: this.#after(seq) })
    if (match === undefined) this.#unmatched += 1
    else {
      const { step, isSame } = match
      this.#matches.set(seq, step)
      this.#matched[step.label] = seq
      this.#underWay.add(step)
      if (!isSame && this.#isHeld(step)) this.#forced.push(step.label)
    }
    return { seq, event, body, recorded: match?.step, carrier, ask }
  }

  /** The nearest step that this follows from and that is one of the recording. */
  #after(seq: number): RecordedStep | undefined {
    let at = this.#causes.causeOf(seq)
    while (at !== undefined && !this.#matches.has(at)) at = this.#causes.causeOf(at)
    return at === undefined ? undefined : this.#matches.get(at)
  }

  #answer(asking: Asking): void {
    const { recorded, carrier } = asking
    if (recorded !== undefined && this.#isHeld(recorded)) return this.#held(asking, recorded)
    const given = recorded && this.plan.answers?.[recorded.label]
    if (given !== undefined) return this.#give(carrier, asking, this.#given(asking, given))
    if (this.options.simulator === undefined) return this.#askLive(asking)
    carrier.isTaped = true
    const making = this.#simulated(asking).then((parts) => {
      if (parts === undefined) natives.setImmediate(() => this.#askLive(asking))
      return this.#placed(parts ?? [], recorded)
    })
    this.#queue.addLater(carrier, recorded?.parts[0] ?? Number.MAX_SAFE_INTEGER, making)
  }

  #held(asking: Asking, recorded: RecordedStep): void {
    const { carrier, event } = asking
    if (event.type === 'call' && event.kind === 'process') this.#heldPid = this.#pidOf(recorded)
    const other =
      event.type === 'request' ? underOtherId(this.tape, recorded.step, asking.body) : undefined
    if (other !== undefined) return this.#give(carrier, asking, other)
    this.#hold(carrier, recorded.parts, recorded)
  }

  #hold(carrier: Operation, parts: readonly number[], recorded: RecordedStep | undefined): void {
    carrier.isTaped = true
    const isHttp1 = carrier.action.event.type === 'socket'
    const kept = isHttp1 && recorded !== undefined ? this.#withoutIdleEnd(parts) : parts
    this.#queue.add(
      carrier,
      kept.map((seq) => ({
        event: partOf(this.#recorded.delivery(seq)),
        body: this.tape.body(seq),
        order: seq,
      })),
    )
    if (recorded?.step.state === 'aborted') this.#stayQuiet(carrier)
  }

  #give(carrier: Operation, { recorded }: Asking, parts: readonly Part[]): void {
    carrier.isTaped = true
    this.#queue.add(carrier, this.#placed(parts, recorded))
  }

  /** A given answer comes when the recorded one came. */
  #placed(parts: readonly Part[], recorded: RecordedStep | undefined): QueuedPart[] {
    const last = recorded?.parts.at(-1) ?? Number.MAX_SAFE_INTEGER
    return parts.map((part, index) => ({ ...part, order: recorded?.parts[index] ?? last }))
  }

  #askLive(asking: Asking): void {
    const { recorded, carrier } = asking
    if (carrier.closed) return
    this.#live += 1
    const isFrozen = this.plan.mode === 'frozen' && recorded !== undefined
    outsideRuns(() => asking.ask(isFrozen ? this.#recordedQuestion(recorded) : undefined))
  }

  /** What was asked then, in the form in which it is asked again. */
  #recordedQuestion({ event, seq }: RecordedStep): Uint8Array | undefined {
    const body = this.tape.body(seq)
    if (event.type === 'call') {
      if (event.kind !== 'tool') return undefined
      const args = decodeBody(event.as ?? 'json', body)
      return encodeBody(Array.isArray(args) ? args : [args]).body
    }
    if (body.length === 0) return undefined
    // The tape has placeholders where the agent sent secrets.
    const text = Buffer.from(body).toString('latin1')
    const revealed = this.options.session().secrets.reveal(text)
    return revealed === text ? body : Buffer.from(revealed, 'latin1')
  }

  #isHeld({ label, step }: RecordedStep): boolean {
    return this.#kept.has(label) || step.state === 'aborted'
  }

  /** The run had given it up by itself: it gets the time to do so again. */
  #stayQuiet(operation: Operation): void {
    const timer = natives.setTimeout(() => {
      for (const { event, body } of lostAnswer(operation.action.event))
        operation.complete(event, body)
    }, SILENCE_MS)
    timer.unref()
    this.#silences.set(operation, timer)
  }

  // ── free steps ────────────────────────────────────────────────────────────

  #given(asking: Asking, answer: FreeAnswer): Part[] {
    const like = asking.recorded ?? this.#matcher.alike(asking)
    try {
      return freeParts(this.tape, answer, asking, like?.step)
    } catch (cause) {
      this.#break(errors.freeAnswerUnusable(nameOf(asking.event), cause))
      return []
    }
  }

  async #simulated(asking: Asking): Promise<Part[] | undefined> {
    const { simulator } = this.options
    try {
      const answer = await outsideRuns(() => simulator?.(this.#described(asking)))
      return answer === undefined ? undefined : this.#given(asking, answer)
    } catch (cause) {
      this.#break(errors.simulatorFailed(nameOf(asking.event), cause))
      return []
    }
  }

  /** For calls that answer in the same breath. */
  #simulatedNow(asking: Asking): FreeAnswer | undefined {
    const { simulator } = this.options
    if (simulator === undefined) return undefined
    try {
      const answer = outsideRuns(() => simulator(this.#described(asking)))
      if (!(answer instanceof Promise)) return answer
      throw new Error('it answers later, and this call needs its answer at once')
    } catch (cause) {
      throw this.#break(errors.simulatorFailed(nameOf(asking.event), cause))
    }
  }

  #described({ event, body, recorded }: Asking): SimulatedStep {
    const isFrozen = this.plan.mode === 'frozen' && recorded !== undefined
    const like = recorded ?? this.#matcher.alike({ event, body })
    const asked = isFrozen
      ? { event: recorded.event, body: this.tape.body(recorded.seq) }
      : { event, body }
    const then = recorded && this.#answerOf(recorded)
    return {
      ...(recorded && { label: recorded.label }),
      kind: kindOf(event, like),
      name: nameOf(event),
      request: requestOf(asked.event, asked.body),
      ...(then !== undefined && { recorded: then }),
      seed: this.plan.seed,
    }
  }

  #answerOf({ step }: RecordedStep): unknown {
    try {
      return answerPayload(this.tape, step).data
    } catch {
      return step.kind === 'process' ? step.call()?.result : undefined
    }
  }

  #break(error: RetakeError): RetakeError {
    const { code, what, why, fix } = error
    this.#broken ??= { code, what, why, fix }
    this.options.onBroken(error)
    return error
  }

  // ── connections ───────────────────────────────────────────────────────────

  #findConnections(): void {
    for (const { event } of this.#steps.values()) {
      if (event.type !== 'request' || event.socket === undefined) continue
      const socket = this.tape.event(event.socket)
      if (socket.type !== 'socket' || this.#isUpgraded(event)) continue
      const connect = this.#recorded.byStart
        .get(socket.seq)
        ?.parts.find((seq) => isPart(this.#recorded.delivery(seq), 'connect'))
      if (connect !== undefined) this.#httpHosts.set(hostKey(socket), { connect })
    }
    for (const { event } of this.#steps.values()) {
      if (event.type !== 'request' || event.socket === undefined || !this.#isUpgraded(event))
        continue
      const socket = this.tape.event(event.socket)
      if (socket.type === 'socket') this.#httpHosts.delete(hostKey(socket))
    }
  }

  #isUpgraded(event: RequestEvent): boolean {
    return event.headers.some(([name]) => name.toLowerCase() === 'upgrade')
  }

  #isHttp(op: number): boolean {
    const event = this.tape.event(op)
    return event.type === 'socket' && this.#httpHosts.has(hostKey(event))
  }

  /** Clients open and keep connections as they see fit: a real one is opened when something is really asked on it. */
  #connect(operation: Operation, event: NewEvent<InitiationEvent> & { type: 'socket' }): void {
    this.#connections.set(operation.id, operation)
    const recorded = this.#httpHosts.get(hostKey(event))
    if (recorded === undefined) return outside.start(operation)
    const { connect } = recorded
    operation.isTaped = true
    this.#queue.add(operation, [
      { event: partOf(this.#recorded.delivery(connect)), body: this.tape.body(connect), order: 0 },
    ])
  }

  #askOn(operation: Operation, event: NewEvent<RequestEvent>, body: Uint8Array | undefined): void {
    const connection = this.#connections.get(event.socket ?? -1)
    if (connection === undefined) return outside.start(operation)
    this.#queue.drop(connection)
    let isWritten = false
    const asking = this.#asking(operation.id, event, body, connection, (edited) => {
      connection.isTaped = false
      // Nothing is held back yet: what the agent is about to write goes out as it is.
      if (!isWritten && edited === undefined) return
      connection.isTaped = true
      natives.setImmediate(() => {
        connection.isTaped = false
        outsideRuns(() => connection.action.start(connection, edited))
      })
    })
    this.#answer(asking)
    isWritten = true
  }

  /** The end of a connection belongs to an answer only where nothing else says that it is complete. */
  #withoutIdleEnd(parts: readonly number[]): readonly number[] {
    const first = parts.find((seq) => isPart(this.#recorded.delivery(seq), 'chunk'))
    if (first === undefined) return parts
    const [head = ''] = Buffer.from(this.tape.body(first)).toString('latin1').split('\r\n\r\n')
    const saysLength = /^(content-length|transfer-encoding):|^HTTP\/1\.\d (204|304)/im.test(head)
    if (!saysLength || /^connection:\s*close/im.test(head)) return parts
    return parts.filter((seq) => {
      const event = this.#recorded.delivery(seq)
      return !isPart(event, 'end') && !isPart(event, 'close')
    })
  }

  #partsFrom(parts: readonly number[] = []): number[] {
    return parts.filter((seq) => seq >= this.options.at)
  }

  /** A process that answers requests on its pipes is no single step. */
  #isServer(op: number): boolean {
    return this.#recorded.writes.has(op) && this.#steps.get(op)?.event.type === 'call'
  }

  #pidOf({ seq }: RecordedStep): unknown {
    for (const event of this.tape.events(seq + 1)) {
      if (event.type === 'draw' && event.kind === 'ChildProcess.pid') return event.value
      if (event.seq > seq + 3) break
    }
    return undefined
  }
}

interface RecordedConnection {
  /** Delivery that told the agent that it is open. */
  readonly connect: number
}

const isStep = (event: NewEvent<InitiationEvent>): event is StepEvent => isAsked(event)

const isPart = (event: DeliveryEvent, part: string): boolean =>
  event.type === 'deliver' && event.part === part

const isAnswered = ({ parts }: RecordedStep, at: number): boolean => parts.some((seq) => seq < at)

const hostKey = (event: { kind: string; host?: string; port?: number; path?: string }): string =>
  `${event.kind} ${event.host} ${event.port} ${event.path}`

const nameOf = (event: StepEvent): string =>
  event.type === 'request'
    ? `${event.method} ${event.url}`
    : event.kind === 'process'
      ? (event.title ?? event.name)
      : event.name

function kindOf(event: StepEvent, like: RecordedStep | undefined): SimulatedStep['kind'] {
  if (event.type === 'call') return event.kind === 'process' ? 'process' : 'tool'
  const kind = like?.step.kind
  return kind === undefined || kind === 'mark' ? 'http' : kind
}

const requestOf = (event: StepEvent, body: Uint8Array): unknown =>
  event.type === 'call'
    ? decodeBody(event.as ?? 'json', body)
    : (parsed(body) ?? Buffer.from(body).toString('utf8'))

/** The event as a new one, with a note where it comes from; what was written by then is known anew. */
function partOf(event: DeliveryEvent): NewDelivery {
  const { seq, at: _at, op: _op, ...part } = event
  const {
    written: _written,
    digest: _digest,
    ...rest
  } = part as NewDelivery & { written?: number; digest?: string }
  return { ...rest, from: seq }
}
