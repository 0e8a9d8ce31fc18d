import { type Step } from '@retake/tape'
import {
  type CallEvent,
  type InitiationEvent,
  isDelivery,
  isInitiation,
  type NewEvent,
  pushTo,
  type RequestEvent,
  type Tape,
} from '@retake/tape/format'
import type { DrawnValues } from '../kernel/draws.js'
import {
  bodySha,
  compareInitiation,
  isAddedHeader,
  parseBody,
  recordedSha,
  type Started,
} from '../kernel/compare.js'
import { viewOf } from './find-doubts.js'
import { isStepEvent, type TapeTimeline } from '../kernel/timeline.js'
import type { FreeRequest, StepEvent } from './free-answers.js'
import type { PinnedReport } from './plan.js'
import { EMPTY, type Operation, type Session } from '../kernel/session.js'
import { isSearchedMethod } from './mcp-child.js'
import { createHash } from 'node:crypto'

/** A recorded step that may match a step of a blame fork or a rerun. */
export interface RecordedStep {
  readonly step: Step
  readonly label: string
  readonly seq: number
  readonly event: RequestEvent | CallEvent
  readonly key: string
  /** Numbers of the deliveries of its answer. */
  readonly parts: readonly number[]
  /** The delivery that the agent was handling when it started this step. */
  readonly turn: number
  used: boolean
}

/** All steps that are a request, a tool call or a process. */
export function recordedSteps(
  tape: Tape,
  steps: readonly Step[],
  answers: TapeTimeline,
): RecordedStep[] {
  return steps.flatMap((step) => {
    const event = step.inferred ? undefined : tape.event(step.seq)
    if (event === undefined || !isStepEvent(event)) return []
    const { label, seq } = step
    const { parts = [], turn = 0 } = answers.byStart.get(seq) ?? {}
    const key = stepKey(event, tape.body(seq))
    return [{ step, label, seq, event, key, parts, turn, used: false }]
  })
}

/**
 * A key shared by all steps that may match: kind and name; for a request, the host and the form of
 * the answer. `PinnedMatcher` also compares path or call site.
 */
function stepKey(event: NewEvent<InitiationEvent>, body: Uint8Array): string {
  if (event.type === 'call') {
    const program = event.kind === 'process' ? ` ${(event.title ?? '').split(' ')[0]}` : ''
    return `${event.kind} ${event.name}${program}`
  }
  if (event.type !== 'request') return event.type
  // A model request that expects a stream.
  const form = body[0] === OBJECT && /"stream"\s*:\s*true/.test(textOf(body)) ? ' stream' : ''
  return `${event.method} ${originOf(event.url)}${rpcName(body)}${form}`
}

const textOf = (body: Uint8Array): string => Buffer.from(body).toString('latin1')

/** All requests of the Model Context Protocol go to one address, so their method identifies them. */
function rpcName(body: Uint8Array): string {
  if (body[0] !== OBJECT) return ''
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  if (!text.includes('"jsonrpc"')) return ''
  const { jsonrpc, method, params } = (parseBody(body) ?? {}) as {
    jsonrpc?: unknown
    method?: unknown
    params?: { name?: unknown }
  }
  if (jsonrpc !== '2.0' || typeof method !== 'string') return ''
  return ` ${method} ${typeof params?.name === 'string' ? params.name : ''}`
}

const OBJECT = 0x7b

const originOf = (url: string): string => /^[a-z]+:\/\/[^/?#]*/i.exec(url)?.[0] ?? url

const pathOf = (url: string): string => url.slice(originOf(url).length).split(/[?#]/)[0] ?? ''

/** The messages of a model request, as hashes. */
interface Conversation {
  /** All messages, the system prompt first. */
  readonly turns: readonly string[]
  /** The first message of a user, which all requests of a lane share. */
  readonly task: string | undefined
  /** The message to be answered. */
  readonly last: string | undefined
}

/** Current and recorded requests without clock and random values: the text, and the conversation in it. */
class RequestTexts {
  readonly #texts = new Map<RecordedStep, string>()
  readonly #conversations = new Map<RecordedStep, Conversation | undefined>()

  constructor(
    readonly tape: Tape,
    readonly drawn: DrawnValues,
  ) {}

  /** The body, or the address if there is none. */
  of(event: StepEvent, body: Uint8Array): string {
    const isBare = event.type === 'request' && body.length === 0
    return this.drawn.without(isBare ? Buffer.from(event.url) : body)
  }

  ofStep(step: RecordedStep): string {
    const known = this.#texts.get(step)
    if (known !== undefined) return known
    const text = this.of(step.event, this.tape.body(step.seq))
    this.#texts.set(step, text)
    return text
  }

  /** The conversation in a request, if any. It distinguishes the lanes of an agent. */
  conversation(body: Uint8Array): Conversation | undefined {
    const request = parseBody(body)
    if (typeof request !== 'object' || request === null) return undefined
    const { messages, input, contents, ...rest } = request as Record<string, unknown>
    const turns = [messages, input, contents].find((each) => Array.isArray(each))
    if (!Array.isArray(turns)) return undefined
    const hashOf = (turn: unknown): string => {
      const text = this.drawn.without(Buffer.from(JSON.stringify(turn) ?? ''))
      return createHash('sha1').update(text, 'latin1').digest('base64')
    }
    const system = rest['system'] ?? rest['instructions'] ?? rest['systemInstruction'] ?? null
    const task = (turns as ({ role?: unknown } | null)[]).find((turn) => turn?.role === 'user')
    const hashes = [system, ...(turns as unknown[])].map(hashOf)
    return {
      turns: hashes,
      task: task === undefined ? undefined : hashOf(task),
      last: hashes.at(-1),
    }
  }

  conversationOf(step: RecordedStep): Conversation | undefined {
    if (!this.#conversations.has(step))
      this.#conversations.set(step, this.conversation(this.tape.body(step.seq)))
    return this.#conversations.get(step)
  }
}

/**
 * Tracks the cause of each operation: the step whose answer made the agent start it. Programs are
 * deterministic between deliveries, so an operation is caused by the delivery before it. Timers and
 * files pass on their own cause. Where several lanes join, the last one to arrive is the cause.
 */
export class StepCauses {
  /** By operation, the step that caused it. */
  readonly #of = new Map<number, number | undefined>()
  readonly #steps = new Set<number>()
  /** By connection, the request that was written last. */
  readonly #requestBySocket = new Map<number, number>()
  readonly #unsure = new Set<number>()
  #current: number | undefined
  #delivered: number | undefined

  /** The causes before event `until` of a tape. */
  static of(tape: Tape, until: number): StepCauses {
    const causes = new StepCauses()
    const synchronous = new Set<number>()
    for (const event of tape.events(1, until)) {
      if (isInitiation(event)) {
        causes.started(event.seq, event)
        if (event.type === 'call' && event.sync === true) synchronous.add(event.seq)
      } else if (isDelivery(event) && !synchronous.has(event.op)) causes.delivered(event.op)
    }
    return causes
  }

  started(op: number, event: NewEvent<InitiationEvent>): void {
    this.#of.set(op, this.#current)
    if (!isStepEvent(event)) return
    this.#steps.add(op)
    if (event.type !== 'request' || event.socket === undefined) return
    this.#requestBySocket.set(event.socket, op)
    if (event.socket === this.#delivered) this.#unsure.add(op)
  }

  delivered(op: number): void {
    this.#delivered = op
    const step = this.#steps.has(op) ? op : this.#requestBySocket.get(op)
    this.#current = step ?? this.#of.get(op)
  }

  /** The step that caused an operation; undefined if that is not certain. */
  causeOf(op: number): number | undefined {
    return this.#unsure.has(op) ? undefined : this.#of.get(op)
  }

  /**
   * True if the operation was written right after an answer on the same connection. The answer may
   * have caused it, or it may have waited for the connection to become free.
   */
  isUnsure(op: number): boolean {
    return this.#unsure.has(op)
  }

  requestOn(connection: number): number | undefined {
    return this.#requestBySocket.get(connection)
  }

  /** True if `step` follows from `from`, directly or through others. */
  follows(step: number, from: number): boolean {
    for (let at = this.causeOf(step); at !== undefined; at = this.causeOf(at))
      if (at === from) return true
    return false
  }
}

/** Recorded steps that could come next, judged by the causes in the recording. */
class StepOrder {
  readonly #bySeq: ReadonlyMap<number, RecordedStep>

  constructor(
    steps: readonly RecordedStep[],
    readonly causes: StepCauses,
    /** True if the step was started in the fork and waits for its answer. */
    readonly isUnderWay: (step: RecordedStep) => boolean,
  ) {
    this.#bySeq = new Map(steps.map((step) => [step.seq, step]))
  }

  /** The candidates that come next after a step. */
  nextOf(candidates: readonly RecordedStep[], after: RecordedStep | undefined): RecordedStep[] {
    if (after === undefined) return []
    return this.first(
      candidates.filter(
        ({ seq }) => this.causes.follows(seq, after.seq) || this.causes.isUnsure(seq),
      ),
    )
  }

  /** The candidates that do not follow from another candidate. */
  first(candidates: readonly RecordedStep[]): RecordedStep[] {
    return candidates.filter(
      ({ seq }) =>
        !candidates.some((other) => other.seq < seq && this.causes.follows(seq, other.seq)),
    )
  }

  /**
   * True if its lane has not come this far, because its cause is still being answered. With
   * `isStrict`, also if its cause was not started.
   */
  isAhead({ seq }: RecordedStep, isStrict = false): boolean {
    for (let at = this.causes.causeOf(seq); at !== undefined; at = this.causes.causeOf(at)) {
      const step = this.#bySeq.get(at)
      if (step?.used === true) return this.isUnderWay(step)
      if (isStrict) return true
    }
    return false
  }

  /** True if `found` does not continue the work of the step `after`. */
  isOther(found: RecordedStep, after: RecordedStep | undefined): boolean {
    if (after === undefined) return false
    const isNext = this.causes.follows(found.seq, after.seq)
    return !isNext || found.step.lane !== after.step.lane
  }
}

/** A request, tool call or process of the agent in a fork. */
export interface RequestedStep extends Started {
  /** Event of this run that starts it. */
  readonly seq: number
  readonly event: StepEvent
}

interface CausedStep {
  readonly event: StepEvent
  /** Masked, as on a tape. */
  readonly body: Uint8Array
  /** The nearest recorded step from which it follows, if known. */
  readonly after: RecordedStep | undefined
  /** True if its direct cause is not a recorded step. */
  readonly isAfterOther: boolean
}

type Request = Pick<CausedStep, 'event' | 'body'>

export interface PinnedMatcherOptions {
  /**
   * `identical`: only requests that differ in nothing but drawn values match. `judged`: a request
   * also matches the step that it corresponds to.
   */
  readonly match: 'identical' | 'judged'
  /** True if requests that differ only in the system prompt match, too. */
  readonly ignoresSystem: boolean
  /** The first event that was not served. */
  readonly at: number
  readonly drawn: DrawnValues
  readonly owner: Pick<Session, 'secrets'>
  readonly isPinned: (step: RecordedStep) => boolean
}

/** A smaller lead in the common beginning may be a coincidence. */
const DISTINCT_BYTES = 8
/** A lead counts more than the order of candidates if it is this share of the remaining text. */
const DISTINCT_SHARE = 0.25

/**
 * Finds the recorded step that a request of a blame fork or a rerun corresponds to. Identical requests are
 * found wherever they are made. Any other match is a judgement: first the lane whose conversation
 * begins alike, then the step with the same cause, then the earliest step. No step is matched
 * twice. A request that continues a lane whose recorded steps are all used matches nothing, rather
 * than a step of another lane.
 */
export class PinnedMatcher {
  readonly #byKey = new Map<string, RecordedStep[]>()
  readonly #order: StepOrder
  readonly #texts: RequestTexts
  /** Causes in the recording, and in this run. */
  readonly #recordedCauses: StepCauses
  readonly causes: StepCauses
  /** By event of this run, the recorded step that it matched. */
  readonly #matches = new Map<number, RecordedStep>()
  /** Steps that were started in the fork, and wait for their answers. */
  readonly #underWay = new Set<RecordedStep>()
  readonly #matched: Record<string, number> = {}
  readonly #forced: string[] = []
  #unmatched = 0

  constructor(
    readonly tape: Tape,
    steps: readonly RecordedStep[],
    readonly options: PinnedMatcherOptions,
  ) {
    const { at, drawn } = options
    this.#recordedCauses = StepCauses.of(tape, tape.count)
    this.causes = StepCauses.of(tape, at)
    this.#order = new StepOrder(steps, this.#recordedCauses, (step) => this.#underWay.has(step))
    this.#texts = new RequestTexts(tape, drawn)
    for (const step of steps) {
      pushTo(this.#byKey, step.key, step)
      if (step.seq >= at) continue
      this.#note(step.seq, step)
      if (step.parts.every((seq) => seq < at)) this.answered(step)
    }
  }

  get report(): Pick<PinnedReport, 'matched' | 'forced' | 'unmatched'> {
    return { matched: this.#matched, forced: this.#forced, unmatched: this.#unmatched }
  }

  take({ seq, event, body: bytes = EMPTY }: RequestedStep): FreeRequest {
    const body = this.options.owner.secrets.unredacted.body(event, bytes)
    const known = this.#matches.get(seq)
    if (known !== undefined) return { event, body, recorded: known }
    const cause = this.causes.causeOf(seq)
    const isAfterOther = cause !== undefined && !this.#matches.has(cause)
    // The nearest event with a recorded step from which this one follows.
    let matched = cause
    while (matched !== undefined && !this.#matches.has(matched))
      matched = this.causes.causeOf(matched)
    const after = matched === undefined ? undefined : this.#matches.get(matched)
    const recorded = this.#find({ event, body, after, isAfterOther })
    if (recorded === undefined) this.#unmatched += 1
    else this.#note(seq, recorded)
    return { event, body, recorded }
  }

  /** Notes that a request to an MCP server on pipes corresponds to this step. */
  noteServed({ label }: Step, seq: number, isForced: boolean): void {
    this.#matched[label] = seq
    if (isForced) this.#forced.push(label)
  }

  /** Called when a part of an answer reaches the agent; `isLast` if it completes the answer. */
  delivered({ id }: Operation, isLast: boolean): void {
    this.causes.delivered(id)
    const step = this.#matches.get(this.causes.requestOn(id) ?? id)
    if (step !== undefined && isLast) this.answered(step)
  }

  answered(step: RecordedStep): void {
    this.#underWay.delete(step)
  }

  #note(seq: number, step: RecordedStep): void {
    step.used = true
    this.#matches.set(seq, step)
    this.#matched[step.label] = seq
    this.#underWay.add(step)
  }

  #find(requested: CausedStep): RecordedStep | undefined {
    const { match, isPinned } = this.options
    const same = this.#sameKind(requested)
    const unused = same.filter(({ used }) => !used)
    const identical = this.#identical(unused, requested)
    const alike = identical.length > 0 ? identical : this.#underOtherSystem(unused, requested)
    // Among equally good candidates, prefers the one with the same cause, then the earliest.
    const found =
      alike.length > 0 || match === 'identical'
        ? (this.#order.nextOf(alike, requested.after)[0] ??
          alike.find((one) => !this.#order.isAhead(one)) ??
          alike[0])
        : this.#nearest(unused, same, requested)
    if (found === undefined) return undefined
    const isSame = identical.length > 0 && (match === 'judged' || this.#isExact(found, requested))
    if (!isSame && isPinned(found)) this.#forced.push(found.label)
    return found
  }

  /** Any recorded step of the same kind, as an example of the form of its answer. */
  alike({ event, body }: Request): RecordedStep | undefined {
    const bucket = this.#byKey.get(stepKey(event, body)) ?? []
    const path = event.type === 'request' ? pathOf(event.url) : ''
    const answered = bucket.filter(({ parts }) => parts.length > 0)
    return (
      answered.find((one) => one.event.type === 'request' && pathOf(one.event.url) === path) ??
      answered[0]
    )
  }

  /** An answered step with the same request: the one that it was matched with, otherwise the last. */
  sameCall({
    event,
    body,
    recorded,
  }: Request & { readonly recorded: RecordedStep | undefined }): RecordedStep | undefined {
    const bucket = this.#byKey.get(stepKey(event, body)) ?? []
    const answered = bucket.filter(({ parts }) => parts.length > 0)
    const same = this.#identical(answered, { event, body })
    return recorded !== undefined && same.includes(recorded) ? recorded : same.at(-1)
  }

  #sameKind({ event, body }: CausedStep): readonly RecordedStep[] {
    const bucket = this.#byKey.get(stepKey(event, body)) ?? []
    if (event.type !== 'request') return bucket
    const path = pathOf(event.url)
    return bucket.filter(
      (one) =>
        one.event.type === 'request' &&
        (pathOf(one.event.url) === path ||
          (event.site !== undefined && one.event.site === event.site)),
    )
  }

  // ── the same request ──────────────────────────────────────────────────────

  #identical(candidates: readonly RecordedStep[], { event, body }: Request): RecordedStep[] {
    const exact = candidates.filter((one) => this.#isExact(one, { event, body }))
    if (exact.length > 0) return exact
    const { drawn } = this.options
    const text = this.#texts.of(event, body)
    return candidates.filter(
      (one) =>
        this.#texts.ofStep(one) === text &&
        compareInitiation(one.event, event).every(
          (mismatch) =>
            isAddedHeader(mismatch) ||
            drawn.differsOnlyInDrawn(mismatch.recorded, mismatch.current),
        ),
    )
  }

  #isExact({ seq, event: recorded }: RecordedStep, { event, body }: Request): boolean {
    return (
      recordedSha(this.tape, seq) === bodySha(body) &&
      compareInitiation(recorded, event).every(isAddedHeader)
    )
  }

  /** Candidates that differ only in the system prompt, if that is ignored. */
  #underOtherSystem(
    candidates: readonly RecordedStep[],
    { event, body }: CausedStep,
  ): RecordedStep[] {
    if (!this.options.ignoresSystem) return []
    const text = withoutSystem(body)
    if (text === undefined) return []
    return candidates.filter(
      (one) =>
        withoutSystem(this.tape.body(one.seq)) === text &&
        compareInitiation(one.event, event).every(isAddedHeader),
    )
  }

  // ── another request ───────────────────────────────────────────────────────

  #nearest(
    unused: readonly RecordedStep[],
    same: readonly RecordedStep[],
    requested: CausedStep,
  ): RecordedStep | undefined {
    const used = same.filter((one) => one.used)
    const text = this.#texts.of(requested.event, requested.body)
    const conversation = this.#texts.conversation(requested.body)
    /** Number of messages with which both conversations begin. */
    const lead = (one: RecordedStep): number => {
      const now = conversation?.turns ?? []
      const then = this.#texts.conversationOf(one)?.turns ?? []
      let length = 0
      while (length < now.length && now[length] === then[length]) length += 1
      return length
    }
    const common = (one: RecordedStep): number => commonLength(this.#texts.ofStep(one), text)
    const continuesOtherLane = (one: RecordedStep): boolean =>
      conversation === undefined
        ? most(used, common) >= common(one) + DISTINCT_BYTES
        : most(used, lead) > lead(one)
    // Rejects a match if the request continues another lane, whose recorded steps are all used.
    const unlessElsewhere = (found: RecordedStep): RecordedStep | undefined =>
      this.#order.isOther(found, requested.after) && continuesOtherLane(found) ? undefined : found
    const { site } = requested.event
    const causes = this.#recordedCauses
    let candidates = prefer(
      unused,
      (one) => site !== undefined && (one.event.site === site || causes.isUnsure(one.seq)),
    )
    candidates = best(candidates, lead)
    if (conversation !== undefined)
      candidates = prefer(
        candidates,
        (one) => this.#texts.conversationOf(one)?.last === conversation.last,
      )
    const mostSimilar =
      conversation === undefined ? this.#mostSimilar(candidates, common) : undefined
    if (mostSimilar !== undefined) return unlessElsewhere(mostSimilar)
    const next = this.#order.nextOf(candidates, requested.after)
    const possible =
      next.length > 0
        ? next
        : this.#order.first(
            candidates.filter((one) => !this.#order.isAhead(one, requested.isAfterOther)),
          )
    const longest = best(possible, common)
    const [chosen] = longest
    const [first] = possible
    if (chosen === undefined || first === undefined) return undefined
    // Only concurrent steps may change their order.
    const isRace =
      (next.length > 0 && chosen.turn !== first.turn) || this.#areLanes(same, chosen, first)
    const threshold = isRace ? 1 : DISTINCT_BYTES
    const found = common(chosen) >= common(first) + threshold ? chosen : first
    return unlessElsewhere(found)
  }

  /** True if two steps belong to concurrent conversations. */
  #areLanes(same: readonly RecordedStep[], one: RecordedStep, other: RecordedStep): boolean {
    const [a, b] = [one, other].map((step) => {
      const mark = this.#texts.conversationOf(step)?.task
      const lane = same.filter((each) => this.#texts.conversationOf(each)?.task === mark)
      return { mark, size: lane.length, from: lane[0]?.seq ?? 0, to: lane.at(-1)?.seq ?? 0 }
    })
    if (a?.mark === undefined || b?.mark === undefined || a.mark === b.mark) return false
    return a.size > 1 && b.size > 1 && a.from < b.to && b.from < a.to
  }

  /** The candidate whose request has clearly the longest common beginning with this one. */
  #mostSimilar(
    candidates: readonly RecordedStep[],
    common: (one: RecordedStep) => number,
  ): RecordedStep | undefined {
    const [first, second] = [...candidates]
      .map((one) => ({ one, length: common(one) }))
      .toSorted((a, b) => b.length - a.length)
    if (first === undefined || second === undefined) return undefined
    const more = first.length - second.length
    const rest = this.#texts.ofStep(first.one).length - second.length
    return more >= DISTINCT_BYTES && more >= rest * DISTINCT_SHARE ? first.one : undefined
  }
}

/** A request to a model without its system prompt; undefined for any other request. */
function withoutSystem(body: Uint8Array): string | undefined {
  const request = parseBody(body)
  if (typeof request !== 'object' || request === null) return undefined
  const rest = { ...request } as Record<string, unknown>
  for (const key of ['system', 'instructions', 'systemInstruction']) delete rest[key]
  const turns = ['messages', 'input'].filter((key) => Array.isArray(rest[key]))
  if (turns.length === 0 && !('contents' in rest)) return undefined
  for (const key of turns)
    rest[key] = (rest[key] as ({ role?: unknown } | null)[]).filter(
      (turn) => turn?.role !== 'system' && turn?.role !== 'developer',
    )
  return JSON.stringify(rest)
}

const commonLength = (a: string, b: string): number => {
  const end = Math.min(a.length, b.length)
  let at = 0
  while (at < end && a.charCodeAt(at) === b.charCodeAt(at)) at += 1
  return at
}

const most = (steps: readonly RecordedStep[], rank: (one: RecordedStep) => number): number =>
  steps.reduce((sum, one) => Math.max(sum, rank(one)), 0)

const best = (
  steps: readonly RecordedStep[],
  rank: (one: RecordedStep) => number,
): readonly RecordedStep[] => {
  if (steps.length < 2) return steps
  const top = most(steps, rank)
  return steps.filter((one) => rank(one) === top)
}

/** The candidates that pass, or all if none does. */
const prefer = (
  steps: readonly RecordedStep[],
  fits: (one: RecordedStep) => boolean,
): readonly RecordedStep[] => {
  const found = steps.filter((one) => fits(one))
  return found.length > 0 ? found : steps
}

/**
 * The steps of a run that can be pinned or free in a fork: those with a complete answer. Marks and
 * inferred steps make no request; an abandoned request has no answer to pin.
 */
export function searchableSteps(tape: Tape): Step[] {
  const steps = viewOf(tape).recordedSteps
  const servers = serversIn(tape, steps)
  return steps.filter((step) => whyNotSearchable(tape, step, servers) === undefined)
}

/**
 * Labels of the steps that a rerun serves wherever the same request is made. Excludes programs that
 * were written to, because their input comes after their start.
 */
export function servedByContent(tape: Tape): string[] {
  const written = new Set<number>()
  for (const event of tape.events(1)) if (event.type === 'write') written.add(event.op)
  return searchableSteps(tape)
    .filter(({ seq }) => isStepEvent(tape.event(seq)) && !written.has(seq))
    .map(({ label }) => label)
}

/** True if the answer depends on data that the provider stores, not only on the request. */
export const isStoredConversation = (body: Uint8Array): boolean => STORED.test(textOf(body))

const STORED = /"(previous_response_id|conversation|container|thread_id)"\s*:\s*["{]/

/** Child processes that answer requests on their pipes, by the event that started them. */
export function serversIn(tape: Tape, steps: readonly Step[]): ReadonlySet<number> {
  const requested = steps.map(({ seq }) => tape.event(seq))
  return new Set(requested.flatMap((event) => (event.type === 'write' ? [event.op] : [])))
}

/** The reason why a step cannot be searched, in words. */
export function whyNotSearchable(
  tape: Tape,
  step: Step,
  servers: ReadonlySet<number>,
): string | undefined {
  if (step.kind === 'mark') return 'it is a mark that the agent set'
  if (step.inferred) return 'it was not recorded, and appears only in the conversation'
  const event = tape.event(step.seq)
  if (event.type === 'deliver')
    return 'a server sent it over the pipes of a child process, which a fork restarts'
  if (event.type === 'write' && !isSearchedMethod(step.mcp()?.method ?? ''))
    return 'it belongs to the protocol of a server on pipes, and is always answered from the tape'
  if (servers.has(step.seq)) return 'it is a server with many requests'
  if (event.type === 'socket') return 'the connection failed'
  if (step.state === 'aborted') return 'the agent gave up on it before its answer was complete'
  if (step.state === 'in doubt') return 'its answer is not on the tape'
  if (step.answerSeqs.length === 0) return 'it has no answer'
  if (event.type === 'request' && isUpgrade(event)) return 'it opens a connection of another kind'
  return undefined
}

/** True if a request opens a WebSocket or a tunnel. */
export const isUpgrade = ({ method, headers }: RequestEvent): boolean =>
  method === 'CONNECT' || headers.some(([name]) => name.toLowerCase() === 'upgrade')
