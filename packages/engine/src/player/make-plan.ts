import path from 'node:path'
import {
  answerPayload,
  drawPayload,
  editedAnswer,
  editedDraw,
  type EditOptions,
  getPath,
  type Payload,
  payloadBytes,
  requestPayload,
  setPath,
  type Step,
  wholeResponse,
} from '@retake/tape'
import {
  type BranchEdit,
  encodeBody,
  fromWire,
  type Tape,
  type TapeEvent,
} from '@retake/tape/format'
import { errors } from '../errors.js'
import { newRunId } from '../run-id.js'
import type { ContinuePlan, InDoubtPolicy, PinnedPlan } from './plan.js'
import { refuseDoubt, safeToRepeat, viewOf } from './in-doubt.js'
import { isCutOff } from './timeline.js'
import { searchableSteps, servedByContent, serversIn, whyNotSearchable } from './pinned-matcher.js'

export interface ForkPlanOptions extends EditOptions {
  /** Number or label of a step; `e123` means event 123, to change a clock or random value. */
  readonly at: number | string
  /** Changes in the parsed answer, by path: `{ 'choices.0.message.content': 'No.' }`. */
  readonly set?: Readonly<Record<string, unknown>>
  /** Replaces the whole answer: the text of a file, or parsed JSON. */
  readonly response?: Uint8Array | Readonly<Record<string, unknown>>
  /** The same as an edited payload, as `answerPayload` gives it. */
  readonly payload?: Payload
  /** Changes in the request, by path; the answer is then live. */
  readonly request?: Readonly<Record<string, unknown>>
  /** Replaces the whole request: an edited payload, as `requestPayload` gives it. */
  readonly requestPayload?: Payload
  /** `offline`: after the fork, too, only answers of the parent are used. */
  readonly tail?: 'live' | 'offline'
  /** Name of the branch; that of its parent unless set. */
  readonly name?: string
}

type Change = Pick<ContinuePlan, 'until' | 'answers' | 'again' | 'draw'> & {
  readonly edits: readonly BranchEdit[]
}

/**
 * A plan for a fork at a step. With a changed answer the step is served like all
 * before it; without one its request is sent again.
 */
export function planFork(tape: Tape, options: ForkPlanOptions): ContinuePlan {
  const { tail = 'live', name } = options
  const at = String(options.at)
  const event = /^e(\d+)$/.exec(at)?.[1]
  const change =
    event === undefined
      ? changeStep(tape, findStep(tape, at), options)
      : changeDraw(tape, Number(event), options)
  const { edits, ...plan } = change
  const branch = newBranch(tape, { kind: 'fork', at, edits, tail }, name)
  return {
    source: path.resolve(tape.path),
    branch,
    overlay: planOverlay(branch.path),
    leave: 'at the end',
    ...plan,
    inDoubt: 'skip',
    tail,
  }
}

function findStep(tape: Tape, label: string): Step {
  const view = viewOf(tape)
  const step = view.step(label)
  if (step === undefined)
    throw errors.NO_SUCH_STEP(tape.run.id, label, view.recordedSteps.length, tape.status)
  if (step.inferred) throw errors.STEP_NOT_RECORDED(tape.run.id, label, String(step.number))
  return step
}

function changeDraw(tape: Tape, seq: number, options: ForkPlanOptions): Change {
  const { set, request, response, status } = options
  if (
    hasKeys(request) ||
    options.requestPayload !== undefined ||
    response !== undefined ||
    status !== undefined
  )
    throw errors.CHANGE_DOES_NOT_FIT(
      `Event ${seq}`,
      'A value of clock or random is changed with --set.',
    )
  // Without another value it is drawn again.
  if (!hasKeys(set)) {
    drawPayload(tape, seq)
    return { until: seq, edits: [] }
  }
  const { payload, edits } = applySets(drawPayload(tape, seq), 'draw', options.set, options)
  return { until: seq, draw: { value: editedDraw(tape, seq, payload, options).value }, edits }
}

function changeStep(tape: Tape, step: Step, options: ForkPlanOptions): Change {
  const { set, response, request } = options
  const changesRequest = hasKeys(request) || options.requestPayload !== undefined
  const changesAnswer =
    response !== undefined ||
    options.payload !== undefined ||
    options.status !== undefined ||
    hasKeys(set)
  if (changesAnswer && changesRequest) throw errors.ANSWER_AND_REQUEST_EDITED()
  if (changesAnswer) return changeAnswer(tape, step, options)
  const event = tape.event(step.seq)
  if (event.type === 'note' && changesRequest) requestPayload(tape, step)
  if (event.type === 'write' || event.type === 'deliver')
    return repeatRequest(step, event, changesRequest)
  const op = event.type === 'request' ? (event.socket ?? event.seq) : event.seq
  // A mark is no call: the run just goes live behind it.
  if (event.type === 'note') return { until: step.seq + 1, edits: [] }
  if (!changesRequest) return { until: step.seq + 1, again: { op }, edits: [] }
  const whole = options.requestPayload
  const original = whole ?? requestPayload(tape, step)
  const { payload, edits } = applySets(original, 'request', request, options)
  const body = event.type === 'call' ? toolArguments(payload) : payloadBytes(payload)
  const replaced: BranchEdit[] = whole ? [{ target: 'request', value: whole.data }] : []
  return {
    until: step.seq + 1,
    again: { op, body: base64(body) },
    edits: [...replaced, ...edits],
  }
}

/** On the pipes of a server: the run goes live just before the request, and a new server answers. */
function repeatRequest(step: Step, event: TapeEvent, changesRequest: boolean): Change {
  const what = `Step ${step.label}`
  if (event.type === 'deliver')
    throw errors.CHANGE_DOES_NOT_FIT(
      what,
      'The server asks here. Fork at the call that made it ask.',
    )
  if (changesRequest)
    throw errors.CHANGE_DOES_NOT_FIT(
      what,
      'It was sent over the pipes of a child process: its answer can be changed, but not the request.',
    )
  return { until: step.seq, edits: [] }
}

function changeAnswer(tape: Tape, step: Step, options: ForkPlanOptions): Change {
  const { response, set, status } = options
  if (status !== undefined && step.exchange() === undefined)
    throw errors.CHANGE_DOES_NOT_FIT(
      `Step ${step.label}`,
      'Only the answer of a server has a status.',
    )
  const [first] = step.answerSeqs
  const whole = options.payload ?? (response && wholePayload(step, response))
  const { payload, edits } = applySets(whole ?? answerPayload(tape, step), 'answer', set, options)
  const { op, deliveries } = editedAnswer(tape, step, payload, options)
  const replaced: BranchEdit[] = whole ? [{ target: 'answer', value: whole.data }] : []
  if (status !== undefined) replaced.push({ target: 'answer', path: ':status', value: status })
  return {
    until: first ?? step.seq + 1,
    answers: {
      op,
      parts: deliveries.map(({ event, body }) => ({ event, body: base64(body) })),
      ...(tape.event(step.seq).type === 'write' && { replaces: step.answerSeqs }),
    },
    edits: [...replaced, ...edits],
  }
}

function wholePayload(step: Step, response: NonNullable<ForkPlanOptions['response']>): Payload {
  const bytes = response instanceof Uint8Array ? response : Buffer.from(JSON.stringify(response))
  return wholeResponse(step, bytes)
}

function applySets(
  payload: Payload,
  target: BranchEdit['target'],
  sets: Readonly<Record<string, unknown>> = {},
  { force = false }: EditOptions,
): { payload: Payload; edits: BranchEdit[] } {
  let { data } = payload
  const edits: BranchEdit[] = []
  for (const [where, value] of Object.entries(sets)) {
    // A number or a text has no parts: `value` means all of it.
    const isWhole = where === 'value' && (typeof data !== 'object' || data === null)
    // A key that is not there would be a change that nobody reads.
    if (!isWhole && !force) getPath(data, where)
    data = isWhole ? value : setPath(data, where, value)
    edits.push({ target, path: where, value })
  }
  return { payload: { ...payload, data }, edits }
}

/** In the form in which a tool's start reads changed arguments. */
const toolArguments = ({ data }: Payload): Uint8Array => {
  const args = fromWire(data)
  return encodeBody(Array.isArray(args) ? args : [args]).body
}

const hasKeys = (object: object | undefined): boolean =>
  object !== undefined && Object.keys(object).length > 0

const base64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')

export interface ResumePlanOptions {
  /** For steps that left and have no answer on the tape: `fail` unless set. */
  readonly inDoubt?: InDoubtPolicy
  /** Decisions for single ones, by the number of the event that started them. */
  readonly decisions?: Readonly<Record<string, 'retry' | 'skip'>>
}

/**
 * A plan for resuming. A killed run is continued on its own tape. A run that ended
 * is sealed, so it is continued as a branch: after a
 * signal from its last event, after an error with the step that failed.
 */
export function planResume(tape: Tape, options: ResumePlanOptions = {}): ContinuePlan {
  const { inDoubt = 'fail' } = options
  const decisions = { ...safeToRepeat(tape), ...options.decisions }
  const common = {
    source: path.resolve(tape.path),
    inDoubt,
    decisions,
    tail: 'live' as const,
  }
  refuseDoubt(tape, common)
  if (tape.status === 'truncated') return { ...common, leave: 'at the end' }
  const view = viewOf(tape)
  const { exit } = view
  const isFailed = exit?.error !== undefined || (exit?.code ?? 0) !== 0
  if (exit?.signal === undefined && !isFailed) throw errors.RUN_COMPLETE(tape.run.id)
  const branch = newBranch(tape, { kind: 'resume', edits: [] })
  if (exit?.signal !== undefined) return { ...common, branch, leave: 'at the end' }
  const failed = view.recordedSteps.findLast(
    ({ state, inferred }) => (state === 'failed' || state === 'denied') && !inferred,
  )
  const end = tape.count - (tape.status === 'sealed' ? 2 : 1)
  if (failed === undefined) return { ...common, branch, leave: 'on mismatch', until: end }
  const event = tape.event(failed.seq)
  return {
    ...common,
    branch: newBranch(tape, { kind: 'resume', at: failed.label, edits: [] }),
    leave: 'at the end',
    until: failed.answerSeqs[0] ?? failed.seq + 1,
    again: { op: event.type === 'request' ? (event.socket ?? event.seq) : event.seq },
  }
}

/** A new tape beside that of its parent. */
export function newBranch(
  tape: Tape,
  details: NonNullable<ContinuePlan['branch']>['details'],
  name = tape.run.name,
): NonNullable<ContinuePlan['branch']> {
  const id = newRunId()
  return { id, name, details, path: path.join(path.dirname(path.resolve(tape.path)), `${id}.tape`) }
}

/** Where the files go that a branch writes. */
export const planOverlay = (tape: string): string => tape.replace(/\.tape$/, '.files')

export interface RerunPlanOptions {
  readonly name?: string
  /** Label of the first step that is live: all before it get their recorded answers, whatever they request. */
  readonly from?: string
  /** The first event that is not served, where something outside of the code has changed. */
  readonly until?: number
  /** Serves nothing after the first difference. */
  readonly liveAfterChange?: boolean
  /** Serves requests although their system prompt has changed. */
  readonly ignoresSystem?: boolean
}

/**
 * A plan for running today's code against the tape: served in sequence while it does the same.
 * From the first difference on, requests that are on the tape still get their recorded answers,
 * and all others are live. Nothing that is in doubt at the end of a killed run is repeated: to
 * have that, resume it.
 */
export function planRerun(tape: Tape, options: RerunPlanOptions = {}): ContinuePlan {
  const { name, from, until, liveAfterChange = false, ignoresSystem = false } = options
  const at = from === undefined ? {} : { at: from }
  const branch = newBranch(tape, { kind: 'rerun', ...at, edits: [] }, name)
  const common = {
    source: path.resolve(tape.path),
    branch,
    overlay: planOverlay(branch.path),
    inDoubt: 'skip',
    tail: 'live',
  } as const
  if (from !== undefined) {
    const pinned = { ...RERUN, pinned: stepsBefore(tape, from) }
    return { ...common, leave: 'at the end', until: 1, pinned }
  }
  return {
    ...common,
    leave: 'on mismatch',
    ...(until !== undefined && { until }),
    ...(!liveAfterChange && { served: { ...RERUN, pinned: servedByContent(tape), ignoresSystem } }),
  }
}

const RERUN = { mode: 'free', seed: 0, draws: 'by turn' } as const

/** Labels of the steps before one that can be pinned. Throws if there is no such step. */
function stepsBefore(tape: Tape, from: string): string[] {
  const steps = viewOf(tape).recordedSteps
  const first = steps.find(({ label }) => label === from)
  if (first === undefined) throw errors.NO_SUCH_STEP(tape.run.id, from, steps.length, tape.status)
  return searchableSteps(tape)
    .filter(({ seq }) => seq < first.seq)
    .map(({ label }) => label)
}

export interface PinnedForkOptions extends PinnedPlan {
  /** Folder for the tape of the fork; beside its parent unless set. */
  readonly folder?: string
}

/**
 * A plan for a fork with some steps pinned to their recorded answers. Everything before
 * the first free step is served, unless the plan names the ambient inputs that are; all
 * steps pinned and everything served is a replay, which writes no tape.
 * Labels are those of `searchableSteps`; all others are refused.
 */
export function planPinned(tape: Tape, options: PinnedForkOptions): ContinuePlan {
  const { folder, ...given } = options
  const plan: PinnedPlan = {
    ...given,
    ...(given.simulator !== undefined && { simulator: path.resolve(given.simulator) }),
  }
  const steps = viewOf(tape).recordedSteps
  const servers = serversIn(tape, steps)
  refuseOthers(tape, steps, plan)
  const pinned = new Set(plan.pinned)
  const free = steps.find(
    (step) =>
      !pinned.has(step.label) &&
      whyNotSearchable(tape, step, servers) === undefined &&
      // Once a served part is left, a real server answers.
      (plan.ambient !== undefined || tape.event(step.seq).type !== 'write'),
  )
  if (free === undefined && isCutOff(tape)) throw errors.RUN_CUT_OFF(tape.run.id)
  const until = plan.ambient === undefined ? free && free.seq + 1 : 1
  const details = {
    kind: 'fork' as const,
    ...(free && { at: free.label }),
    edits: [],
    tail: until === undefined ? ('offline' as const) : ('live' as const),
  }
  const beside = newBranch(tape, details)
  const branch =
    folder === undefined
      ? beside
      : { ...beside, path: path.join(path.resolve(folder), path.basename(beside.path)) }
  return {
    source: path.resolve(tape.path),
    branch,
    overlay: planOverlay(branch.path),
    leave: 'at the end',
    ...(until !== undefined && { until, pinned: plan }),
    inDoubt: 'skip',
    tail: details.tail,
  }
}

/** Before anything runs. */
function refuseOthers(tape: Tape, steps: readonly Step[], plan: PinnedPlan): void {
  const { pinned, answers = {}, requests = {} } = plan
  const servers = serversIn(tape, steps)
  const byLabel = new Map(steps.map((step) => [step.label, step]))
  for (const label of [...pinned, ...Object.keys(answers), ...Object.keys(requests)]) {
    const step = byLabel.get(label)
    if (step === undefined) throw errors.NO_SUCH_STEP(tape.run.id, label, steps.length, tape.status)
    const why = whyNotSearchable(tape, step, servers)
    if (why !== undefined) throw errors.STEP_NOT_SEARCHABLE(tape.run.id, label, why)
  }
}
