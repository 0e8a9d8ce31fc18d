import {
  type BlamedStep,
  type BlameFindings,
  type BlameProbe,
  type ProbePurpose,
  type Rate,
  type RiskPoint,
  type StepRole,
  BLAME_ROLES,
  type RunBlame,
} from '@retake/tape'
import {
  clampRate,
  labelRanges,
  namedFindings,
  type StepCounts,
  verdictSentence,
} from '@retake/tape/present'

/** A shape for each role, so that roles are recognizable without colour. */
interface RoleLook {
  /** A path on 12 × 12, the same on the page and on the canvas. */
  readonly path: string
  readonly isFilled: boolean
  readonly color: 'role-cause' | 'role-back-up' | 'role-echo' | 'muted'
}

const DIAMOND = 'M6 .8 11.2 6 6 11.2.8 6Z'

/** Roles shown on the timeline. Steps with other roles are not involved, or it is unknown. */
export const ROLE_LOOKS = {
  root: { path: DIAMOND, isFilled: true, color: 'role-cause' },
  joint: {
    path: 'M4.6 1.6.6 6 4.6 10.4ZM7.4 1.6 11.4 6 7.4 10.4Z',
    isFilled: true,
    color: 'role-cause',
  },
  'back-up': { path: DIAMOND, isFilled: false, color: 'role-back-up' },
  echo: {
    path: 'M6 1.4A4.6 4.6 0 1 1 6 10.6 4.6 4.6 0 0 1 6 1.4ZM6 4.4A1.6 1.6 0 1 1 6 7.6 1.6 1.6 0 0 1 6 4.4Z',
    isFilled: false,
    color: 'role-echo',
  },
  affected: { path: 'M3.4 6H8.6', isFilled: false, color: 'muted' },
} as const satisfies Partial<Record<StepRole, RoleLook>>

export type SeenRole = keyof typeof ROLE_LOOKS
export const SEEN_ROLES = Object.keys(ROLE_LOOKS) as readonly SeenRole[]
export const isSeen = (role: StepRole | undefined): role is SeenRole =>
  role !== undefined && Object.hasOwn(ROLE_LOOKS, role)

export type RiskScale = ReturnType<typeof riskScale>

export function riskScale(width: number, steps: number) {
  const [height, left, right, top, bottom] = [164, 48, 14, 32, 22]
  const room = Math.max(1, width - left - right)
  return {
    width,
    height,
    left,
    right,
    top,
    bottom,
    /** Pixels from the left, by the index of the last pinned step; -1 means that no step is pinned. */
    x: (index: number) => left + ((index + 1) / Math.max(1, steps)) * room,
    y: (rate: number) => top + (1 - clampRate(rate)) * (height - top - bottom),
  }
}

/** A point of the risk curve with the index of its last pinned step; -1 if none is pinned. */
export interface IndexedRisk extends RiskPoint {
  readonly index: number
}

/** Points that were tried, in step order. */
export const riskPoints = (
  curve: readonly RiskPoint[],
  indexOf: (label: string) => number,
): IndexedRisk[] =>
  curve
    .filter(({ rate }) => rate.forks > 0)
    .map((point) => ({ ...point, index: point.upTo === undefined ? -1 : indexOf(point.upTo) }))
    .toSorted((a, b) => a.index - b.index)

/**
 * Nothing was measured between two points, so it is unknown where the risk rises. The line is level up
 * to the later point.
 */
export const riskPath = (points: readonly IndexedRisk[], { x, y }: RiskScale): string =>
  points
    .map(({ index, rate }, order) => {
      const at = y(rate.fails / rate.forks)
      return order === 0 ? `M${x(index)} ${at}` : `H${x(index)}V${at}`
    })
    .join('')

export class BlameView {
  readonly blame: RunBlame
  readonly findings: BlameFindings
  /** Steps in causes, first cause first. For a step of another process (`2:3`), the step that started it. */
  readonly causeLabels: readonly string[]
  readonly #indexes = new Map<string, number>()
  #ranked: readonly number[] | undefined

  constructor(blame: RunBlame) {
    this.blame = blame
    this.findings = blame.findings
    for (const [index, { label }] of this.findings.steps.entries()) this.#indexes.set(label, index)
    const labels = this.findings.causes.flatMap(({ steps }) => steps)
    this.causeLabels = [...new Set(labels.map((label) => label.split(':')[0] ?? label))]
  }

  get sentence(): string {
    return verdictSentence(namedFindings(this.findings, this.blame.steps))
  }

  get counts(): StepCounts {
    const inferred = this.blame.steps.filter(({ isInferred }) => isInferred).length
    return { steps: this.findings.steps.length - inferred, inferred }
  }

  /** Index of a searched step; -1 if the step was not searched. */
  indexOf(label: string): number {
    return this.#indexes.get(label) ?? -1
  }

  labelOf(index: number): string {
    return this.findings.steps[index]?.label ?? ''
  }

  step(label: string): BlamedStep | undefined {
    return this.findings.steps[this.indexOf(label)]
  }

  /** Failure rate with only this step pinned, if that was tried. */
  aloneOf(label: string): Rate | undefined {
    const cause = this.findings.causes.find(({ steps }) => steps.length === 1 && steps[0] === label)
    return this.step(label)?.alone ?? cause?.sufficiency
  }

  /** Indexes of all searched steps: causes first, then those closest to one. */
  get ranked(): readonly number[] {
    return (this.#ranked ??= rank(this.findings.steps))
  }

  countOf(role: StepRole): number {
    return this.findings.steps.reduce((sum, step) => sum + (step.role === role ? 1 : 0), 0)
  }

  /** Pinned steps of a probe, in words: `nothing`, `everything`, `1–5, 8`. */
  pinnedText(pinned: string): string {
    if (pinned === '') return 'nothing'
    const labels = this.findings.steps.map(({ label }) => label)
    return pinned === labelRanges([...labels.keys()], labels) ? 'everything' : pinned
  }

  /** The next step in a cause after `from`; the first one if `from` is not in a cause. */
  nextCause(from: string | undefined, direction: 1 | -1): string | undefined {
    const { causeLabels } = this
    const at = from === undefined ? -1 : causeLabels.indexOf(from)
    if (at < 0) return causeLabels.at(direction > 0 ? 0 : -1)
    return causeLabels[(at + direction + causeLabels.length) % causeLabels.length]
  }
}

const views = new WeakMap<RunBlame, BlameView>()

export function blameViewOf(blame: RunBlame): BlameView {
  const known = views.get(blame) ?? new BlameView(blame)
  views.set(blame, known)
  return known
}

function rank(steps: readonly BlamedStep[]): number[] {
  const rateOf = ({ alone }: BlamedStep): number =>
    alone === undefined || alone.forks === 0 ? -1 : alone.fails / alone.forks
  const roles = steps.map(({ role }) => BLAME_ROLES.indexOf(role))
  return steps
    .map((_, index) => index)
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

export type EvidenceGroup = ReturnType<typeof evidenceGroups>[number]

/** Probes by purpose, in the order of their first probe. */
export function evidenceGroups(evidence: readonly BlameProbe[]) {
  const groups = new Map<ProbePurpose, BlameProbe[]>()
  for (const probe of evidence) {
    const group = groups.get(probe.purpose)
    if (group === undefined) groups.set(probe.purpose, [probe])
    else group.push(probe)
  }
  return [...groups].map(([purpose, probes]) => ({
    purpose,
    probes,
    forks: probes.reduce((sum, { rate, undefinedForks }) => sum + rate.forks + undefinedForks, 0),
  }))
}
