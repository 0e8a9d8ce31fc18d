import type { NewEvent, SocketEvent, Tape } from '@retake/tape'
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
import type { NewDelivery, Operation, Session, SyncCall } from '../sessions/session.js'
import { AnswerQueue } from './answer-queue.js'
import type { QueuedPart } from './answer-queue.js'
import { AskedSteps } from './asked-steps.js'
import { underOtherId } from './free-parts.js'
import { FreeSteps } from './free-steps.js'
import type { AskedFree, StepEvent } from './free-steps.js'
import { HeldAnswers } from './held-answers.js'
import { KeptConnections } from './kept-connections.js'
import type { KeptPlan, KeptReport, Simulator } from './kept-plan.js'
import { recordedSteps } from './recorded-step.js'
import type { RecordedStep } from './recorded-step.js'
import { serversIn } from './searchable-steps.js'
import { StepQuestions } from './step-questions.js'

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
  #live = 0
  readonly #steps: ReadonlyMap<number, RecordedStep>
  readonly #asked: AskedSteps
  readonly #held: HeldAnswers
  readonly #free: FreeSteps
  readonly #questions: StepQuestions
  readonly #connections: KeptConnections
  readonly #queue = new AnswerQueue()
  readonly #drawn = new DrawnValues()
  readonly #kept: ReadonlySet<string>
  readonly #servers: ReadonlySet<number>
  /** Of a process that was just started and is none: the number it had. */
  #pid: { readonly value: unknown } | undefined

  constructor(
    readonly tape: Tape,
    readonly plan: KeptPlan,
    readonly options: KeptAnswersOptions,
  ) {
    const { at, session, simulator, onBroken } = options
    const { recordedSteps: viewed } = viewOf(tape)
    this.#kept = new Set(plan.kept)
    this.#servers = serversIn(tape, viewed)
    const recorded = new RecordedAnswers(tape, 1, (_turn, kind, value) =>
      this.#drawn.add(kind, value),
    )
    const steps = recordedSteps(tape, viewed, recorded)
    this.#steps = new Map(steps.map((step) => [step.seq, step]))
    this.#connections = new KeptConnections(tape, recorded, steps)
    this.#held = new HeldAnswers(tape, {
      recorded,
      connections: this.#connections,
      steps: this.#steps,
      at,
    })
    this.#asked = new AskedSteps(tape, steps, {
      at,
      drawn: this.#drawn,
      session,
      isHeld: (step) => this.#isHeld(step),
    })
    const { matcher } = this.#asked
    this.#free = new FreeSteps({ tape, plan, matcher, simulator, onBroken })
    this.#questions = new StepQuestions(tape, plan, session)
  }

  get report(): KeptReport {
    const { broken } = this.#free
    return { ...this.#asked.report, live: this.#live, ...(broken && { broken }) }
  }

  draw<T>(kind: string, native: () => T): T {
    const value = kind === 'ChildProcess.pid' ? this.#drawPid(native) : native()
    this.#drawn.add(kind, value)
    return value
  }

  start(operation: Operation): void {
    const { event, body } = operation.action
    this.#asked.started(operation.id, event)
    if (event.type === 'socket') this.#connect(operation, event)
    else if (!isAsked(event)) outside.start(operation)
    else if (event.type === 'request' && event.socket !== undefined)
      this.#askOn(this.#connections.get(event.socket), operation, event)
    else {
      const asked = this.#asked.match(operation.id, event, body)
      const ask = (edited?: Uint8Array): void => operation.action.start(operation, edited)
      this.#answer({ ...asked, carrier: operation, ask })
    }
  }

  run(call: SyncCall, op: number): Answer {
    const { event, body } = call
    if (op >= this.options.at) this.#asked.started(op, event)
    if (!isAsked(event)) return outside.run(call, op)
    const asked = this.#asked.match(op, event, body)
    const { recorded } = asked
    if (recorded !== undefined) this.#asked.answered(recorded)
    const [seq] = recorded?.parts ?? []
    if (recorded !== undefined && this.#isHeld(recorded) && seq !== undefined)
      return this.#held.part(seq)
    const [part] = this.#free.planned(asked) ?? this.#free.simulatedNow(asked) ?? []
    if (part !== undefined) return part
    this.#live += 1
    return outside.run(call, op)
  }

  wrote(): void {
    this.#queue.look()
  }

  delivering(operation: Operation, event: NewDelivery): void {
    this.#asked.delivered(operation, event)
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
    const recorded = this.#steps.get((isConnection ? this.#asked.on(id) : id) ?? -1)
    if (recorded === undefined) this.#queue.add(operation, this.#held.opening(operation))
    else if (recorded.seq !== this.options.at - 1) this.#hold(operation, recorded)
    else {
      // It was asked as recorded, unless the plan has another question.
      const question = this.#questions.planned(recorded)
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

  // ── what is answered ──────────────────────────────────────────────────────

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
    this.#queue.add(carrier, this.#held.of(recorded, carrier))
    if (recorded.step.state === 'aborted') this.#stayQuiet(carrier)
  }

  #give({ carrier, recorded }: Asking, parts: readonly AnswerPart[]): void {
    carrier.isTaped = true
    this.#queue.add(carrier, placed(parts, recorded))
  }

  #askLive(asking: Asking): void {
    const { recorded, carrier, ask } = asking
    if (carrier.closed) return
    this.#live += 1
    const question = recorded && this.#questions.instead(recorded)
    outsideRuns(() => ask(question))
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
    this.#queue.add(operation, [{ ...this.#held.part(connect), order: 0 }])
  }

  #askOn(
    connection: Operation | undefined,
    operation: Operation,
    event: Extract<StepEvent, { type: 'request' }>,
  ): void {
    const asked = this.#asked.match(operation.id, event, operation.action.body)
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

/** A given answer comes when the recorded one came. */
function placed(parts: readonly AnswerPart[], recorded: RecordedStep | undefined): QueuedPart[] {
  const last = recorded?.parts.at(-1) ?? LAST
  return parts.map((part, index) => ({ ...part, order: recorded?.parts[index] ?? last }))
}
