import { attempt } from '../format/values/attempt.js'
import { defined } from '../format/values/json-shape.js'
import { getPath } from '../edit/set-path.js'
import type { RunView } from '../read-model/run-view.js'
import type { Step } from '../read-model/step.js'
import { firstIndex } from '../format/values/collections.js'
import { asJson } from './json-value.js'
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
import { type FieldDiff, type FieldDiffs, profileOf, sharedProfile } from './step-content.js'
import { StepComparer, type StepProfile } from './step-content.js'
import { diffToolLists } from './tool-list-diff.js'

/**
 * Compares two runs step by step. Differences are in the order in which they arose, so the first one
 * cannot follow from another: an edited answer comes before the tool result made from it. Reads all bodies except in the part that branches share. Not
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
  const { steps, same } = diffSteps(left, right, new Set(only), editedRequests(a, b))
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

const NOTHING: FieldDiffs = { fields: [], carried: [], isInAnswerOnly: false }

/**
 * Finds what forks changed in the requests of two steps. Tapes contain requests as the agent made
 * them, so their bodies do not differ there. A change of every request is found once.
 */
const editedRequests = (
  a: RunView,
  b: RunView,
): ((left: Step, right: Step) => readonly FieldDiff[]) => {
  const reported = new Set<string>()
  return (left, right) => {
    const [before, now] = [a.requestEdits(left), b.requestEdits(right)]
    const paths = [...new Set([...before, ...now].map(({ path = '' }) => path))]
    return paths.flatMap((path) => {
      const sides = [
        sentAt(
          left,
          path,
          before.findLast((edit) => (edit.path ?? '') === path),
        ),
        sentAt(
          right,
          path,
          now.findLast((edit) => (edit.path ?? '') === path),
        ),
      ] as const
      const key = JSON.stringify([path, ...sides])
      if (reported.has(key)) return []
      reported.add(key)
      return diffJson(...sides, `request.${path}`).map((diff) => ({ ...diff, area: 'requests' }))
    })
  }
}

/** The value that was sent at a path: that of the fork, or that of the agent. */
const sentAt = (step: Step, path: string, edit: { readonly value: unknown } | undefined): unknown =>
  edit
    ? edit.value
    : attempt(() => getPath(step.exchange()?.request.json ?? step.call()?.args, path))

/** The event that completed the answer; for an inferred tool call, the request with its result. */
const answeredAt = ({ seq, answerSeqs }: Step): number => answerSeqs.at(-1) ?? seq

/** Maps an event of the second run to what had happened in the first run by then. */
const eventInFirst = (
  pairs: readonly (readonly [left: Step, right: Step])[],
): ((seqInSecond: number) => number) => {
  const moments = pairs
    .flatMap(([left, right]) => [
      { a: left.seq, b: right.seq },
      { a: answeredAt(left), b: answeredAt(right) },
    ])
    .toSorted((one, other) => one.b - other.b)
  let latest = -1
  const reached = moments.map(({ a }) => (latest = Math.max(latest, a)))
  // Between this event and the next.
  return (seq) => (reached[firstIndex(moments, ({ b }) => b > seq) - 1] ?? -1) + 0.5
}

const diffSteps = (
  a: readonly StepProfile[],
  b: readonly StepProfile[],
  only: ReadonlySet<DiffArea>,
  editsOf: ReturnType<typeof editedRequests>,
): { steps: StepDiff[]; same: number } => {
  const comparer = new StepComparer()
  /** `since`: the event of the first run in which the difference arose. */
  const found: { readonly step: StepDiff; readonly since: () => number }[] = []
  const paired: (readonly [left: Step, right: Step])[] = []
  let toFirst: ReturnType<typeof eventInFirst> | undefined
  let same = 0
  for (const pair of pairSteps(a, b)) {
    const [left, right] = [a[pair.a ?? -1], b[pair.b ?? -1]]
    if (left !== undefined && right !== undefined) {
      paired.push([left.step, right.step])
      const edited = editsOf(left.step, right.step)
      const content =
        left.digest === right.digest ? NOTHING : comparer.compare(left.step, right.step)
      const compared =
        edited.length === 0
          ? content
          : { ...content, fields: [...edited, ...content.fields], isInAnswerOnly: false }
      const fields = compared.fields.filter(({ area }) => only.has(area))
      const carried = only.has('messages') ? compared.carried : []
      const isMoved = pair.moved === true && concerns(left.step, only)
      if (fields.length === 0 && carried.length === 0 && !isMoved) same++
      else {
        const change = pair.moved === true ? 'moved' : 'changed'
        const step = { change, a: refOf(left.step), b: refOf(right.step), fields, carried } as const
        const since = compared.isInAnswerOnly ? answeredAt(left.step) : left.step.seq
        found.push({ step, since: () => since })
      }
      continue
    }
    const step = (left ?? right)?.step
    if (step === undefined) continue
    const side = left === undefined ? 'b' : 'a'
    comparer.pass(step, side)
    if (!concerns(step, only)) continue
    const { seq } = step
    found.push({
      step: {
        change: side === 'a' ? 'removed' : 'added',
        [side]: refOf(step),
        fields: [],
        carried: [],
      },
      since: () => (side === 'a' ? seq : (toFirst ??= eventInFirst(paired))(seq)),
    })
  }
  const ordered = found
    .map(({ step, since }) => ({ step, since: since() }))
    .toSorted((one, other) => one.since - other.since)
  return { steps: ordered.map(({ step }) => step), same }
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
