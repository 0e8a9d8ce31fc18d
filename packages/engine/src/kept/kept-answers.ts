import { decodeBody, encodeBody } from '@retake/tape'
import type { NewEvent, SocketEvent, Tape } from '@retake/tape'
import { recordedPart } from '../answers/answer-part.js'
import type { AnswerPart } from '../answers/answer-part.js'
import { DrawnValues } from '../answers/drawn-values.js'
import { isAsked } from '../answers/is-asked.js'
import { RecordedAnswers } from '../answers/recorded-answers.js'
import { lostAnswer, SILENCE_MS } from '../continue/given-up-answer.js'
import { viewOf } from '../continue/in-doubt.js'
import type { RetakeError } from '../errors.js'
import { natives } from '../natives.js'
import { outsideRuns } from '../scope.js'
import { outside } from '../sessions/answer-source.js'
import type { Answer, AnswerSource } from '../sessions/answer-source.js'
import { EMPTY } from '../sessions/session.js'
import type { NewDelivery, Operation, Session, SyncCall } from '../sessions/session.js'
import { AnswerQueue } from './answer-queue.js'
import type { QueuedPart } from './answer-queue.js'
import { underOtherId } from './free-parts.js'
import { FreeSteps } from './free-steps.js'
import type { AskedFree, StepEvent } from './free-steps.js'
import { KeptConnections } from './kept-connections.js'
import type { KeptPlan, KeptReport, Simulator } from './kept-plan.js'
import { recordedSteps } from './recorded-step.js'
import type { RecordedStep } from './recorded-step.js'
import { serversIn } from './searchable-steps.js'
import { StepCauses } from './step-causes.js'
import { StepMatcher } from './step-matcher.js'

export interface KeptAnswersOptions {
  /** The first event that was not served. */
  readonly at: number
  readonly session: () => Pick<Session, 'secrets'>
  readonly simulator?: Simulator | undefined
  /** A free step cannot be answered as the plan says: what the fork comes to means nothing. */
  readonly onBroken: (error: RetakeError) => void
}

interface Asking extends AskedFree {
  /** The answer reaches the agent through this one: itself, or its connection. */
  readonly carrier: Operation
  /** Really asks; with another body, if one is given. */
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
  readonly #recorded: RecordedAnswers
  readonly #steps: ReadonlyMap<number, RecordedStep>
  readonly #matcher: StepMatcher
  readonly #free: FreeSteps
  readonly #connections: KeptConnections
  readonly #queue = new AnswerQueue()
  readonly #drawn = new DrawnValues()
  /** What follows from what in this run. */
  readonly #causes: StepCauses
  /** By event of this run, the recorded step that it matched. */
  readonly #matches = new Map<number, RecordedStep>()
  readonly #underWay = new Set<RecordedStep>()
  readonly #kept: ReadonlySet<string>
  readonly #servers: ReadonlySet<number>
  /** Of a process that was just started and is none: the number it had. */
  #pid: { readonly value: unknown } | undefined

  constructor(
    readonly tape: Tape,
    readonly plan: KeptPlan,
    readonly options: KeptAnswersOptions,
  ) {
    const { at, simulator, onBroken } = options
    const { recordedSteps: viewed } = viewOf(tape)
    this.#kept = new Set(plan.kept)
    this.#servers = serversIn(tape, viewed)
    this.#recorded = new RecordedAnswers(tape, 1, (_turn, kind, value) =>
      this.#drawn.add(kind, value),
    )
    const steps = recordedSteps(tape, viewed, this.#recorded)
    this.#steps = new Map(steps.map((step) => [step.seq, step]))
    this.#connections = new KeptConnections(tape, this.#recorded, steps)
    this.#causes = StepCauses.of(tape, at)
    this.#matcher = new StepMatcher(tape, steps, {
      causes: StepCauses.of(tape, tape.count),
      drawn: this.#drawn,
      isUnderWay: (step) => this.#underWay.has(step),
    })
    this.#free = new FreeSteps({ tape, plan, matcher: this.#matcher, simulator, onBroken })
    for (const step of steps.filter(({ seq }) => seq < at)) {
      step.used = true
      this.#matches.set(step.seq, step)
      this.#matched[step.label] = step.seq
      if (step.parts.some((seq) => seq >= at)) this.#underWay.add(step)
    }
  }

  get report(): KeptReport {
    const { broken } = this.#free
    return {
      matched: this.#matched,
      forced: this.#forced,
      unmatched: this.#unmatched,
      live: this.#live,
      ...(broken && { broken }),
    }
  }

  draw<T>(kind: string, native: () => T): T {
    const value = kind === 'ChildProcess.pid' ? this.#drawPid(native) : native()
    this.#drawn.add(kind, value)
    return value
  }

  start(operation: Operation): void {
    const { event, body } = operation.action
    this.#causes.started(operation.id, event)
    if (event.type === 'socket') this.#connect(operation, event)
    else if (!isAsked(event)) outside.start(operation)
    else if (event.type === 'request' && event.socket !== undefined)
      this.#askOn(this.#connections.get(event.socket), operation, event)
    else {
      const asked = this.#match(operation.id, event, body)
      const ask = (edited?: Uint8Array): void => operation.action.start(operation, edited)
      this.#answer({ ...asked, carrier: operation, ask })
    }
  }

  run(call: SyncCall, op: number): Answer {
    const { event, body } = call
    if (op >= this.options.at) this.#causes.started(op, event)
    if (!isAsked(event)) return outside.run(call, op)
    const asked = this.#match(op, event, body)
    if (asked.recorded !== undefined) this.#underWay.delete(asked.recorded)
    const [seq] = asked.recorded?.parts ?? []
    if (asked.recorded !== undefined && this.#isHeld(asked.recorded) && seq !== undefined)
      return this.#part(seq)
    const [part] = this.#free.planned(asked) ?? this.#free.simulatedNow(asked) ?? []
    if (part !== undefined) return part
    this.#live += 1
    return outside.run(call, op)
  }

  wrote(): void {
    this.#queue.look()
  }

  delivering(operation: Operation, event: NewDelivery): void {
    this.#causes.delivered(operation.id)
    const step = this.#matches.get(this.#causes.askedOn(operation.id) ?? operation.id)
    if (step !== undefined && isLast(operation, event)) this.#underWay.delete(step)
    this.#queue.delivering(operation)
  }

  /**
   * Takes over an operation that was served until now, if it is a step or carries
   * one; what started before the first free step is held. False: it is neither.
   */
  carry(operation: Operation): boolean {
    const { action, id } = operation
    const { event } = action
    const isConnection = event.type === 'socket'
    if (isConnection) {
      this.#connections.add(operation)
      if (this.#connections.connectFor(event) === undefined) return false
      operation.isTaped = true
    } else if (!isAsked(event) || this.#servers.has(id)) return false
    const recorded = this.#steps.get((isConnection ? this.#causes.askedOn(id) : id) ?? -1)
    if (recorded === undefined) this.#queue.add(operation, this.#opening(operation))
    else if (recorded.seq !== this.options.at - 1) this.#hold(operation, recorded)
    else {
      // It was asked as recorded, unless the plan has another question.
      const question = this.#plannedQuestion(recorded)
      const ask = (): void => {
        operation.isTaped = false
        action.start(operation, question)
      }
      const { event: asked, seq } = recorded
      const body = this.tape.body(seq)
      this.#answer({ event: asked, body, recorded, carrier: operation, ask })
    }
    return true
  }

  // ── what is asked ─────────────────────────────────────────────────────────

  #match(seq: number, event: StepEvent, bytes: Uint8Array = EMPTY): AskedFree {
    const body = this.options.session().secrets.bytes(bytes)
    const known = this.#matches.get(seq)
    if (known !== undefined) return { event, body, recorded: known }
    const cause = this.#causes.causeOf(seq)
    const isAfterOther = cause !== undefined && !this.#matches.has(cause)
    const match = this.#matcher.take({ event, body, after: this.#after(seq), isAfterOther })
    if (match === undefined) {
      this.#unmatched += 1
      return { event, body, recorded: undefined }
    }
    const { step, isSame } = match
    this.#matches.set(seq, step)
    this.#matched[step.label] = seq
    this.#underWay.add(step)
    if (!isSame && this.#isHeld(step)) this.#forced.push(step.label)
    return { event, body, recorded: step }
  }

  /** The nearest step that this follows from and that is one of the recording. */
  #after(seq: number): RecordedStep | undefined {
    let at = this.#causes.causeOf(seq)
    while (at !== undefined && !this.#matches.has(at)) at = this.#causes.causeOf(at)
    return at === undefined ? undefined : this.#matches.get(at)
  }

  #answer(asking: Asking): void {
    const { recorded, carrier, event, body } = asking
    if (recorded !== undefined && this.#isHeld(recorded)) {
      if (event.type === 'call' && event.kind === 'process') this.#pid = this.#pidOf(recorded)
      const other = event.type === 'request' && underOtherId(this.tape, recorded.step, body)
      if (other) this.#give(asking, other)
      else this.#hold(carrier, recorded)
      return
    }
    // A server is asked many things: it is no step that could be answered at once.
    if (this.#servers.has(recorded?.seq ?? -1)) return this.#askLive(asking)
    const planned = this.#free.planned(asking)
    if (planned !== undefined) return this.#give(asking, planned)
    if (!this.#free.simulates) return this.#askLive(asking)
    carrier.isTaped = true
    const making = this.#free.simulated(asking).then((parts) => {
      if (parts === undefined) natives.setImmediate(() => this.#askLive(asking))
      return placed(parts ?? [], recorded)
    })
    this.#queue.addLater(carrier, recorded?.parts[0] ?? LAST, making)
  }

  #hold(carrier: Operation, recorded: RecordedStep): void {
    carrier.isTaped = true
    const isHttp1 = carrier.action.event.type === 'socket'
    const parts = isHttp1 ? this.#connections.answerParts(recorded.parts) : recorded.parts
    const isCarried = recorded.seq < this.options.at
    this.#queue.add(carrier, this.#queued(parts, isCarried ? this.options.at : 0))
    if (recorded.step.state === 'aborted') this.#stayQuiet(carrier)
  }

  #give({ carrier, recorded }: Asking, parts: readonly AnswerPart[]): void {
    carrier.isTaped = true
    this.#queue.add(carrier, placed(parts, recorded))
  }

  #queued(parts: readonly number[], from = 0): QueuedPart[] {
    return parts
      .filter((seq) => seq >= from)
      .map((seq) => {
        const event = this.#recorded.delivery(seq)
        const written = event.type === 'deliver' ? event.written : undefined
        const isProcess =
          event.type === 'deliver' && this.#steps.get(event.op)?.event.type === 'call'
        return {
          ...recordedPart(this.tape, event),
          order: seq,
          ...(isProcess && written !== undefined && { written }),
        }
      })
  }

  #askLive(asking: Asking): void {
    const { recorded, carrier, ask } = asking
    if (carrier.closed) return
    this.#live += 1
    const question = recorded && this.#plannedQuestion(recorded)
    const isFrozen = this.plan.mode === 'frozen' && recorded !== undefined
    outsideRuns(() => ask(question ?? (isFrozen ? this.#recordedQuestion(recorded) : undefined)))
  }

  /** What the plan has a step asked, in the form in which it is asked. */
  #plannedQuestion({ event, label }: RecordedStep): Uint8Array | undefined {
    const question = this.plan.questions?.[label]
    if (question === undefined) return undefined
    if (event.type === 'call')
      return encodeBody(Array.isArray(question) ? question : [question]).body
    return this.#revealed(Buffer.from(JSON.stringify(question)))
  }

  /** What was asked then, in the form in which it is asked again. */
  #recordedQuestion({ event, seq }: RecordedStep): Uint8Array | undefined {
    const body = this.tape.body(seq)
    if (event.type === 'call') {
      if (event.kind !== 'tool') return undefined
      const args = decodeBody(event.as ?? 'json', body)
      return encodeBody(Array.isArray(args) ? args : [args]).body
    }
    return body.length === 0 ? undefined : this.#revealed(body)
  }

  /** The tape has placeholders where the agent sent secrets. */
  #revealed(body: Uint8Array): Uint8Array {
    const text = Buffer.from(body).toString('latin1')
    const revealed = this.options.session().secrets.reveal(text)
    return revealed === text ? body : Buffer.from(revealed, 'latin1')
  }

  #isHeld({ label, step, seq }: RecordedStep): boolean {
    if (this.#servers.has(seq)) return false
    return this.#kept.has(label) || step.state === 'aborted'
  }

  /** The run had given it up by itself: it gets the time to do so again. */
  #stayQuiet(operation: Operation): void {
    const give = (): void => {
      for (const { event, body } of lostAnswer(operation.action.event))
        operation.complete(event, body)
    }
    natives.setTimeout(give, SILENCE_MS).unref()
  }

  // ── connections ───────────────────────────────────────────────────────────

  #connect(operation: Operation, event: NewEvent<SocketEvent>): void {
    this.#connections.add(operation)
    const connect = this.#connections.connectFor(event)
    if (connect === undefined) return outside.start(operation)
    operation.isTaped = true
    this.#queue.add(operation, [{ ...this.#part(connect), order: 0 }])
  }

  /** What opens a connection that was being opened when the tape was left. */
  #opening({ id }: Operation): QueuedPart[] {
    const { parts = [] } = this.#recorded.byStart.get(id) ?? {}
    return this.#queued(parts, this.options.at).filter(
      ({ event }) =>
        event.type === 'deliver' && (event.part === 'connect' || event.part === 'error'),
    )
  }

  #askOn(
    connection: Operation | undefined,
    operation: Operation,
    event: Extract<StepEvent, { type: 'request' }>,
  ): void {
    const asked = this.#match(operation.id, event, operation.action.body)
    if (connection === undefined) {
      this.#live += 1
      return outside.start(operation)
    }
    // A connection that is asked again was not closed after its last answer.
    this.#queue.drop(connection)
    let isWritten = false
    const ask = (edited: Uint8Array | undefined): void => {
      connection.isTaped = isWritten || edited !== undefined
      // Nothing is held back yet: what the agent is about to write goes out as it is.
      if (!connection.isTaped) return
      natives.setImmediate(() => {
        connection.isTaped = false
        outsideRuns(() => connection.action.start(connection, edited))
      })
    }
    this.#answer({ ...asked, carrier: connection, ask })
    isWritten = true
  }

  #part(seq: number): AnswerPart {
    return recordedPart(this.tape, this.#recorded.delivery(seq))
  }

  // ── processes ─────────────────────────────────────────────────────────────

  /** It is drawn as soon as a process is started. */
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

/** After everything that was recorded. */
const LAST = Number.MAX_SAFE_INTEGER

/** Whether an answer is complete with this part; one on a connection is taken to be with its first. */
function isLast({ action }: Operation, part: NewDelivery): boolean {
  if (action.event.type === 'socket' || part.type === 'result') return true
  if (part.type === 'response') return part.empty === true
  const isProcess = action.event.type === 'call'
  return part.part === 'close' || part.part === 'error' || (part.part === 'end' && !isProcess)
}

/** A given answer comes when the recorded one came. */
function placed(parts: readonly AnswerPart[], recorded: RecordedStep | undefined): QueuedPart[] {
  const last = recorded?.parts.at(-1) ?? LAST
  return parts.map((part, index) => ({ ...part, order: recorded?.parts[index] ?? last }))
}
