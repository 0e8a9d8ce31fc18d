import {
  diffRuns,
  type FieldDiff,
  type LineDiff,
  type PrintedLine,
  type RunDiff,
  type StepDiff,
  type ValueDiff,
} from '@retake/tape/diff'
import {
  type RunView,
  type Step,
  type Tape,
  defined,
  type ComparedLine,
  type ComparedPrinted,
  type ComparedStep,
  type ComparedText,
  type RunComparison,
  type RunCard,
} from '@retake/tape'
import {
  descentText,
  locationOf,
  sharedDescent,
  totalsOf,
  valueSides,
} from '@retake/runner/terminal'
import { openStored } from '../runs/run-models.js'
import { type RunStore, statusOf, viewRun } from '@retake/runner/runs'

const LINE_MAX = 2000

export function compareRuns(store: RunStore, idA: string, idB: string): RunComparison {
  const [tapeA, tapeB] = [openStored(store, idA), openStored(store, idB)]
  const [a, b] = [viewRun(tapeA), viewRun(tapeB)]
  const diff = diffRuns(a, b, { shared: sharedDescent(tapeA, tapeB) })
  const rows = comparedRows(a, b, diff)
  const { same, changed, moved, removed, added } = diff.counts
  const firstDifferent = rows.findIndex(
    ({ verdict, moved: isMoved }) => verdict !== 'same' || isMoved,
  )
  const sameUntil = rows[(firstDifferent < 0 ? rows.length : firstDifferent) - 1]?.a
  const descent = descentText(diff)
  return {
    // Uses the file name as id, because a copy of a tape still contains its original id.
    a: { ...cardOf(tapeA, a), id: idA },
    b: { ...cardOf(tapeB, b), id: idB },
    equal: diff.equal,
    ...defined({ descent, sameUntil }),
    ...(diff.first && { first: locationOf(diff.first) }),
    counts: { same, changed, moved, onlyA: removed, onlyB: added },
    rows,
    totals: totalsOf(diff),
    console: diff.output.map(comparedLine),
    outcome: diff.outcome.map(comparedText),
  }
}

function cardOf(tape: Tape, view: ReturnType<typeof viewRun>): RunCard {
  const { branch } = tape.details
  const { parent } = tape.run
  const { modelCalls, costUsd } = view.totals
  return {
    id: view.id,
    name: view.name,
    startedAt: view.startedAt,
    durationMs: view.durationMs,
    status: statusOf(view, tape),
    steps: view.recordedSteps.length,
    ...(modelCalls > 0 && costUsd !== undefined && { costUsd }),
    ...(branch && parent && { branch: { kind: branch.kind, parent: parent.run } }),
  }
}

const comparedLine = ({ stream, a, b }: LineDiff): ComparedLine => ({
  stream,
  ...(a && { a: printed(a) }),
  ...(b && { b: printed(b) }),
})

const printed = ({ line, text, step }: PrintedLine): ComparedPrinted => ({
  line,
  text: text.length > LINE_MAX ? `${text.slice(0, LINE_MAX)}…` : text,
  ...(step !== undefined && { step }),
})

/** All steps of two runs in pairs, in order. `diff` lists those that differ. */
export function comparedRows(a: RunView, b: RunView, diff: RunDiff): ComparedStep[] {
  const same = samePairs(a.steps, b.steps, diff.steps)
  const indexInA = indexesOf(a.steps)
  const indexInB = indexesOf(b.steps)
  const rows: ComparedStep[] = []
  let next = 0
  const takeSame = (isBefore: (pair: Pair) => boolean): void => {
    for (let pair = same[next]; pair && isBefore(pair); pair = same[++next]) {
      const [{ label, title, kind }, right] = pair
      rows.push({ a: label, b: right.label, title, kind, verdict: 'same', differences: [] })
    }
  }
  for (const step of diff.steps) {
    const [inA, inB] = [step.a?.label, step.b?.label]
    if (inA !== undefined) {
      const position = indexInA.get(inA) ?? 0
      takeSame(([left]) => (indexInA.get(left.label) ?? 0) < position)
    } else if (inB !== undefined) {
      const position = indexInB.get(inB) ?? 0
      takeSame(([, right]) => (indexInB.get(right.label) ?? 0) < position)
    }
    rows.push(differingRow(step))
  }
  takeSame(() => true)
  return rows
}

type Pair = readonly [left: Step, right: Step]

/** Without the differing steps, both sides have the same order. */
function samePairs(a: readonly Step[], b: readonly Step[], differing: readonly StepDiff[]): Pair[] {
  const [inA, inB] = [new Set<string>(), new Set<string>()]
  for (const step of differing) {
    if (step.a) inA.add(step.a.label)
    if (step.b) inB.add(step.b.label)
  }
  const others = b.filter(({ label }) => !inB.has(label))
  return a
    .filter(({ label }) => !inA.has(label))
    .flatMap((left, index) => {
      const right = others[index]
      return right === undefined ? [] : [[left, right] as const]
    })
}

const indexesOf = (steps: readonly Step[]): ReadonlyMap<string, number> =>
  new Map(steps.map(({ label }, index) => [label, index]))

function differingRow({ change, a, b, fields, carried }: StepDiff): ComparedStep {
  const step = a ?? b
  const titleB = a && b && a.title !== b.title ? b.title : undefined
  return {
    ...(a && { a: a.label }),
    ...(b && { b: b.label }),
    title: step?.title ?? '',
    ...(titleB !== undefined && { titleB }),
    kind: step?.kind ?? '',
    verdict: VERDICTS[change],
    ...(change === 'moved' && { moved: true }),
    differences: fields.map(comparedText),
    ...(carried.length > 0 && { carried: carried.length }),
  }
}

const VERDICTS = {
  changed: 'changed',
  moved: 'changed',
  removed: 'only a',
  added: 'only b',
} as const

/** Longer texts cannot be read side by side anyway. */
const TEXT_MAX = 100_000

/** A difference as two texts for a side-by-side view. */
export function comparedText(diff: ValueDiff & Partial<Pick<FieldDiff, 'area'>>): ComparedText {
  const [a = '', b = ''] = valueSides(diff, { indent: 2 })
  const missing = diff.a === undefined ? 'a' : diff.b === undefined ? 'b' : undefined
  return {
    what: diff.path,
    ...(diff.area && { area: diff.area }),
    a: a.slice(0, TEXT_MAX),
    b: b.slice(0, TEXT_MAX),
    ...(missing && { missing }),
    ...((a.length > TEXT_MAX || b.length > TEXT_MAX) && { cut: true }),
  }
}
