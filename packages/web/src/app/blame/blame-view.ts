import type { BlamedStep, BlameFindings, Rate, StepRole } from '@retake/tape'
import { ROLES } from '../../model/read-run-blame.js'
import type { RunBlame } from '../../model/run-blame.js'

/** Findings of blame as the page asks about them: by label of a step, ranked, in words for ranges. */
export class BlameView {
  readonly blame: RunBlame
  readonly findings: BlameFindings
  /** Steps of causes by their labels, the first cause first. */
  readonly causeLabels: readonly string[]
  readonly #places = new Map<string, number>()
  #ranked: readonly number[] | undefined

  constructor(blame: RunBlame) {
    this.blame = blame
    this.findings = blame.findings
    for (const [place, { label }] of this.findings.steps.entries()) this.#places.set(label, place)
    const causes = this.findings.causes.flatMap(({ steps }) => steps)
    this.causeLabels = [...new Set(causes)].map((place) => this.labelOf(place))
  }

  labelOf(place: number): string {
    return this.findings.steps[place]?.label ?? ''
  }

  /** Undefined for a step that was not searched. */
  step(label: string): BlamedStep | undefined {
    return this.findings.steps[this.#places.get(label) ?? -1]
  }

  roleOf(label: string): StepRole | undefined {
    return this.step(label)?.role
  }

  /** How often the run fails when only this step is kept, where that was tried. A cause of one was tried. */
  aloneOf(label: string): Rate | undefined {
    const place = this.#places.get(label)
    const cause = this.findings.causes.find(({ steps }) => steps.length === 1 && steps[0] === place)
    return this.step(label)?.alone ?? cause?.sufficiency
  }

  /** Places of all searched steps: causes first, then what comes closest to one. */
  get ranked(): readonly number[] {
    return (this.#ranked ??= rank(this.findings.steps))
  }

  countOf(role: StepRole): number {
    return this.findings.steps.reduce((sum, step) => sum + (step.role === role ? 1 : 0), 0)
  }

  /** What a probe held as recorded, in labels: `1–5, 8`. A text that is no ranges stays as it is. */
  keptText(kept: string): string {
    const count = this.findings.steps.length
    if (kept.trim() === '') return 'nothing'
    if (kept === `0-${count - 1}` || (count === 1 && kept === '0')) return 'everything'
    const ranges = kept.split(',').map((range) => /^\s*(\d+)(?:-(\d+))?\s*$/.exec(range))
    const isWhole = ranges.every(
      (range) => range !== null && Math.max(Number(range[1]), Number(range[2] ?? 0)) < count,
    )
    if (!isWhole) return kept
    return ranges
      .map((range) => {
        const [first, last] = [range?.[1], range?.[2] ?? range?.[1]].map(Number) as [number, number]
        return first === last ? this.labelOf(first) : `${this.labelOf(first)}–${this.labelOf(last)}`
      })
      .join(', ')
  }

  /** The step of a cause to go to next from where one is; the first one from anywhere else. */
  nextCause(from: string | undefined, direction: 1 | -1): string | undefined {
    const { causeLabels } = this
    const at = from === undefined ? -1 : causeLabels.indexOf(from)
    if (at < 0) return causeLabels.at(direction > 0 ? 0 : -1)
    return causeLabels[(at + direction + causeLabels.length) % causeLabels.length]
  }
}

const views = new WeakMap<RunBlame, BlameView>()

/** One view of the same findings, whoever asks. */
export function blameViewOf(blame: RunBlame): BlameView {
  const known = views.get(blame) ?? new BlameView(blame)
  views.set(blame, known)
  return known
}

function rank(steps: readonly BlamedStep[]): number[] {
  const rateOf = ({ alone }: BlamedStep): number =>
    alone === undefined || alone.forks === 0 ? -1 : alone.fails / alone.forks
  const roles = steps.map(({ role }) => ROLES.indexOf(role))
  return steps
    .map((_, place) => place)
    .toSorted((a, b) => {
      const [left, right] = [steps[a], steps[b]] as [BlamedStep, BlamedStep]
      return (
        (roles[a] ?? 0) - (roles[b] ?? 0) ||
        right.responsibility - left.responsibility ||
        rateOf(right) - rateOf(left) ||
        a - b
      )
    })
}
