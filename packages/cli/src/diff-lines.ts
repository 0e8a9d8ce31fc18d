import type { FirstDivergence, LineDiff, RunDiff, StepDiff, ValueDiff } from '@retake/diagnose'
import { DifferenceLines } from './difference-lines.js'
import { stepDiffLines } from './diff-step-lines.js'
import { sideLines, totalsLines } from './diff-totals.js'
import { plural } from './facts.js'
import { cutTo } from './table.js'
import { toolListLines } from './tool-list-lines.js'
import type { Look } from './terminal.js'
import { wrap } from './wrap.js'

export interface DiffLook extends Look {
  /** Values in full, and every step and line. */
  readonly full: boolean
}

/** How many steps and lines of output are shown unless all are asked for. */
const MOST_STEPS = 40
const MOST_LINES = 12

/** Two runs beside each other, for a person: what they are, what differs first, then all that differs. */
export function diffLines(diff: RunDiff, look: DiffLook): string[] {
  return [
    ...sideLines(diff, look),
    '',
    ...totalsLines(diff, look),
    '',
    ...verdict(diff, look),
    ...diff.toolLists.flatMap((list) => ['', ...toolListLines(list, look)]),
    ...stepsLines(diff, look),
    ...outputLines(diff.output, look),
    ...outcomeLines(diff.outcome, look),
  ]
}

function verdict({ equal, first, counts }: RunDiff, { paint, width }: Look): string[] {
  if (equal) return [paint('green', 'No difference.')]
  const { same, changed, moved, removed, added } = counts
  const parts = [
    `${plural(same, 'step')} the same`,
    ...(changed > 0 ? [`${changed} changed`] : []),
    ...(moved > 0 ? [`${moved} in another order`] : []),
    ...(removed > 0 ? [`${removed} only in a`] : []),
    ...(added > 0 ? [`${added} only in b`] : []),
  ]
  const where = first === undefined ? '' : `First difference: ${placeOf(first)}`
  return [paint('bold', cutTo(where, width)), ...wrap(parts.join(' · '), width)]
}

/** Where two runs differ first, in words. */
export function placeOf(first: FirstDivergence): string {
  if (first.in === 'output') {
    const { stream, a, b } = first.line
    return `line ${(a ?? b)?.line} of ${stream}`
  }
  if (first.in === 'outcome') return `the outcome, ${first.path}`
  const { change, a, b, path } = first
  if (change === 'removed') return `step ${a}, which only a has`
  if (change === 'added') return `step ${b}, which only b has`
  const label = a === b ? `step ${a}` : `step ${a} of a, ${b} of b`
  return path === undefined ? `${label}, in another order` : `${label}, ${path}`
}

function stepsLines({ steps: all, toolLists }: RunDiff, look: DiffLook): string[] {
  const steps = toolLists.length === 0 ? all : all.filter((step) => !isToolList(step))
  const shown = look.full ? steps : steps.slice(0, MOST_STEPS)
  const rest = steps.length - shown.length
  return [
    ...shown.flatMap((step) => ['', ...stepDiffLines(step, look)]),
    ...(rest > 0 ? ['', `… ${plural(rest, 'more step')} (--full shows all, --step N one)`] : []),
  ]
}

/** A step that says no more than the difference of the tools, which is told above it. */
const isToolList = ({ a, change, fields }: StepDiff): boolean =>
  change === 'changed' &&
  a?.kind === 'mcp' &&
  fields.every(({ path }) => path.startsWith('result.tools'))

function outputLines(lines: readonly LineDiff[], look: DiffLook): string[] {
  const { paint, full } = look
  return (['stdout', 'stderr'] as const).flatMap((stream) => {
    const own = lines.filter((line) => line.stream === stream)
    if (own.length === 0) return []
    const shown = full ? own : own.slice(0, MOST_LINES)
    const rest = own.length - shown.length
    const differences = new DifferenceLines(look)
    return [
      '',
      `${paint('bold', stream)}  ${plural(own.length, 'line')} differ${own.length === 1 ? 's' : ''}`,
      ...shown.flatMap(({ a, b }) => differences.sides(a?.text, b?.text)),
      ...(rest > 0 ? [`  … ${plural(rest, 'more line')} (--full shows all)`] : []),
    ]
  })
}

function outcomeLines(outcome: readonly ValueDiff[], look: DiffLook): string[] {
  if (outcome.length === 0) return []
  const differences = new DifferenceLines(look)
  return ['', look.paint('bold', 'outcome'), ...outcome.flatMap((each) => differences.field(each))]
}
