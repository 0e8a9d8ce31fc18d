import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import {
  answerPayload,
  drawPayload,
  editedAnswer,
  editedDraw,
  editedFile,
  type EditOptions,
  filePayload,
  getPath,
  type Payload,
  payloadBytes,
  requestPayload,
  setPath,
  type Step,
  wholeResponse,
} from '@retake/tape'
import {
  attempt,
  type BranchEdit,
  encodeBody,
  fromWire,
  parseJson,
  type Tape,
  type TapeEvent,
} from '@retake/tape/format'
import { errors, type InferredResult } from '../errors.js'
import { newRunId } from '../runs/run-id.js'
import { openForReplay } from '../runs/open-for-replay.js'
import type { InDoubtPolicy } from '../kernel/settle-doubts.js'
import type { MovedRoot } from './moved-tape.js'
import type { ChildPlan, ContinuePlan, LiveRules, PinnedPlan } from './plan.js'
import { deliveringOp, lookAtDoubts, refuseDoubt, safeToRepeat, viewOf } from './find-doubts.js'
import { isCutOff } from '../kernel/timeline.js'
import { searchableSteps, servedByContent, serversIn, whyNotSearchable } from './pinned-matcher.js'

/** A change at one step or event. */
export interface ForkChange extends EditOptions {
  /** Number or label of a step, or `e123` for event 123: a clock or random value, or a file read. */
  readonly at: number | string
  /** Changes in the parsed answer, by path: `{ 'choices.0.message.content': 'No.' }`. */
  readonly set?: Readonly<Record<string, unknown>>
  /** Replaces the whole answer: the text of a file, or parsed JSON. */
  readonly response?: Uint8Array | Readonly<Record<string, unknown>>
  /** Replaces the whole answer by an edited payload, as `answerPayload` returns it. */
  readonly payload?: Payload
  /** Changes in the request, by path; the answer is then live. */
  readonly request?: Readonly<Record<string, unknown>>
  /** Replaces the whole request by an edited payload, as `requestPayload` returns it. */
  readonly requestPayload?: Payload
}

export interface ForkPlanOptions extends ForkChange {
  /** Changes to later steps of the parent, applied if the branch reaches them. */
  readonly further?: readonly ForkChange[]
  /**
   * Changes in the body of every live request to a model, by path: `{ model: 'gpt-5-mini' }`. A
   * request without that path is sent unchanged.
   */
  readonly everyRequest?: Readonly<Record<string, unknown>>
  /** Replaces the system prompt of every live request to a model that has one. */
  readonly systemPrompt?: string
  /**
   * `served`: after the fork, identical tools, processes and requests that may have an effect get
   * the recorded answer; a different one ends the run. The default is `live`.
   */
  readonly effects?: 'live' | 'served'
  /** `offline`: only answers of the parent are used, even after the fork. */
  readonly tail?: 'live' | 'offline'
  /** Name of the branch; its parent's name by default. */
  readonly name?: string
}

type Change = Pick<ContinuePlan, 'until' | 'answers' | 'again' | 'draw'> & {
  readonly edits: readonly BranchEdit[]
}

/**
 * Plans a fork at a step. With a changed answer, the step is served like all steps before it.
 * Without one, its request is sent again.
 */
export function planFork(tape: Tape, options: ForkPlanOptions): ContinuePlan {
  const { tail = 'live', name, further = [], everyRequest = {} } = options
  const everywhere = Object.entries(everyRequest).map(([where, value]): BranchEdit => ({
    target: 'every request',
    path: where,
    value,
  }))
  const { systemPrompt, effects = 'live' } = options
  if (systemPrompt !== undefined)
    everywhere.push({ target: 'every request', path: 'system prompt', value: systemPrompt })
  const rules: LiveRules = {
    ...(everywhere.length > 0 && { edits: everyRequest }),
    ...(systemPrompt !== undefined && { system: systemPrompt }),
    ...(effects === 'served' && { refuse: 'effects' }),
  }
  const live = Object.keys(rules).length > 0 && {
    live: rules,
    ...(effects === 'served' && {
      served: { mode: 'free', seed: 0, pinned: effectSteps(tape) } as const,
    }),
  }
  if (live && tail === 'offline')
    throw errors.CHANGE_DOES_NOT_FIT('A live request', 'With `--tail offline`, none is sent.')
  if (further.length > 0) return { ...planChanges(tape, options, everywhere), ...live }
  const at = String(options.at)
  const event = /^e(\d+)$/.exec(at)?.[1]
  const change =
    event === undefined
      ? changeStep(tape, findStep(tape, at), options)
      : changeEvent(tape, Number(event), options)
  const { edits, ...plan } = change
  const branch = newBranch(tape, { kind: 'fork', at, edits: [...edits, ...everywhere], tail }, name)
  return {
    source: path.resolve(tape.path),
    branch,
    overlay: planOverlay(branch.path),
    leave: 'at the end',
    ...plan,
    ...live,
    inDoubt: 'skip',
    tail,
  }
}

/**
 * Plans changes at several steps. Everything before the first change is served. After it, the
 * branch is live, and steps that correspond to other changed steps get their changes.
 */
function planChanges(
  tape: Tape,
  { further = [], tail, name, ...first }: ForkPlanOptions,
  everywhere: readonly BranchEdit[],
): ContinuePlan {
  if (tail === 'offline')
    throw errors.CHANGE_DOES_NOT_FIT(
      'A fork with several changes',
      'The fork is live after the first change. Remove --tail offline.',
    )
  const answers: Record<string, { payload: unknown }> = {}
  const requests: Record<string, unknown> = {}
  const edits: BranchEdit[] = []
  let earliest: Step | undefined
  for (const change of [first, ...further]) {
    const at = String(change.at)
    if (/^e\d+$/.test(at))
      throw errors.CHANGE_DOES_NOT_FIT(
        `Event ${at.slice(1)}`,
        'A fork with several changes takes steps only.',
      )
    const step = findStep(tape, at)
    if (step.label in answers || step.label in requests)
      throw errors.CHANGE_DOES_NOT_FIT(`Step ${step.label}`, 'It is named twice.')
    if (change.status !== undefined)
      throw errors.CHANGE_DOES_NOT_FIT(
        `Step ${step.label}`,
        'A status can be changed in a fork with one change only.',
      )
    const changed = changedPayload(tape, step, change)
    if (changed === undefined)
      throw errors.CHANGE_DOES_NOT_FIT(
        `Step ${step.label}`,
        'A fork with several changes needs one at each step: --set, --response or --request.',
      )
    const { target, payload } = changed
    // Throws for an answer that the provider could not give.
    if (target === 'answer') editedAnswer(tape, step, payload, change)
    if (target === 'answer') answers[step.label] = { payload: payload.data }
    else requests[step.label] = payload.data
    edits.push(...changed.edits.map((edit) => ({ ...edit, at: step.label })))
    if (earliest === undefined || step.seq < earliest.seq) earliest = step
  }
  const before = searchableSteps(tape).filter(({ seq }) => seq < (earliest?.seq ?? 0))
  const pinned = before.map(({ label }) => label)
  const plan = planPinned(tape, { pinned, mode: 'free', answers, requests, seed: 0 })
  const at = earliest?.label ?? String(first.at)
  const details = {
    kind: 'fork' as const,
    at,
    edits: [...edits, ...everywhere],
    tail: 'live' as const,
  }
  const branch = newBranch(tape, details, name)
  return { ...plan, branch, overlay: planOverlay(branch.path), isDiscarded: false }
}

/** The changed answer or request of a step, and the list of changes for its branch; undefined if nothing changes. */
function changedPayload(tape: Tape, step: Step, change: ForkChange) {
  const { set, request, response, status } = change
  const isAnswer = changesAnswer(change)
  const isRequest = changesRequest(change)
  if (isAnswer && isRequest) throw errors.ANSWER_AND_REQUEST_EDITED()
  if (!isAnswer && !isRequest) return undefined
  if (status !== undefined && step.exchange() === undefined)
    throw errors.CHANGE_DOES_NOT_FIT(
      `Step ${step.label}`,
      'Only the answer of a server has a status.',
    )
  const target = isAnswer ? ('answer' as const) : ('request' as const)
  const whole =
    response instanceof Uint8Array ? response : response && Buffer.from(JSON.stringify(response))
  const given = isAnswer
    ? (change.payload ?? (whole && wholeResponse(step, whole)))
    : change.requestPayload
  const original = given ?? (isAnswer ? answerPayload(tape, step) : requestPayload(tape, step))
  if (isAnswer && set !== undefined && change.force !== true)
    refuseUnwrappedResult(tape, step, original.data, Object.keys(set))
  const { payload, edits } = applySets(original, target, isAnswer ? set : request, change)
  const replaced: BranchEdit[] = given ? [{ target, value: given.data }] : []
  if (status !== undefined) replaced.push({ target, path: ':status', value: status })
  return { target, payload, edits: [...replaced, ...edits] }
}

const changesAnswer = ({ set, response, payload, status }: ForkChange): boolean =>
  payload !== undefined || response !== undefined || status !== undefined || hasKeys(set)

const changesRequest = ({ request, requestPayload: whole }: ForkChange): boolean =>
  hasKeys(request) || whole !== undefined

function findStep(tape: Tape, label: string): Step {
  const view = viewOf(tape)
  const step = view.step(label)
  if (step === undefined)
    throw errors.NO_SUCH_STEP(tape.run.id, label, view.recordedSteps.length, tape.status)
  if (step.inferred) throw errors.STEP_NOT_RECORDED(tape.run.id, label, resultOf(tape, step))
  return step
}

/** Throws if a path is not in the answer of a model step, but in a tool result that the step sent. */
function refuseUnwrappedResult(
  tape: Tape,
  step: Step,
  answer: unknown,
  paths: readonly string[],
): void {
  const has = (data: unknown, where: string): boolean =>
    attempt(() => getPath(data, where) !== undefined, false)
  const wrong = paths.filter((where) => !has(answer, where))
  if (wrong.length === 0) return
  const sent = viewOf(tape).steps.find((each) => {
    if (!each.inferred || each.answerSeqs[0] !== step.seq) return false
    const stored = each.call()?.result
    const result = typeof stored === 'string' ? parseJson(stored) : stored
    return wrong.every((where) => has(result, where))
  })
  if (sent) throw errors.STEP_NOT_RECORDED(tape.run.id, sent.label, resultOf(tape, sent))
}

/** Where the result of an unwrapped tool was sent to the model. */
function resultOf(tape: Tape, inferred: Step): InferredResult {
  const [sentAt = 0] = inferred.answerSeqs
  const { recordedSteps } = viewOf(tape)
  const reporter = recordedSteps.find(({ seq }) => seq === sentAt)
  const result = inferred.call()?.result
  const found = reporter && pathTo(requestPayload(tape, reporter).data, result)
  const later = recordedSteps
    .filter(({ kind, seq }) => kind === 'model' && seq > sentAt)
    .map((step) => attempt(() => getPath(requestPayload(tape, step).data, found ?? '')))
    .filter((value) => value !== undefined)
  return {
    step: reporter?.label ?? '',
    path: found ?? 'messages.N.content',
    isRepeated: later.length > 0 && later.every((value) => isDeepStrictEqual(value, result)),
  }
}

/** The path of the last occurrence of a value in a payload, in the syntax of `--request`. */
function pathTo(data: unknown, value: unknown): string | undefined {
  if (isDeepStrictEqual(data, value)) return ''
  if (typeof data !== 'object' || data === null) return undefined
  for (const [key, each] of Object.entries(data).toReversed()) {
    const below = pathTo(each, value)
    if (below !== undefined) return below === '' ? key : `${key}.${below}`
  }
  return undefined
}

/** Plans a changed clock or random value, or a changed answer to a file call. */
function changeEvent(tape: Tape, seq: number, options: ForkPlanOptions): Change {
  const { set, request, response, status } = options
  const isRead = seq < tape.count && ['call', 'result'].includes(tape.event(seq).type)
  if (
    hasKeys(request) ||
    options.requestPayload !== undefined ||
    status !== undefined ||
    (response !== undefined && !isRead)
  )
    throw errors.CHANGE_DOES_NOT_FIT(
      `Event ${seq}`,
      isRead
        ? 'Change a file read with --set or --response.'
        : 'Change a clock or random value with --set.',
    )
  if (isRead) return changeRead(tape, seq, options)
  // Without a new value, it is drawn again.
  if (!hasKeys(set)) {
    drawPayload(tape, seq)
    return { until: seq, edits: [] }
  }
  const { payload, edits } = applySets(drawPayload(tape, seq), 'draw', options.set, options)
  return { until: seq, draw: { value: editedDraw(tape, seq, payload, options).value }, edits }
}

function changeRead(tape: Tape, seq: number, options: ForkPlanOptions): Change {
  const { set, response } = options
  // Without new content, the file is read again.
  if (!hasKeys(set) && response === undefined) {
    const { op } = editedFile(tape, seq, filePayload(tape, seq))
    return { until: op, edits: [] }
  }
  const bytes = response instanceof Uint8Array ? response : undefined
  const { payload, edits } =
    bytes === undefined
      ? applySets(filePayload(tape, seq), 'answer', set, options)
      : {
          payload: undefined,
          edits: [{ target: 'answer', value: Buffer.from(bytes).toString() } as const],
        }
  const { op, answerSeq, delivery } = editedFile(tape, seq, payload ?? bytes ?? new Uint8Array())
  const { event, body } = delivery
  return { until: answerSeq, answers: { op, parts: [{ event, body: base64(body) }] }, edits }
}

function changeStep(tape: Tape, step: Step, options: ForkPlanOptions): Change {
  const event = tape.event(step.seq)
  const isRequest = changesRequest(options)
  if ((event.type === 'write' || event.type === 'deliver') && !changesAnswer(options))
    return repeatRequest(step, event, isRequest)
  // Throws: a mark has no request.
  if (event.type === 'note' && isRequest) requestPayload(tape, step)
  const changed = changedPayload(tape, step, options)
  if (changed?.target === 'answer') {
    const { op, deliveries } = editedAnswer(tape, step, changed.payload, options)
    const parts = deliveries.map((each) => ({ event: each.event, body: base64(each.body) }))
    const replaces = event.type === 'write' ? step.answerSeqs : undefined
    return {
      until: step.answerSeqs[0] ?? step.seq + 1,
      answers: { op, parts, ...(replaces && { replaces }) },
      edits: changed.edits,
    }
  }
  const until = step.seq + 1
  // A mark makes no call, so the run goes live right after it.
  if (event.type === 'note') return { until, edits: [] }
  const op = deliveringOp(event)
  if (changed === undefined) return { until, again: { op }, edits: [] }
  const { payload, edits } = changed
  if (event.type !== 'call')
    return { until, again: { op, body: base64(payloadBytes(payload)) }, edits }
  const args = fromWire(payload.data)
  const { body } = encodeBody(Array.isArray(args) ? args : [args])
  return { until, again: { op, body: base64(body) }, edits }
}

/**
 * Plans a change on the pipes of a server: the run goes live immediately before the request, and a
 * new server answers.
 */
function repeatRequest(step: Step, event: TapeEvent, changesRequest: boolean): Change {
  const what = `Step ${step.label}`
  if (event.type === 'deliver')
    throw errors.CHANGE_DOES_NOT_FIT(
      what,
      'This is a request of the server. Fork at the call that caused it.',
    )
  if (changesRequest)
    throw errors.CHANGE_DOES_NOT_FIT(
      what,
      'It was sent over the pipes of a child process: its answer can be changed, but not the request.',
    )
  return { until: step.seq, edits: [] }
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
    // Numbers and texts have no members: `value` means the whole value.
    const isWhole = where === 'value' && (typeof data !== 'object' || data === null)
    // Nothing would read an unknown key.
    if (!isWhole && !force) getPath(data, where)
    data = isWhole ? value : setPath(data, where, value)
    edits.push({ target, path: where, value })
  }
  return { payload: { ...payload, data }, edits }
}

const hasKeys = (object: object | undefined): boolean =>
  object !== undefined && Object.keys(object).length > 0

const base64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')

export interface ResumePlanOptions {
  /** For steps that were sent and have no answer on the tape; `fail` by default. */
  readonly inDoubt?: InDoubtPolicy
  /** Decisions for single steps, by the number of the event that started them. */
  readonly decisions?: Readonly<Record<string, 'retry' | 'skip'>>
}

/**
 * Plans a resume. A killed run continues on its own tape. A run that ended is sealed, so it
 * continues as a branch: from its last event after a signal, from the failed step after an error.
 */
export function planResume(tape: Tape, options: ResumePlanOptions = {}): ContinuePlan {
  const { inDoubt = 'fail' } = options
  const decisions = { ...safeToRepeat(tape), ...options.decisions }
  const { open, files } = lookAtDoubts(tape)
  const common = {
    source: path.resolve(tape.path),
    inDoubt,
    decisions,
    files,
    tail: 'live' as const,
  }
  refuseDoubt(tape, open, common)
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
    again: { op: event.type === 'request' ? deliveringOp(event) : event.seq },
  }
}

/** Path of a new tape in the folder of its parent. */
export function newBranch(
  tape: Tape,
  details: NonNullable<ContinuePlan['branch']>['details'],
  name = tape.run.name,
): NonNullable<ContinuePlan['branch']> {
  const id = newRunId()
  return { id, name, details, path: path.join(path.dirname(path.resolve(tape.path)), `${id}.tape`) }
}

/** Folder for the files that a branch writes. */
export const planOverlay = (tape: string): string => tape.replace(/\.tape$/, '.files')

export interface RerunPlanOptions {
  readonly name?: string
  /** Label of the first live step. All steps before it get their recorded answers, whatever they request. */
  readonly from?: string
  /** The first event that is not served, if more than the code has changed. */
  readonly until?: number
  /** Goes live at the first difference. */
  readonly liveAfterChange?: boolean
  /** Serves requests even if their system prompt has changed. */
  readonly ignoresSystem?: boolean
  /**
   * `served`: a tool, process or request that may have an effect and is not on the tape ends the
   * run. `refused`: every request that is not on the tape does.
   */
  readonly effects?: 'live' | 'served' | 'refused'
  /**
   * Names of tools whose code has changed: their calls run instead of being served, whatever
   * `effects` says. Only for processes in a sandbox.
   */
  readonly runs?: readonly string[]
}

/**
 * Plans a run of today's code against the tape, which is served in sequence as long as the code
 * does the same. From the first difference on, requests that are on the tape still get their
 * recorded answers, and all others are live. Steps in doubt at the end of a killed run are not
 * repeated; only a resume does that.
 */
export function planRerun(tape: Tape, options: RerunPlanOptions = {}): ContinuePlan {
  const { name, from, until, liveAfterChange = false, ignoresSystem = false } = options
  const { effects = 'live', runs = [] } = options
  const ran =
    runs.length === 0
      ? []
      : viewOf(tape).recordedSteps.filter(
          ({ kind, toolName = '' }) => kind === 'tool' && runs.includes(toolName),
        )
  const ranLabels = new Set(ran.map(({ label }) => label))
  const served = (): string[] => servedByContent(tape).filter((label) => !ranLabels.has(label))
  const firstRun = Math.min(...ran.map(({ seq }) => seq), until ?? Infinity)
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
    ...(firstRun !== Infinity && { until: firstRun }),
    ...(!liveAfterChange && { served: { ...RERUN, pinned: served(), ignoresSystem } }),
    ...(effects !== 'live' && {
      live: {
        refuse: effects === 'served' ? 'effects' : 'everything',
        ...(runs.length > 0 && { runs }),
      },
    }),
  }
}

const RERUN = { mode: 'free', seed: 0, draws: 'by turn' } as const

/** Labels of the steps before `from` that can be pinned. Throws if there is no such step. */
function stepsBefore(tape: Tape, from: string): string[] {
  const steps = viewOf(tape).recordedSteps
  const first = steps.find(({ label }) => label === from)
  if (first === undefined) throw errors.NO_SUCH_STEP(tape.run.id, from, steps.length, tape.status)
  return searchableSteps(tape)
    .filter(({ seq }) => seq < first.seq)
    .map(({ label }) => label)
}

/** Labels of the steps that are not requests to models. */
const effectSteps = (tape: Tape): string[] =>
  searchableSteps(tape)
    .filter(({ kind }) => kind !== 'model')
    .map(({ label }) => label)

export interface PinnedForkOptions extends PinnedPlan {
  /** Folder for the tape of the fork; the folder of its parent by default. */
  readonly folder?: string
}

/**
 * Plans a fork with some steps pinned to their recorded answers. Everything before the first free
 * step is served, unless the plan lists ambient inputs. A fork with all steps pinned and everything
 * served is a replay, which writes no tape. Throws for labels that are not among `searchableSteps`.
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
      // After the served part, a real server answers.
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
    isDiscarded: true,
    inDoubt: 'skip',
    tail: details.tail,
  }
}

/** Plans the fork of a process that a forked run starts; the plan is written to `file`. */
export function planChild(
  { tape, plan }: ChildPlan,
  file: string,
  root: MovedRoot | undefined,
): ContinuePlan {
  const { branch, ...planned } = planPinned(openForReplay(tape), plan)
  return {
    ...planned,
    ...(branch && { branch: { ...branch, id: path.basename(file, '.tape'), path: file } }),
    overlay: planOverlay(file),
    ...(root && { root }),
  }
}

/** Throws, before anything runs, for labels of steps that cannot be searched. */
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
