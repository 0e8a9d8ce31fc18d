import { type DeliveryEvent, isDelivery, type Tape } from '@retake/tape/format'
import { kernelErrors } from './errors.js'
import { lostAnswer, SILENCE_MS, skippedAnswer } from './stand-in-answer.js'
import { natives } from './natives.js'
import type { Tail } from './player.js'
import type { RecordSession } from './record-session.js'
import { type Delivery, EMPTY, type NewDelivery, Operation, type SyncCall } from './session.js'
import {
  type DoubtOptions,
  DoubtSettler,
  type HandOverPlan,
  type OpenRequest,
  type RecordedServer,
} from './settle-doubts.js'
import { type AnswerPart, endsAnswer, isPart, outside, recordedPart } from './source.js'
import { isInput, readsStdin } from './timeline.js'

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

/** Blanks the date of an HTTP answer, in which equal answers differ. Its length stays the same. */
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
 * Hands the recorded answers that were still to come when a run went live to the agent. They come
 * in the recorded order and with the recorded delays, so that a race with a timer or a live answer
 * has the same winner. Skips operations that the agent has abandoned, and connections that it
 * already uses for the next request.
 */
export class LateAnswers {
  #waiting: LateQueued[] = []
  /** Time at which the parts that are not sorted yet were added. */
  #addedAt: number | undefined
  #timer: NodeJS.Timeout | undefined

  /** `written`: if the agent has written more bytes than this, it already uses the connection for something else. */
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
      .filter(
        ({ operation: { closed, action }, written }) =>
          !closed && (written === undefined || (action.stamp?.().written ?? 0) <= written),
      )
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

/**
 * Takes over every operation that is in progress when a run goes live, except in an offline tail
 * and for pinned steps. Nothing that may have had an effect is repeated unless the plan says so.
 *
 * - Answers that are still on the tape are handed out. If only the end of one is missing, it is
 *   added.
 * - A timeout starts with the rest of its delay, an interval or a refreshed timer with all of it.
 * - Local work, which was running all along, reports its result.
 * - File reads, DNS lookups and flushes without a recorded answer are made again.
 * - Input continues from outside; stdin ends if no input can arrive.
 * - An operation in doubt, such as a request that was sent and never answered, is repeated or
 *   skipped, as the plan says. If it does not say, the run stops.
 * - A write to a file is made, finished or counted as done, as the plan says: it contains what the
 *   disk showed before the run started.
 */
export class HandOver implements Tail {
  readonly source = outside
  readonly #leftAt: number
  readonly #lateAnswers = new LateAnswers()
  readonly #doubts: DoubtSettler

  constructor(
    readonly tape: Tape,
    readonly plan: HandOverPlan,
    readonly options: DoubtOptions & {
      /** The first event that was not served. */
      readonly at: number
    },
  ) {
    this.#leftAt = leftAt(tape, plan, options.at)
    this.#doubts = new DoubtSettler(tape, plan, options)
  }

  prepare(operation: Operation, recorder: RecordSession): () => void {
    const { action, id } = operation
    const { again, answers } = this.plan
    operation.underWayMs = this.#leftAt - this.tape.event(id).at
    const begin = (start: () => void) => (): void => {
      start()
      action.handOver?.(operation, [])
    }
    const isProcess = action.event.type === 'call' && action.event.kind === 'process'
    const server =
      isProcess && action.restart !== undefined && again?.op !== id
        ? this.options.steps.serverOf(id, this.options.at)
        : undefined
    const restart = server && this.#prepareServer(operation, recorder, server)
    if (restart !== undefined) return restart
    if (answers?.op === id)
      return begin(() => {
        for (const { event, body } of plannedParts(answers))
          recorder.completed(operation, event, body, undefined)
      })
    if (again?.op === id)
      return begin(() =>
        action.start(operation, again.body === undefined ? undefined : bytesOf(again.body)),
      )
    if (action.event.type === 'timer' || action.lasting === true)
      return begin(() => action.start(operation))
    if (action.reexecuted !== true) return this.#prepareAnswer(operation)
    return begin(() => {
      if (operation.finished === undefined) return
      const fired = { type: 'deliver', part: 'fire' } as const
      recorder.completed(operation, fired, EMPTY, operation.finished.native)
    })
  }

  /** Answers a synchronous call that may have been in progress when the run was killed. */
  answerSync(op: number, call: SyncCall, recorder: RecordSession): Delivery {
    const { answers } = this.plan
    const [given] = answers?.op === op ? plannedParts(answers) : []
    if (given !== undefined) return recorder.answerSync(op, { ...call, run: () => given })
    const doubt = this.options.steps.inDoubt.get(op)
    if (doubt === undefined) return recorder.answerSync(op, call)
    const write = this.#doubts.settleWrite(doubt.seq, call.body)
    if (write !== undefined)
      return recorder.answerSync(op, write === 'again' ? call : { ...call, run: write })
    if (this.#doubts.decide(doubt.seq).decision === 'retry') return recorder.answerSync(op, call)
    const [part] = skippedAnswer(call.event)
    return recorder.answerSync(op, part === undefined ? call : { ...call, run: () => part })
  }

  /**
   * For a process that serves the agent, such as an MCP server on pipes: immediately starts a new
   * one, which answers what the agent sends from now on. Requests in progress still get their
   * recorded answers, after the recorded delays. Undefined if the recorded process ended in the
   * middle of an answer: then it ends again.
   */
  #prepareServer(
    operation: Operation,
    recorder: RecordSession,
    server: RecordedServer,
  ): (() => void) | undefined {
    const { answers } = this.plan
    const given = answers?.op === operation.id ? answers : undefined
    const isGiven = ({ answer }: OpenRequest): boolean =>
      answer?.seqs.some((seq) => given?.replaces?.includes(seq) === true) === true
    const open = server.open.filter((request) => !isGiven(request))
    const lost = open.filter(({ answer }) => answer === undefined)
    if (lost.length > 0 && server.hasEnd) return undefined
    // Requests that the run itself had abandoned get no answer.
    const decided = (this.#doubts.isCut ? lost : []).map((request) => ({
      ...request,
      ...this.#doubts.decide(request.seq),
    }))
    const late = this.#restOf(operation).filter(({ event }) => isPart(event, 'spawn'))
    for (const { answer } of open) {
      if (answer === undefined) continue
      const from = answer.seqs.at(-1) ?? this.options.at
      late.push({
        event: { type: 'deliver', part: 'chunk', pipe: 1, from },
        // The chunk may have other content, too.
        body: Buffer.from(`${answer.line}\n`),
        dueMs: this.tape.event(from).at - this.#leftAt,
        order: from,
      })
    }
    return () => {
      for (const { event, body } of given ? plannedParts(given) : [])
        recorder.completed(operation, event, body, undefined)
      this.#handLate(operation, late)
      for (const request of decided) {
        if (request.decision === 'retry') continue
        const { what } = kernelErrors.STEP_SKIPPED(request.settled.what)
        const refusal = this.options.steps.refusalOf(request, what)
        const event: NewDelivery = { type: 'deliver', part: 'chunk', pipe: 1 }
        recorder.completed(operation, event, refusal, undefined)
      }
      // The tape has placeholders where the agent sent secrets.
      const revealed = <L extends { readonly line: string }>(message: L): L => ({
        ...message,
        line: recorder.secrets.reveal(message.line),
      })
      const again = decided.filter(({ decision }) => decision === 'retry').map(revealed)
      operation.action.restart?.(
        operation,
        server.handshake.map(revealed),
        again.map(({ line }) => line),
      )
    }
  }

  /** The rest of an answer, and its replacement if the tape does not have the end of it. */
  #prepareAnswer(operation: Operation): () => void {
    const { action } = operation
    const rest = this.#restOf(operation)
    const last = rest.at(-1)
    const isComplete =
      last !== undefined && (action.event.type === 'socket' || endsAnswer(last.event))
    const replace = isComplete ? undefined : this.#prepareReplacement(operation)
    return () => {
      this.#handLate(operation, rest)
      replace?.((parts, waitMs = 0) => {
        const dueMs = (last?.dueMs ?? 0) + waitMs
        const order = last?.order ?? this.options.at
        this.#handLate(
          operation,
          parts.map((part) => ({ ...part, dueMs, order })),
        )
      })
      action.handOver?.(
        operation,
        rest.map(({ body }) => body),
      )
    }
  }

  #handLate(operation: Operation, parts: readonly LatePart[]): void {
    const { action } = operation
    const written = action.event.type === 'socket' ? action.stamp?.().written : undefined
    this.#lateAnswers.add(operation, parts, written)
  }

  /** The rest of the recorded answer; for a connection, only answers to bytes already written. */
  #restOf(operation: Operation): LatePart[] {
    const { action } = operation
    const written = action.stamp?.().written
    const parts: LatePart[] = []
    if (action.isIdle?.() === true) return parts
    for (const event of this.tape.events(this.options.at)) {
      if (!isDelivery(event) || event.op !== operation.id) continue
      const isLater =
        event.type === 'deliver' &&
        written !== undefined &&
        event.written !== undefined &&
        event.written > written
      // The close of an idle connection need not be repeated.
      const isIdleEnd =
        parts.length === 0 &&
        action.event.type === 'socket' &&
        (isPart(event, 'end') || isPart(event, 'close'))
      if (isLater || isIdleEnd) break
      parts.push({
        ...recordedPart(this.tape, event, operation.session.secrets),
        dueMs: event.at - this.#leftAt,
        order: event.seq,
      })
    }
    return parts
  }

  /**
   * Decides what the agent gets after the recorded parts of an incomplete answer: its missing end,
   * the answer to a repeated request, or an error.
   */
  #prepareReplacement(operation: Operation): (hand: HandParts) => void {
    const { event, body } = operation.action
    const { steps, machine } = this.options
    const start = (): void => operation.action.start(operation)
    const { isCut } = this.#doubts
    // In a killed run the agent was still waiting; otherwise it may have abandoned the operation.
    const end = isCut ? steps.missingEnd(operation.id) : undefined
    if (end !== undefined) return (hand) => hand(end)
    const doubt = this.#doubts.doubtAbout(operation.id)
    if (doubt === undefined) {
      if (isCut && event.type === 'socket') this.#doubts.settleConnection(operation)
      // If nobody can type, the input ends after the recorded lines. A real one would end before.
      if (readsStdin(event) && !machine.hasInput())
        return (hand) => hand([{ event: { type: 'deliver', part: 'end' }, body: EMPTY }])
      if (isInput(event) || steps.isRepeatable(event)) return start
      // The recorded run had abandoned it. The error comes late, so that the agent can do so again.
      if (event.type === 'request') return (hand) => hand(lostAnswer(event), SILENCE_MS)
      if (event.type === 'socket') return () => {}
      return (hand) => hand(lostAnswer(event), this.#untilEndMs)
    }
    const write = this.#doubts.settleWrite(doubt.seq, body)
    if (write !== undefined) return write === 'again' ? start : (hand) => hand([write()])
    const { decision, settled } = this.#doubts.decide(doubt.seq)
    if (decision === 'retry') {
      if (!doubt.partial) return start
      const seen = [...this.tape.events(doubt.seq)]
        .filter((one) => isDelivery(one) && one.op === operation.id)
        .map((one) => ({ event: one as DeliveryEvent, body: this.tape.body(one.seq) }))
      if (seen.length === 0) return start
      const repeated = new RepeatedAnswer(operation, seen, () => (settled.decision = 'lost'))
      return () => operation.action.start(repeated)
    }
    if (doubt.partial) settled.decision = 'lost'
    return (hand) => hand(doubt.partial ? lostAnswer(event) : skippedAnswer(event))
  }

  /** Time until the recorded run had ended. An answer that it never got must not come earlier. */
  get #untilEndMs(): number {
    const { tape } = this
    const restMs = tape.event(tape.count - 1).at - this.#leftAt
    return Math.min(restMs + GRACE_MS, SILENCE_MS)
  }
}

/**
 * When the run goes live, in milliseconds since it started: the time of the last served event or,
 * if its answer is edited, that of the recorded answer.
 */
export function leftAt(tape: Tape, { answers }: HandOverPlan, at: number): number {
  return tape.event(answers !== undefined && at < tape.count ? at : at - 1).at
}

/** Hands parts to the agent `waitMs` after the last recorded part. */
type HandParts = (parts: readonly AnswerPart[], waitMs?: number) => void

export const plannedParts = ({ parts }: NonNullable<HandOverPlan['answers']>): AnswerPart[] =>
  parts.map(({ event, body }) => ({ event, body: bytesOf(body) }))

const bytesOf = (base64: string): Uint8Array => Buffer.from(base64, 'base64')
