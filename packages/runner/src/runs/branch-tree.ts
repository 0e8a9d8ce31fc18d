import {
  type BranchDetails,
  type BranchEdit,
  clipText,
  isCostUnknown,
  originOf,
  type RunEvent,
  type RunView,
  type Step,
  type StepOrigin,
  type Tape,
} from '@retake/tape'
import { openOwnTape, openTape } from '@retake/tape/node'
import { explain, type ExplainedError } from '../terminal/print-error.js'
import type { RunStore } from './run-store.js'
import { type LocalRunRow, summarizeRun } from './run-summary.js'
import { viewRun } from './view-run.js'
import { printable } from '../terminal/terminal.js'

/** Parent, branch point and changes of a branch; empty for other runs. */
export function branchLines({ run, details: { branch } }: Tape, width: number): string[] {
  if (branch === undefined || run.parent === undefined) return []
  const [edit, ...more] = branch.edits
  const line = `${howText(branch)} of ${run.parent.run}`
  if (edit === undefined) return [line]
  const rest = more.length > 0 ? ` and ${more.length} more` : ''
  const room = Math.max(20, width - line.length - rest.length - 3)
  return [`${line} · ${editText(edit, room)}${rest}`]
}

/** Origin of a step's answer, and the change made there. The tape contains the parent's request. */
export function stepBranchLines(tape: Tape, step: Step, width: number): string[] {
  const origin = originOf(tape, step)
  if (origin === undefined) return []
  const { branch } = tape.details
  const edits = (branch?.edits ?? []).filter(
    ({ target, at = branch?.at }) =>
      at === step.label || (target === 'every request' && origin === 'live'),
  )
  return [
    `${origin}${ORIGINS[origin]}`,
    ...edits.map((edit) => `changed ${editText(edit, width - 8)}`),
  ]
}

const ORIGINS = {
  served: ": its answer is the parent's",
  edited: ': its answer was put in by the fork',
  lost: ': it was running when the run went live, and could not continue',
  live: '',
} as const

/** A change with its step, if that is not known from the context. */
export const changeText = (edit: BranchEdit, width: number): string =>
  edit.at === undefined
    ? editText(edit, width)
    : clipText(`${atText(edit.at)} ${editText(edit, width)}`, width)

function editText({ target, path, value }: BranchEdit, width: number): string {
  const text = JSON.stringify(value) ?? 'nothing'
  const line = `${target}${path === undefined ? '' : ` ${path}`} = ${printable(text)}`
  return clipText(line, width)
}

/** `fork at step 4`, `rerun`. */
export const howText = ({ kind, at }: BranchDetails): string =>
  at === undefined ? kind : `${kind} at ${atText(at)}`

/** `step 4`, or `event 17`. */
export const atText = (at: string): string =>
  /^e\d/.test(at) ? `event ${at.slice(1)}` : `step ${at}`

/** A run and its branches, oldest first. */
export interface BranchNode extends Partial<
  Pick<LocalRunRow, 'status' | 'steps' | 'startedAt' | 'durationMs' | 'lastLine'>
> {
  readonly id: string
  readonly name: string
  readonly exitCode?: number
  /** How it was made; missing for the first run of a tree. */
  readonly branch?: BranchDetails
  /** Set for a trace of another tool, which is not a recording. */
  readonly isImported?: true
  readonly parent?: RunEvent['parent']
  readonly facts?: BranchFacts
  readonly costUsd?: number | undefined
  readonly error?: ExplainedError
  readonly branches: readonly BranchNode[]
}

/** Reads tapes for a tree. Frequent callers may cache. */
export interface TreeReader {
  /** The first event of a tape; undefined if it cannot be read. */
  readRun(file: string): RunEvent | undefined
  readNode(id: string, file: string, run: RunEvent | undefined): OwnNode
}

export type OwnNode = Omit<BranchNode, 'branches'>

export function branchTree(
  store: RunStore,
  id: string,
  reader: TreeReader = { readRun: readBranchRun, readNode },
) {
  const runs = new Map<string, RunEvent>()
  const unreadable: string[] = []
  for (const each of store.ids().toReversed()) {
    const run = reader.readRun(store.pathOf(each))
    if (run === undefined) unreadable.push(each)
    else runs.set(run.id, run)
  }
  // A forged tape could be its own ancestor.
  const seen = new Set<string>()
  const makeNode = (at: string): BranchNode => {
    seen.add(at)
    const own = reader.readNode(at, store.pathOf(at), runs.get(at))
    const children = [...runs.values()].filter(({ parent }) => parent?.run === at)
    return {
      ...own,
      branches: children.filter((run) => !seen.has(run.id)).map((run) => makeNode(run.id)),
    }
  }
  /** `unreadable`: tapes that may also be branches. */
  return { root: makeNode(rootOf(runs, id)), unreadable }
}

function rootOf(runs: ReadonlyMap<string, RunEvent>, id: string): string {
  const seen = new Set([id])
  let root = id
  for (;;) {
    const up = runs.get(root)?.parent?.run
    if (up === undefined || !runs.has(up) || seen.has(up)) return root
    seen.add(up)
    root = up
  }
}

export function readBranchRun(file: string): RunEvent | undefined {
  try {
    return openOwnTape(file).run
  } catch (error) {
    if (explain(error) === undefined) throw error
    return undefined
  }
}

export function readNode(id: string, file: string, run: RunEvent | undefined): OwnNode {
  const summary = summarizeRun(id, file)
  const common = { id, name: run?.name ?? '', ...(run?.parent && { parent: run.parent }) }
  if ('error' in summary) return { ...common, error: summary.error }
  const tape = openTape(file)
  const view = viewRun(tape)
  const { branch } = tape.details
  return {
    ...common,
    status: summary.status,
    ...(view.exit?.code !== undefined && { exitCode: view.exit.code }),
    ...(tape.details.imported && { isImported: true as const }),
    ...(branch && { branch, facts: branchFacts(tape, view) }),
    steps: summary.steps,
    startedAt: summary.startedAt,
    durationMs: summary.durationMs,
    ...(summary.costUsd !== undefined && { costUsd: summary.costUsd }),
    ...(summary.lastLine !== undefined && { lastLine: summary.lastLine }),
  }
}

export type BranchFacts = ReturnType<typeof branchFacts>

/** A killed run that was resumed on its own tape, which does not say where. */
export interface ResumedOnOwnTape {
  readonly from: number
  /** Events that started a step in doubt that was not retried. */
  readonly unasked: ReadonlySet<number>
}

export function originAfterResume(step: Step, { from, unasked }: ResumedOnOwnTape): StepOrigin {
  if (unasked.has(step.seq)) return 'lost'
  return step.seq < from && step.answerSeqs.every((seq) => seq < from) ? 'served' : 'live'
}

/** `resumed`: on its own tape, whose earlier events were served. */
export function branchFacts(tape: Tape, view: RunView, resumed?: ResumedOnOwnTape) {
  const live: Step[] = []
  const notSent: Step[] = []
  let lost = 0
  for (const step of view.recordedSteps) {
    const origin = resumed ? originAfterResume(step, resumed) : originOf(tape, step)
    if (origin === 'lost') lost += 1
    else if (step.state === 'denied' && step.guard?.attempts === 0) continue
    else if (origin === undefined || origin === 'live') live.push(step)
    else notSent.push(step)
  }
  const saved = sum(notSent)
  const paid = sum(live)
  return {
    served: notSent.length,
    /** Steps that were in progress and could not continue. */
    lost,
    live: live.length,
    /** Requests to models and servers that were not sent. */
    savedRequests: saved.requests,
    savedTokens: saved.tokens,
    savedUsd: saved.usd,
    /** How long the served steps took when they were recorded. */
    savedMs: recordedMs(tape, notSent),
    paidRequests: paid.requests,
    paidTokens: paid.tokens,
    paidUsd: paid.usd,
  }
}

/** Time during which at least one of these steps was in progress when it was recorded. */
function recordedMs(tape: Tape, steps: readonly Step[]): number {
  const { parent } = tape
  const recorded: Step[] = []
  /** Steps of the parent, by the events that start and answer them. */
  const parents = new Map(
    (parent === undefined ? [] : viewRun(parent).recordedSteps).flatMap((step) =>
      [step.seq, ...step.answerSeqs].map((seq) => [seq, step] as const),
    ),
  )
  const atParent: Step[] = []
  for (const step of steps) {
    const answer = step.answerSeqs[0]
    const event = answer === undefined ? undefined : tape.event(answer)
    const seq =
      step.seq < tape.ownFrom ? step.seq : event && 'from' in event ? event.from : undefined
    const counterpart = seq === undefined ? undefined : parents.get(seq)
    if (counterpart === undefined) recorded.push(step)
    else atParent.push(counterpart)
  }
  const own = recorded
    .map(({ at, latencyMs = 0 }) => [at, at + latencyMs] as const)
    .toSorted(([a], [b]) => a - b)
  let total = 0
  let until = 0
  for (const [start, end] of own) {
    total += Math.max(0, end - Math.max(start, until))
    until = Math.max(until, end)
  }
  // The parent may be a branch itself, which took no time for what it was served.
  return parent === undefined || atParent.length === 0
    ? total
    : total + recordedMs(parent, atParent)
}

/** `usd` is undefined if the price of a model call is unknown. */
function sum(steps: readonly Step[]) {
  let [requests, tokens] = [0, 0]
  let usd: number | undefined = 0
  for (const step of steps) {
    const { kind, provider, costUsd = 0 } = step
    if (kind !== 'model' && kind !== 'http' && provider !== 'mcp') continue
    requests += 1
    if (kind !== 'model') continue
    tokens += spentTokens(step)
    usd = usd === undefined || isCostUnknown(step) ? undefined : usd + costUsd
  }
  return { requests, tokens, usd }
}

export function spentTokens({ usage }: Pick<Step, 'usage'>): number {
  if (usage === undefined) return 0
  return usage.input + usage.cachedInput + usage.cacheWrite + usage.output
}
