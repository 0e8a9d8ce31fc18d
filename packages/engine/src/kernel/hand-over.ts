import { type DeliveryEvent, encodeBody, isDelivery, type Tape } from '@retake/tape/format'
import { nameOf, protocolOf } from './divergence.js'
import type {
  Doubt,
  HandOverPlan,
  OpenRequest,
  RecordedServer,
  SettledDoubt,
  StepReader,
} from './doubts.js'
import { kernelErrors } from './errors.js'
import { describeEvent, describeReceiver } from './event-text.js'
import { lostAnswer, SILENCE_MS, skippedAnswer } from './lost-answer.js'
import type { Machine } from './machine.js'
import { natives } from './natives.js'
import type { Tail } from './player.js'
import type { RecordSession } from './record-session.js'
import {
  type Action,
  type Delivery,
  EMPTY,
  type NewDelivery,
  Operation,
  type SyncCall,
} from './session.js'
import { type AnswerPart, endsAnswer, isPart, outside, recordedPart } from './source.js'
import { isCutOff, readsStdin } from './timeline.js'

/**
 * Repeats a request whose answer reached the agent in part. If the new answer begins with the same
 * parts, the agent gets the rest of it. Otherwise the answer fails like a broken connection: two
 * answers are never mixed.
 */
class RepeatedAnswer extends Operation {
  readonly #status: number | undefined
  readonly #seen: Buffer
  #matched = 0
  #isLost = false

  constructor(
    readonly original: Operation,
    seen: readonly AnswerPart[],
    readonly onLost: () => void,
  ) {
    super(original.id, original.action, original.session)
    const head = seen.map(({ event }) => event).find((event) => event.type === 'response')
    this.#status = head?.status
    this.#seen = withoutDate(Buffer.concat(seen.map(({ body }) => body)))
  }

  override complete(event: NewDelivery, body: Uint8Array = EMPTY, native?: unknown): void {
    if (this.#isLost || this.original.closed) return
    if (event.type === 'response') {
      if (this.#status === undefined) this.original.complete(event, body, native)
      else if (event.status !== this.#status) this.#lose()
      return
    }
    const missing = this.#seen.length - this.#matched
    const isChunk = event.type === 'deliver' && event.part === 'chunk'
    if (missing === 0) return this.original.complete(event, body, native)
    if (!isChunk) return this.#lose()
    const again = withoutDate(Buffer.from(body))
    const common = Math.min(missing, again.length)
    const expected = this.#seen.subarray(this.#matched, this.#matched + common)
    if (!again.subarray(0, common).equals(expected)) return this.#lose()
    this.#matched += common
    if (body.length > common) this.original.complete(event, body.subarray(common))
  }

  #lose(): void {
    this.#isLost = true
    this.onLost()
    for (const { event, body } of lostAnswer(this.original.action.event))
      this.original.complete(event, body)
  }
}

/** The only header in which equal answers of a server differ; its length is constant. */
const withoutDate = (bytes: Buffer): Buffer =>
  bytes.subarray(0, 5).toString('latin1') === 'HTTP/'
    ? Buffer.from(
        bytes.toString('latin1').replace(/\r\ndate: [^\r]*/i, (line) => '-'.repeat(line.length)),
        'latin1',
      )
    : bytes

/** A part of an answer that a live run gets from a tape. */
interface LatePart extends AnswerPart {
  /** Milliseconds from now until it is due. */
  readonly dueMs: number
  /** Order among parts that are due at the same moment. */
  readonly order: number
}

interface LateQueued extends LatePart {
  readonly operation: Operation
  readonly written: number | undefined
}

/**
 * Hands recorded answers to a live run in the recorded order and with the recorded delays, so that
 * races with timers and live answers end as they would have. Skips operations that the agent has
 * abandoned, and connections that it already uses for the next request.
 */
export class LateAnswers {
  #waiting: LateQueued[] = []
  /** Time at which the parts that are not sorted yet were added. */
  #addedAt: number | undefined
  #timer: NodeJS.Timeout | undefined

  /** `written`: bytes after which the agent uses the connection for something else. */
  add(operation: Operation, parts: readonly LatePart[], written?: number): void {
    if (parts.length === 0) return
    // All operations under way are added together, before the first part is due.
    if (this.#addedAt === undefined) natives.setImmediate(() => this.#handOut())
    const nowMs = (this.#addedAt ??= natives.performanceNow())
    this.#waiting.push(
      ...parts.map((part) => ({ ...part, dueMs: nowMs + part.dueMs, operation, written })),
    )
  }

  #handOut(): void {
    this.#addedAt = undefined
    natives.clearTimeout(this.#timer)
    this.#waiting = this.#waiting
      .filter((part) => !isObsolete(part))
      .toSorted((a, b) => a.dueMs - b.dueMs || a.order - b.order)
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const waitMs = next.dueMs - natives.performanceNow()
      if (waitMs > 0) {
        // Wakes regularly, because an abandoned answer must not keep the process alive.
        this.#timer = natives.setTimeout(() => this.#handOut(), Math.min(waitMs, LOOK_MS))
        return
      }
      this.#waiting.shift()
      next.operation.complete(next.event, next.body)
    }
  }
}

const LOOK_MS = 50
/** Lets a timeout that was due when the recorded run ended fire before the lost answer arrives. */
const GRACE_MS = 1000

const isObsolete = ({ operation, written }: LateQueued): boolean =>
  operation.closed || (written !== undefined && (operation.action.stamp?.().written ?? 0) > written)

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/**
 * Decides about every operation that is under way when a run goes live. Answers that are still on
 * the tape are handed out; timers and local work start again; requests that were sent and never
 * answered follow the policy for steps in doubt. Nothing that may have had an effect is repeated
 * unless the plan says so.
 */
export class HandOver implements Tail {
  readonly source = outside
  readonly #leftAt: number
  readonly #lateAnswers = new LateAnswers()

  constructor(
    readonly tape: Tape,
    readonly plan: HandOverPlan,
    readonly options: {
      /** The first event that was not served. */
      readonly at: number
      /** Collects each step in doubt, with its decision. */
      readonly settled: SettledDoubt[]
      readonly steps: StepReader
      readonly machine: Pick<Machine, 'finishWrite' | 'hasInput'>
    },
  ) {
    this.#leftAt = leftAt(tape, plan, options.at)
  }

  takeOver(operation: Operation, recorder: RecordSession): void {
    const { action, id } = operation
    const { at } = this.options
    const { again, answers } = this.plan
    operation.underWayMs = this.#leftAt - this.tape.event(id).at
    const server = again?.op === id ? undefined : this.#serverOf(operation, at)
    if (server !== undefined && this.#handOverServer(operation, recorder, { server, at })) return
    if (answers?.op === id) {
      for (const { event, body } of plannedParts(answers))
        recorder.completed(operation, event, body, undefined)
    } else if (again?.op === id)
      action.start(operation, again.body === undefined ? undefined : bytesOf(again.body))
    else if (action.event.type === 'timer' || this.#isStartedAnew(action)) action.start(operation)
    else if (action.reexecuted === true) this.#finishWork(operation, recorder)
    else {
      const rest = this.#handOverAnswer(operation, at)
      return action.handOver?.(operation, rest)
    }
    action.handOver?.(operation, [])
  }

  /** In an offline tail, input comes from the tape; nobody is prompted. */
  #isStartedAnew({ event, lasting }: Action): boolean {
    return lasting === true && !(readsStdin(event) && this.plan.tail === 'offline')
  }

  /** Answers a synchronous call that may have been in progress when the run was killed. */
  answerSync(op: number, call: SyncCall, recorder: RecordSession): Delivery {
    const { answers } = this.plan
    const [given] = answers?.op === op ? plannedParts(answers) : []
    if (given !== undefined) return recorder.answerSync(op, { ...call, run: () => given })
    const doubt = this.options.steps.inDoubt.get(op)
    if (doubt === undefined) return recorder.answerSync(op, call)
    const known = this.#settleWrite(doubt, call.body)
    if (known !== undefined)
      return recorder.answerSync(op, known === 'again' ? call : { ...call, run: () => known })
    const { decision, settled } = this.#decide(doubt)
    if (decision === 'retry') return recorder.answerSync(op, call)
    settled.decision = 'skipped'
    const [part] = skippedAnswer(call.event)
    return recorder.answerSync(op, part === undefined ? call : { ...call, run: () => part })
  }

  /**
   * Settles a write to a file of which the disk shows how far it got: `again`, or its answer after
   * the missing bytes have been written. `body`: the bytes that the agent writes.
   */
  #settleWrite({ seq }: Doubt, body: Uint8Array = EMPTY): AnswerPart | 'again' | undefined {
    const finding = this.plan.files?.[seq]
    const event = this.tape.event(seq)
    if (finding === undefined || event.type !== 'call' || event.file === undefined) return undefined
    const { length } = event.file
    const settle = (decision: SettledDoubt['decision'], written: number): void =>
      void this.options.settled.push({
        seq,
        what: describeEvent(event),
        decision,
        file: { written, length },
      })
    if (finding.state === 'unchanged') {
      settle('retried', 0)
      return 'again'
    }
    if (finding.state === 'complete') settle('done', length)
    else if (finding.state === 'partial') {
      this.options.machine.finishWrite(event.file, body, finding.written)
      settle('finished', finding.written)
    } else return undefined
    // Only these return how much they have written.
    const { as, body: count } = /\.writev?(?:Sync)?$/.test(event.name) ? encodeBody(length) : {}
    return { event: { type: 'result', ...(as && { as }) }, body: count ?? EMPTY }
  }

  #decide(doubt: Doubt): { decision: 'retry' | 'skip'; settled: Mutable<SettledDoubt> } {
    const what = this.options.steps.nameOf(doubt.seq)
    const decision = this.plan.decisions?.[doubt.seq] ?? this.plan.inDoubt
    if (decision === 'fail') throw kernelErrors.STEP_IN_DOUBT(what)
    const settled: Mutable<SettledDoubt> = { seq: doubt.seq, what, decision: 'retried' }
    this.options.settled.push(settled)
    return { decision, settled }
  }

  /** The server behind a process, if it was alive and can be restarted. */
  #serverOf({ id, action }: Operation, at: number): RecordedServer | undefined {
    const { event } = action
    const isProcess = event.type === 'call' && event.kind === 'process'
    return isProcess && action.restart ? this.options.steps.serverOf(id, at) : undefined
  }

  /**
   * Gives requests in progress their recorded answers; after that, a new server answers. False if
   * the recorded server ended in the middle of an answer: then it ends again.
   */
  #handOverServer(
    operation: Operation,
    recorder: RecordSession,
    { server, at }: { readonly server: RecordedServer; readonly at: number },
  ): boolean {
    const { answers } = this.plan
    const given = answers?.op === operation.id ? answers : undefined
    const isGiven = ({ answer }: OpenRequest): boolean =>
      answer?.seqs.some((seq) => given?.replaces?.includes(seq) === true) === true
    const open = server.open.filter((request) => !isGiven(request))
    const lost = open.filter(({ answer }) => answer === undefined)
    if (lost.length > 0 && server.hasEnd) return false
    for (const { event, body } of given ? plannedParts(given) : [])
      recorder.completed(operation, event, body, undefined)
    this.#handLate(operation, [
      ...this.#restOf(operation, at).filter(({ event }) => isPart(event, 'spawn')),
      ...open.flatMap(({ answer }) => (answer === undefined ? [] : this.#lateLine(answer, at))),
    ])
    // Requests that the run itself had abandoned get no answer.
    const doubts = this.#isCut ? lost : []
    const again = doubts.filter((request) => this.#settleRequest(request, operation, recorder))
    // The tape has placeholders where the agent sent secrets.
    const { secrets } = recorder
    const lines = again.map(({ line }) => secrets.reveal(line))
    const handshake = server.handshake.map((message) => ({
      ...message,
      line: secrets.reveal(message.line),
    }))
    operation.action.restart?.(operation, handshake, lines)
    return true
  }

  /** One answer, without other content of the same chunk. */
  #lateLine(answer: { seqs: readonly number[]; line: string }, at: number): LatePart {
    const from = answer.seqs.at(-1) ?? at
    return {
      event: { type: 'deliver', part: 'chunk', pipe: 1, from },
      body: Buffer.from(`${answer.line}\n`),
      dueMs: this.tape.event(from).at - this.#leftAt,
      order: from,
    }
  }

  /** True if a request in progress in a killed run is sent again. */
  #settleRequest(request: OpenRequest, operation: Operation, recorder: RecordSession): boolean {
    const { decision, settled } = this.#decide({ seq: request.seq, partial: false })
    if (decision === 'retry') return true
    settled.decision = 'skipped'
    const { what } = kernelErrors.STEP_SKIPPED(settled.what)
    const event: NewDelivery = { type: 'deliver', part: 'chunk', pipe: 1 }
    recorder.completed(operation, event, this.options.steps.refusalOf(request, what), undefined)
    return false
  }

  /** Returns the recorded answers that the agent still gets. */
  #handOverAnswer(operation: Operation, at: number): Uint8Array[] {
    const rest = this.#restOf(operation, at)
    this.#handLate(operation, rest)
    const bodies = rest.map(({ body }) => body)
    if (isAnswered(operation, rest)) return bodies
    const last = rest.at(-1)
    this.#settle(operation, (parts, waitMs = 0) => {
      const dueMs = (last?.dueMs ?? 0) + waitMs
      const order = last?.order ?? at
      this.#handLate(
        operation,
        parts.map((part) => ({ ...part, dueMs, order })),
      )
    })
    return bodies
  }

  #handLate(operation: Operation, parts: readonly LatePart[]): void {
    const { action } = operation
    const written = action.event.type === 'socket' ? action.stamp?.().written : undefined
    this.#lateAnswers.add(operation, parts, written)
  }

  #finishWork(operation: Operation, recorder: RecordSession): void {
    if (operation.finished === undefined) return
    recorder.completed(
      operation,
      { type: 'deliver', part: 'fire' },
      EMPTY,
      operation.finished.native,
    )
  }

  /** The rest of the recorded answer; for a connection, only answers to bytes already written. */
  #restOf(operation: Operation, at: number): LatePart[] {
    const written = operation.action.stamp?.().written
    const parts: LatePart[] = []
    if (operation.action.isIdle?.() === true) return parts
    for (const event of this.tape.events(at)) {
      if (!isDelivery(event) || event.op !== operation.id) continue
      const isLater =
        event.type === 'deliver' &&
        written !== undefined &&
        event.written !== undefined &&
        event.written > written
      if (isLater || (isIdleEnd(operation, event) && parts.length === 0)) break
      parts.push({
        ...recordedPart(this.tape, event, operation.session.secrets),
        dueMs: event.at - this.#leftAt,
        order: event.seq,
      })
    }
    return parts
  }

  #settle(operation: Operation, hand: Hand): void {
    const { event } = operation.action
    // The tape alone does not show that the agent is still waiting.
    const { steps, machine } = this.options
    const end = this.#isCut ? steps.missingEnd(operation.id) : undefined
    if (end !== undefined) return hand(end)
    const lastDoubt = this.#isCut ? steps.doubtAbout(operation.id) : undefined
    const doubt = steps.inDoubt.get(operation.id) ?? lastDoubt
    if (doubt === undefined) {
      if (this.#isCut && event.type === 'socket') this.#settleConnection(operation)
      // An empty stdin would end before the recorded lines have arrived.
      if (readsStdin(event) && !machine.hasInput())
        hand([{ event: { type: 'deliver', part: 'end' }, body: EMPTY }])
      else if (readsStdin(event) || steps.isRepeatable(event)) operation.action.start(operation)
      // The recorded run had abandoned it, so the agent gets time to abandon it again.
      else if (event.type === 'request') hand(lostAnswer(event), SILENCE_MS)
      else if (event.type !== 'socket') hand(lostAnswer(event), this.#untilEndMs)
      return
    }
    const known = this.#settleWrite(doubt, operation.action.body)
    if (known !== undefined)
      return known === 'again' ? operation.action.start(operation) : hand([known])
    const { decision, settled } = this.#decide(doubt)
    if (decision === 'retry') {
      const seen = doubt.partial ? this.#seenOf(operation, doubt.seq) : []
      const onLost = (): void => void (settled.decision = 'lost')
      operation.action.start(
        seen.length === 0 ? operation : new RepeatedAnswer(operation, seen, onLost),
      )
      return
    }
    settled.decision = doubt.partial ? 'lost' : 'skipped'
    hand(doubt.partial ? lostAnswer(event) : skippedAnswer(event))
  }

  /**
   * Bytes without an answer on a connection that is not HTTP. Only the client could repeat them, and
   * some clients do so when they reconnect. Not promised: a request whose answer has begun.
   */
  #settleConnection({ id, action }: Operation): void {
    const { digest = '' } = action.stamp?.() ?? {}
    let firstAnswer: Uint8Array | undefined
    let answered = ''
    for (const event of this.tape.events(id)) {
      if (event.type !== 'deliver' || event.op !== id) continue
      answered = event.digest ?? ''
      if (event.part === 'chunk') firstAnswer ??= this.tape.body(event.seq)
    }
    if (digest === answered) return
    const receiver = describeReceiver(nameOf(action.event), protocolOf(action.event, firstAnswer))
    if (this.plan.inDoubt === 'fail') throw kernelErrors.CONNECTION_IN_DOUBT(receiver)
    const what = `bytes sent to ${receiver}`
    this.options.settled.push({ seq: id, what, decision: 'lost' })
  }

  /** Delays an answer, even an error, until the time at which the recorded run ended without it. */
  get #untilEndMs(): number {
    const { tape } = this
    const restMs = tape.event(tape.count - 1).at - this.#leftAt
    return Math.min(restMs + GRACE_MS, SILENCE_MS)
  }

  /** True if the run was killed and is served to its last event. */
  get #isCut(): boolean {
    return this.plan.until === undefined && isCutOff(this.tape)
  }

  /** The parts of an answer that reached the agent before the run was killed. */
  #seenOf(operation: Operation, from: number): AnswerPart[] {
    const parts: AnswerPart[] = []
    for (const event of this.tape.events(from)) {
      if (isDelivery(event) && event.op === operation.id)
        parts.push({ event, body: this.tape.body(event.seq) })
    }
    return parts
  }
}

/**
 * The time in the run, in milliseconds, at which it goes live. An edited answer arrives when the
 * recorded one did.
 */
export function leftAt(tape: Tape, { answers }: HandOverPlan, at: number): number {
  return tape.event(answers !== undefined && at < tape.count ? at : at - 1).at
}

/** `waitMs`: delay after the last recorded part. */
type Hand = (parts: readonly AnswerPart[], waitMs?: number) => void

export const plannedParts = ({ parts }: NonNullable<HandOverPlan['answers']>): AnswerPart[] =>
  parts.map(({ event, body }) => ({ event, body: bytesOf(body) }))

const bytesOf = (base64: string): Uint8Array => Buffer.from(base64, 'base64')

/** True for the close of an idle connection, which need not be repeated. */
const isIdleEnd = (operation: Operation, event: DeliveryEvent): boolean =>
  operation.action.event.type === 'socket' &&
  event.type === 'deliver' &&
  (event.part === 'end' || event.part === 'close')

/** True if these parts complete an answer. Always true for connections, which stay open. */
function isAnswered({ action }: Operation, parts: readonly AnswerPart[]): boolean {
  const last = parts.at(-1)?.event
  return last !== undefined && (action.event.type === 'socket' || endsAnswer(last))
}
