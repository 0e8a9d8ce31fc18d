import { defined, type RunView, type Step } from '@retake/tape'
import { asJson } from '../json-value.js'
import { DIFF_AREAS, type DiffArea, sharedLabels, sharedPart } from './run-diff.js'
import { diffJson } from './json-diff.js'
import { diffOutput } from './output-diff.js'
import { pairSteps } from './align.js'
import type {
  DiffOptions,
  FirstDivergence,
  RunDiff,
  RunSide,
  StepDiff,
  StepRef,
} from './run-diff.js'
import { type FieldDiffs, profileOf, sharedProfile } from './step-content.js'
import { StepComparer, type StepProfile } from './step-content.js'
import { diffToolLists } from './tool-list-diff.js'

/**
 * Compares two runs step by step. Reads all bodies except in the part that branches share. Not
 * compared: draws such as clock and random values, headers, generated ids, and durations.
 */
export const diffRuns = (
  a: RunView,
  b: RunView,
  { only = DIFF_AREAS, shared = sharedPart(a, b) }: DiffOptions = {},
): RunDiff => {
  const known = shared === undefined ? new Set<string>() : sharedLabels(a, b, shared)
  const [left, right] = [a, b].map(({ steps }) =>
    steps.map((step) => (known.has(step.label) ? sharedProfile(step) : profileOf(step))),
  ) as [StepProfile[], StepProfile[]]
  const { steps, same } = diffSteps(left, right, new Set(only))
  const toolLists = only.includes('tools') ? diffToolLists(a, b) : []
  const output = only.includes('output') ? diffOutput(a, b) : []
  const outcome =
    only.length < DIFF_AREAS.length
      ? []
      : diffJson(outcomeOf(a), outcomeOf(b)).concat(
          diffJson(asJson(a.result()), asJson(b.result()), 'returned'),
        )
  const first = firstOf(steps, output, outcome)
  const counts = { same, changed: 0, moved: 0, removed: 0, added: 0 }
  for (const { change } of steps) counts[change]++
  return defined({
    equal: first === undefined,
    a: sideOf(a),
    b: sideOf(b),
    shared,
    first,
    counts,
    steps,
    toolLists,
    output,
    outcome,
  })
}

const NOTHING: FieldDiffs = { fields: [], carried: [] }

const diffSteps = (
  a: readonly StepProfile[],
  b: readonly StepProfile[],
  only: ReadonlySet<DiffArea>,
): { steps: StepDiff[]; same: number } => {
  const comparer = new StepComparer()
  const steps: StepDiff[] = []
  let same = 0
  for (const pair of pairSteps(a, b)) {
    const [left, right] = [a[pair.a ?? -1], b[pair.b ?? -1]]
    if (left !== undefined && right !== undefined) {
      const found = left.digest === right.digest ? NOTHING : comparer.compare(left.step, right.step)
      const fields = found.fields.filter(({ area }) => only.has(area))
      const carried = only.has('messages') ? found.carried : []
      const isMoved = pair.moved === true && concerns(left.step, only)
      if (fields.length === 0 && carried.length === 0 && !isMoved) same++
      else {
        const change = pair.moved === true ? 'moved' : 'changed'
        steps.push({ change, a: refOf(left.step), b: refOf(right.step), fields, carried })
      }
      continue
    }
    const step = (left ?? right)?.step
    if (step === undefined) continue
    const side = left === undefined ? 'b' : 'a'
    comparer.pass(step, side)
    if (!concerns(step, only)) continue
    steps.push({ change: side === 'a' ? 'removed' : 'added', [side]: refOf(step), ...NOTHING })
  }
  return { steps, same }
}

const concerns = ({ kind }: Step, only: ReadonlySet<DiffArea>): boolean => {
  if (kind === 'model')
    return ['messages', 'requests', 'usage'].some((area) => only.has(area as DiffArea))
  if (kind === 'http') return only.has('requests')
  return kind === 'mark' ? only.size === DIFF_AREAS.length : only.has('tools')
}

const outcomeOf = ({ exit, status }: RunView): unknown => ({
  // Compares how the runs ended; a missing seal is not a difference.
  ended: status !== 'truncated',
  exitCode: exit?.code,
  signal: exit?.signal,
  error: exit?.error === undefined ? undefined : `${exit.error.name}: ${exit.error.message}`,
})

const firstOf = (
  [step]: RunDiff['steps'],
  [line]: RunDiff['output'],
  [outcome]: RunDiff['outcome'],
): FirstDivergence | undefined => {
  if (step !== undefined) {
    const { change, a, b, fields, carried } = step
    const path = fields[0]?.path ?? carried[0]
    return defined({ in: 'step', change, a: a?.label, b: b?.label, path } as const)
  }
  if (line !== undefined) return { in: 'output', line }
  return outcome === undefined ? undefined : { in: 'outcome', path: outcome.path }
}

const refOf = (step: Step): StepRef => ({
  label: step.label,
  seq: step.seq,
  kind: step.kind,
  title: step.title,
  state: step.state,
  lane: step.lane,
  site: step.site,
  latencyMs: step.latencyMs,
})

const sideOf = (view: RunView): RunSide => ({
  id: view.id,
  name: view.name,
  startedAt: view.startedAt,
  durationMs: view.durationMs,
  status: view.status,
  exit: view.exit,
  steps: view.recordedSteps.length,
  totals: view.totals,
})
