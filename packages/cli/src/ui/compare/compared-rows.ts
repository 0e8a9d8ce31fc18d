import type { FieldDiff, RunDiff, StepDiff, ValueDiff } from '@retake/diagnose'
import type { RunView, Step } from '@retake/tape'
import type { ComparedStep, ComparedText } from '@retake/web'
import { shownMessage } from '../../compare/diff-lines.js'

/** All steps of two runs in pairs, in order. `diff` tells those that differ; the others are the same. */
export function comparedRows(a: RunView, b: RunView, diff: RunDiff): ComparedStep[] {
  const same = samePairs(a.steps, b.steps, diff.steps)
  const placeInA = placesOf(a.steps)
  const placeInB = placesOf(b.steps)
  const rows: ComparedStep[] = []
  let next = 0
  const takeSame = (isBefore: (pair: Pair) => boolean): void => {
    for (let pair = same[next]; pair && isBefore(pair); pair = same[++next])
      rows.push(sameRow(pair))
  }
  for (const step of diff.steps) {
    const [inA, inB] = [step.a?.label, step.b?.label]
    if (inA !== undefined) {
      const place = placeInA.get(inA) ?? 0
      takeSame(({ left }) => (placeInA.get(left.label) ?? 0) < place)
    } else if (inB !== undefined) {
      const place = placeInB.get(inB) ?? 0
      takeSame(({ right }) => (placeInB.get(right.label) ?? 0) < place)
    }
    rows.push(differingRow(step))
  }
  takeSame(() => true)
  return rows
}

interface Pair {
  readonly left: Step
  readonly right: Step
}

/** What is left when the differing steps are taken away stands in the same order on both sides. */
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
      return right === undefined ? [] : [{ left, right }]
    })
}

const placesOf = (steps: readonly Step[]): ReadonlyMap<string, number> =>
  new Map(steps.map(({ label }, index) => [label, index]))

const sameRow = ({ left, right }: Pair): ComparedStep => ({
  a: left.label,
  b: right.label,
  title: left.title,
  kind: left.kind,
  verdict: 'same',
  differences: [],
})

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

/** Longer texts are cut: two of them side by side cannot be read anyway. */
const TEXT_MAX = 100_000

/** A difference as two texts that can be laid side by side. */
export function comparedText(diff: ValueDiff & Partial<Pick<FieldDiff, 'area'>>): ComparedText {
  const [a, b] = [sideOf(diff.a), sideOf(diff.b)]
  const missing = diff.a === undefined ? 'a' : diff.b === undefined ? 'b' : undefined
  return {
    what: diff.path,
    ...(diff.area && { area: diff.area }),
    a: a.text.slice(0, TEXT_MAX),
    b: b.text.slice(0, TEXT_MAX),
    form: a.isJson || b.isJson ? 'json' : 'text',
    ...(missing && { missing }),
    ...((a.text.length > TEXT_MAX || b.text.length > TEXT_MAX) && { cut: true }),
  }
}

function sideOf(value: unknown): { text: string; isJson: boolean } {
  if (value === undefined) return { text: '', isJson: false }
  if (typeof value === 'string') return { text: value, isJson: false }
  const message = shownMessage(value)
  if (message !== undefined) return { text: message, isJson: false }
  return { text: JSON.stringify(value, undefined, 2), isJson: true }
}
