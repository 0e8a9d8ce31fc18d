import { answerPayload, editedAnswer, findApi, type Payload, type Step } from '@retake/tape'
import {
  type CallEvent,
  decodeBody,
  defined,
  encodeBody,
  type NewEvent,
  recordError,
  type RequestEvent,
  type Tape,
  isRecord,
  attempt,
} from '@retake/tape/format'
import { parseBody } from '../kernel/compare.js'
import { jsonParts, withoutFrames } from '../kernel/stand-in-answer.js'
import type { AnswerPart } from '../kernel/source.js'
import { errors, type RetakeError } from '../errors.js'
import { outsideRuns } from '../kernel/scope.js'
import type { FreeAnswer, PinnedPlan, PinnedReport, SimulatedStep, Simulator } from './plan.js'
import { withToolResults } from './tool-results.js'
import { answersAnyCall } from './effect-answers.js'
import { type RecordedStep, type PinnedMatcher } from './pinned-matcher.js'
import { EMPTY } from '../kernel/session.js'
import { createHash } from 'node:crypto'
import { pathToFileURL } from 'node:url'
import path from 'node:path'
import type { ContinuePlan } from './plan.js'

/**
 * Encodes a planned answer as the parts that a boundary delivers, in the form of the answer to
 * `like`: a stream stays a stream. Does not check that a provider could give this answer. Throws
 * if the payload does not fit the step at all.
 */
function freeParts(
  tape: Tape,
  answer: FreeAnswer,
  request: Pick<FreeRequest, 'event' | 'body'>,
  like: Step | undefined,
): AnswerPart[] {
  const { event } = request
  if ('error' in answer) return failure(event, answer.error)
  if (event.type === 'call' && event.kind === 'process')
    return event.sync === true ? syncParts(answer.payload, like) : processParts(answer.payload)
  // Without a similar recorded answer, which would show the form, the answer is JSON.
  if (like === undefined && event.type === 'request') return jsonParts(event.seam, answer.payload)
  if (like === undefined) {
    const body = Buffer.from(JSON.stringify(answer.payload) ?? 'null')
    return [{ event: { type: 'result', as: 'json' }, body }]
  }
  const payload = payloadLike(tape, like, answer.payload, request.body)
  const saysError = isRecord(payload.data) && 'error' in payload.data
  const isFailed = (like.exchange()?.response?.status ?? 200) >= 400
  const options = { force: true, ...(isFailed && !saysError && { status: 200 }) }
  return editedParts(tape, like, payload, options)
}

/** The recorded answer to a request of the Model Context Protocol, with the id of another request. */
export function answerUnderId(tape: Tape, step: Step, body: Uint8Array): AnswerPart[] | undefined {
  const mcp = step.mcp()
  const id = rpcId(body)
  if (mcp?.id === undefined || id === undefined || id === mcp.id) return undefined
  const { kind, data } = answerPayload(tape, step)
  const payload = { kind, data: { ...(data as object), id } }
  return editedParts(tape, step, payload, { force: true })
}

function payloadLike(tape: Tape, like: Step, data: unknown, body: Uint8Array): Payload {
  const event = tape.event(like.seq)
  if (event.type === 'call') return { kind: 'result', data }
  if (like.mcp()?.id !== undefined) {
    const isMessage = isRecord(data) && ('result' in data || 'error' in data)
    const said = isMessage ? data : { result: data }
    return { kind: 'json', data: { jsonrpc: '2.0', ...said, id: rpcId(body) } }
  }
  const kind = attempt(() => answerPayload(tape, like).kind, 'json')
  if (kind === 'text' && typeof data === 'string') return { kind, data: { text: data } }
  const fits = kind !== 'json' && isRecord(data) && kind in data
  return { kind: fits ? kind : 'json', data }
}

const rpcId = (body: Uint8Array): unknown => (parseBody(body) as { id?: unknown } | undefined)?.id

/** The parts without their counts of written bytes. */
const editedParts = (...edit: Parameters<typeof editedAnswer>): AnswerPart[] =>
  editedAnswer(...edit).deliveries.map(({ event, body }) => {
    if (event.type !== 'deliver') return { event, body }
    const { written: _written, digest: _digest, ...part } = event
    return { event: part, body }
  })

/** Makes the tool throw, the request fail, or the process fail to start. */
function failure(event: StepEvent, message: string): AnswerPart[] {
  const said = withoutFrames(new Error(message))
  if (event.type === 'call' && (event.kind === 'tool' || event.sync === true))
    return [{ event: { type: 'result', error: recordError(said) }, body: EMPTY }]
  const isFetch = event.type === 'request' && event.seam === 'fetch'
  const error = isFetch ? withoutFrames(new TypeError('fetch failed', { cause: said })) : said
  return [{ event: { type: 'deliver', part: 'error', error: recordError(error) }, body: EMPTY }]
}

interface ProcessAnswer {
  readonly stdout?: string
  readonly stderr?: string
  readonly exitCode?: number
}

const processAnswer = (payload: unknown): ProcessAnswer =>
  typeof payload === 'string' ? { stdout: payload } : (payload ?? {})

/** A process that prints the given output and exits. */
function processParts(payload: unknown): AnswerPart[] {
  const { stdout = '', stderr = '', exitCode = 0 } = processAnswer(payload)
  const said = (pipe: number, text: string): AnswerPart[] =>
    text === ''
      ? []
      : [{ event: { type: 'deliver', part: 'chunk', pipe }, body: Buffer.from(text) }]
  const plain = (part: string, more: object = {}): AnswerPart => ({
    event: { type: 'deliver', part, ...more },
    body: EMPTY,
  })
  return [
    plain('spawn'),
    ...said(1, stdout),
    ...said(2, stderr),
    plain('exit', { value: [exitCode, null] }),
    plain('end', { pipe: 1 }),
    plain('end', { pipe: 2 }),
    plain('close', { value: [exitCode, null] }),
  ]
}

/** The result of `spawnSync`, with texts where the recorded result had texts, otherwise bytes. */
function syncParts(payload: unknown, like: Step | undefined): AnswerPart[] {
  const { stdout = '', stderr = '', exitCode = 0 } = processAnswer(payload)
  const then = like?.call()?.result as { stdout?: unknown } | undefined
  const [out, err] = [stdout, stderr].map((text) =>
    typeof then?.stdout === 'string' ? text : Buffer.from(text),
  )
  const result = { pid: 0, output: [null, out, err], stdout: out, stderr: err }
  const { as, body } = encodeBody({ ...result, status: exitCode, signal: null })
  return [{ event: { type: 'result', as }, body }]
}

export type StepEvent = NewEvent<RequestEvent | CallEvent>

/** A request of the agent, and the recorded step that it matches. */
export interface FreeRequest {
  readonly event: StepEvent
  /** Masked. */
  readonly body: Uint8Array
  readonly recorded: RecordedStep | undefined
}

export interface FreeStepsOptions {
  readonly tape: Tape
  readonly plan: PinnedPlan
  readonly matcher: PinnedMatcher
  readonly simulator: Simulator | undefined
  readonly onBroken: (error: RetakeError) => void
  /** True if no step is free, so that nothing may run. */
  readonly isAllPinned: boolean
}

/**
 * Answers free steps without a live request: as planned, or by a simulator. If neither can, the
 * fork fails instead of silently sending the request.
 */
export class FreeSteps {
  broken: PinnedReport['broken']
  /** By `callContentKey`, the number of answers given from other tapes. */
  readonly #served = new Map<string, number>()

  constructor(readonly options: FreeStepsOptions) {}

  planned(request: FreeRequest): AnswerPart[] | undefined {
    const { recorded } = request
    const answer = recorded && this.options.plan.answers?.[recorded.label]
    return answer && this.#given(request, answer)
  }

  /** The simulated answer; undefined if the request should go live. */
  async simulated(request: FreeRequest): Promise<AnswerPart[] | undefined> {
    const { simulator } = this.options
    try {
      const answer = await outsideRuns(() => simulator?.(this.#described(request)))
      return answer === undefined ? undefined : this.#given(request, answer)
    } catch (cause) {
      this.#break(errors.SIMULATOR_FAILED(nameOf(request.event), cause))
      return []
    }
  }

  /** Like `simulated`, for a synchronous call. */
  simulatedNow(request: FreeRequest): AnswerPart[] | undefined {
    const { simulator } = this.options
    if (simulator === undefined) return undefined
    try {
      const answer = outsideRuns(() => simulator(this.#described(request)))
      if (answer instanceof Promise)
        throw new Error('it returned a promise, but this call is synchronous')
      return answer && this.#given(request, answer)
    } catch (cause) {
      throw this.#break(errors.SIMULATOR_FAILED(nameOf(request.event), cause))
    }
  }

  /** True if the step must not run, because the plan allows nothing to run, or not this effect. */
  isBlocked(request: FreeRequest): boolean {
    const { plan, isAllPinned } = this.options
    if (isAllPinned) return true
    if (plan.liveTools === undefined || !this.hasEffects(request)) return false
    const tool = this.#toolOf(request)
    return this.blocks(this.#kindOf(request)) && (tool === undefined || this.blocks(tool))
  }

  /** The recorded step whose answer also fits this blocked call, although its arguments differ. */
  assumedStep(request: FreeRequest): RecordedStep | undefined {
    const { tape, isAllPinned } = this.options
    const { recorded, event, body } = request
    if (isAllPinned || recorded === undefined) return undefined
    const call = { event, body, tool: this.#toolOf(request) }
    return answersAnyCall(tape, recorded, call) ? recorded : undefined
  }

  #toolOf(request: FreeRequest): string | undefined {
    const { event, body } = request
    if (this.#kindOf(request) !== 'mcp') return event.type === 'call' ? event.name : undefined
    const { params } = (parseBody(body) ?? {}) as { params?: { name?: unknown } }
    return typeof params?.name === 'string' ? params.name : undefined
  }

  /** True for tools, programs, and requests other than GET and HEAD that do not go to a model. */
  hasEffects(request: FreeRequest): boolean {
    const { event, body } = request
    if (event.type === 'request' && ['GET', 'HEAD'].includes(event.method)) return false
    return this.#kindOf(request) !== 'model' && !isModelRequest(event, body)
  }

  #kindOf({ event, body, recorded }: FreeRequest): ReturnType<typeof kindOf> {
    return kindOf(event, recorded ?? this.options.matcher.alike({ event, body }))
  }

  /** True if the plan forbids effects of this kind or tool. */
  blocks(name: string): boolean {
    const { plan, isAllPinned } = this.options
    return isAllPinned || plan.liveTools?.includes(name) === false
  }

  /** The planned answer to exactly this call, if any. */
  fromRecordings(request: FreeRequest): AnswerPart[] | undefined {
    const answer = this.#next(request, this.options.plan.recordings, { isLastRepeated: true })
    return answer && this.#given(request, answer)
  }

  /** The next answer that a model gave to this request in an earlier run of the fork. */
  fromSamples(request: FreeRequest): AnswerPart[] | undefined {
    const { tape, plan } = this.options
    // Only a recorded step shows the form of the answer.
    const step = request.recorded?.step
    const answer = step && this.#next(request, plan.samples, { isLastRepeated: false })
    return answer && attempt(() => freeParts(tape, answer, request, step))
  }

  #next(
    { event, body }: FreeRequest,
    from: PinnedPlan['samples'],
    { isLastRepeated }: { readonly isLastRepeated: boolean },
  ): FreeAnswer | undefined {
    if (from === undefined) return undefined
    const key = callContentKey(event, body)
    const answers = from[key] ?? []
    const given = this.#served.get(key) ?? 0
    const answer = answers[isLastRepeated ? Math.min(given, answers.length - 1) : given]
    if (answer !== undefined) this.#served.set(key, given + 1)
    return answer
  }

  /** Ends the fork: the step must not run, and no recording has its answer. */
  block(request: FreeRequest): RetakeError {
    const kind = this.#kindOf(request)
    const tool = kind === 'process' ? undefined : this.#toolOf(request)
    return this.breakAt(nameOf(request.event), tool ?? kind)
  }

  /** `effect`: the name under which a plan could let it run. */
  breakAt(what: string, effect?: string): RetakeError {
    return this.options.isAllPinned
      ? this.#break(errors.NOT_IN_RECORDING(what))
      : this.#break(errors.EFFECT_BLOCKED(what), effect)
  }

  #given(request: FreeRequest, answer: FreeAnswer): AnswerPart[] {
    const like = request.recorded ?? this.options.matcher.alike(request)
    try {
      return freeParts(this.options.tape, answer, request, like?.step)
    } catch (cause) {
      this.#break(errors.FREE_ANSWER_UNUSABLE(nameOf(request.event), cause))
      return []
    }
  }

  #described({ event, body, recorded }: FreeRequest): SimulatedStep {
    const { tape, plan, matcher } = this.options
    const isFrozen = plan.mode === 'frozen' && recorded !== undefined
    const step = recorded?.step
    const payload = step && attempt(() => answerPayload(tape, step))
    const then = payload ? payload.data : step?.kind === 'process' ? step.call()?.result : undefined
    const given = isFrozen ? tape.body(recorded.seq) : body
    const sent = withToolResults(given, plan.results ?? []) ?? given
    const request =
      event.type === 'call'
        ? decodeBody(event.as ?? 'json', sent)
        : (parseBody(sent) ?? Buffer.from(sent).toString('utf8'))
    return {
      ...(recorded && { label: recorded.label }),
      kind: kindOf(event, recorded ?? matcher.alike({ event, body })),
      name: nameOf(event),
      request: (recorded && plan.requests?.[recorded.label]) ?? request,
      ...(then !== undefined && { recorded: then }),
      seed: plan.seed,
    }
  }

  #break(error: RetakeError, effect?: string): RetakeError {
    const { code, what, why, fix } = error
    this.broken ??= { code, what, why, fix, ...defined({ effect }) }
    this.options.onBroken(error)
    return error
  }
}

const nameOf = (event: StepEvent): string => {
  if (event.type === 'request') return `${event.method} ${event.url}`
  return event.kind === 'process' ? (event.title ?? event.name) : event.name
}

/** True if a model answers this request, even if the recording has no similar request. */
export function isModelRequest(event: StepEvent, body: Uint8Array = EMPTY): boolean {
  if (event.type !== 'request' || !URL.canParse(event.url)) return false
  const text = Buffer.from(body).toString('latin1')
  const { method, headers } = event
  const { api } = findApi({
    method,
    url: new URL(event.url),
    headers,
    mentions: (...keys) => keys.every((key) => text.includes(`"${key}"`)),
    json: () => parseBody(body),
  })
  return api !== 'http'
}

/** A key shared by calls with the same name and arguments, or requests with the same address and body. */
export function callContentKey(event: StepEvent, body: Uint8Array): string {
  const sha = createHash('sha256').update(body).digest('base64url').slice(0, 22)
  return event.type === 'call'
    ? `${event.kind} ${event.kind === 'process' ? (event.title ?? event.name) : event.name} ${sha}`
    : `${event.method} ${event.url} ${sha}`
}

function kindOf(event: StepEvent, like: RecordedStep | undefined): SimulatedStep['kind'] {
  if (event.type === 'call') return event.kind === 'process' ? 'process' : 'tool'
  const kind = like?.step.kind
  return kind === undefined || kind === 'mark' ? 'http' : kind
}

/** Imports the simulator that a plan names. Its own work is not part of the run. */
export async function loadSimulator({ pinned }: ContinuePlan): Promise<Simulator | undefined> {
  const file = pinned?.simulator
  if (file === undefined) return undefined
  let module: { readonly default?: unknown }
  try {
    const { href } = pathToFileURL(path.resolve(file))
    module = (await outsideRuns(() => import(href))) as { readonly default?: unknown }
  } catch (cause) {
    throw errors.SIMULATOR_UNUSABLE(file, cause)
  }
  if (typeof module.default !== 'function')
    throw errors.SIMULATOR_UNUSABLE(file, 'It has no function as its default export')
  return module.default as Simulator
}
