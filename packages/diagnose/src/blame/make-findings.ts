import type {
  BlamedStep,
  BlameFindings,
  BlameVerdict,
  CauseSet,
  StepRole,
  TestedRepair,
} from '@retake/tape'
import { minimalRepair, without } from './step-set.js'
import { labelRanges } from '@retake/tape/present'
import type { Learned } from './learn-causes.js'
import { passRateOf, rateOf } from './ledger.js'
import { riskCurve } from './first-fail.js'
import type { Search } from './search.js'
import type { StepSet } from './step-set.js'

export interface Conclusion {
  readonly verdict: BlameVerdict
  readonly why?: string
}

/** Puts what a search knows into findings. */
export function makeFindings(search: Search, conclusion: Conclusion): BlameFindings {
  const { ledger, learned } = search
  const causes = learned?.causes ?? []
  const first = causes[0]
  const curve = riskCurve(ledger, search.labels)
  const repair = testedRepair(search, causes)
  return {
    version: 2,
    ...conclusion,
    causes: causes.map((steps, order) => causeSet(search, steps, order)),
    steps: search.everyStep.map((step) => blamedStep(search, step)),
    ambient: search.source.ambient,
    ...(repair === undefined ? {} : { repair }),
    ...(first
      ? {
          decisionStep: search.labelOf(learned?.raisedRisk?.step ?? first[0]!),
          commitStep: search.labelOf(first.at(-1)!),
        }
      : {}),
    confidence: learned ? Math.max(0, 1 - learned.errorRate) : 0,
    anchors: {
      pinned: rateOf(search.cell(search.everyStep)),
      free: rateOf(search.cell([])),
    },
    riskCurve: curve,
    mode: search.mode,
    evidence: ledger.evidence(search.labels),
    forks: ledger.forkCounts(),
    notes: [...search.notes, ...(learned ? notesOn(search, learned) : [])],
  }
}

/** The steps to repair together, with the rate of a fork in which all others were pinned. */
function testedRepair(search: Search, causes: readonly StepSet[]): TestedRepair | undefined {
  const repaired = minimalRepair(causes)
  if (repaired.length === 0) return undefined
  const cell = search.cell(without(search.everyStep, repaired))
  return {
    steps: repaired.map((step) => search.labelOf(step)),
    pinned: labelRanges(cell.coalition.pinned, search.labels),
    rate: passRateOf(cell),
  }
}

/** Without any one member it does not fail, so each has the same share of what they do together. */
function causeSet(search: Search, steps: StepSet, order: number): CauseSet {
  return {
    role: order > 0 ? 'back-up' : steps.length === 1 ? 'root' : 'joint',
    steps: steps.map((step) => search.labelOf(step)),
    sufficiency: rateOf(search.cell(steps)),
    shares: (order === 0 && search.learned?.shares) || steps.map(() => 1 / steps.length),
  }
}

function blamedStep(search: Search, step: number): BlamedStep {
  const causes = search.learned?.causes ?? []
  const alone = search.cell([step])
  const prior = search.options.prior?.[step]
  const intervention = search.options.interventions?.[step]
  return {
    label: search.labelOf(step),
    role: roleOf(search, step),
    isNecessary: causes[0]?.includes(step) ?? false,
    isSufficient: alone.verdict === true && search.learned !== undefined,
    responsibility: responsibilityOf(causes, step),
    ...(alone.forks > 0 ? { alone: rateOf(alone) } : {}),
    ...(prior === undefined ? {} : { prior }),
    ...(intervention === undefined ? {} : { intervention }),
  }
}

function roleOf(search: Search, step: number): StepRole {
  const { learned } = search
  if (!learned) return 'unknown'
  const order = learned.causes.findIndex((cause) => cause.includes(step))
  if (order === 0) return learned.causes[0]!.length === 1 ? 'root' : 'joint'
  if (order > 0) return 'back-up'
  if (learned.changed.includes(step)) {
    const { verdict } = search.cell([step])
    return verdict === undefined ? 'unknown' : verdict ? 'echo' : 'affected'
  }
  return learned.clearsOthers ? 'clear' : 'unknown'
}

/** How many other steps must be repaired before repairing this one makes the difference. */
function responsibilityOf(causes: readonly StepSet[], step: number): number {
  if (!causes.some((cause) => cause.includes(step))) return 0
  const others = causes.filter((cause) => !cause.includes(step))
  return 1 / (1 + minimalRepair(others).length)
}

function notesOn(search: Search, learned: Learned): string[] {
  const notes: string[] = []
  const { raisedRisk } = learned
  if (raisedRisk) {
    const { before, after, step } = raisedRisk
    const percent = (tally: { fails: number; forks: number }) =>
      `${Math.round((100 * tally.fails) / tally.forks)} %`
    const where = step === undefined ? 'An earlier step' : `Step ${search.labelOf(step)}`
    notes.push(
      `${where} had already raised the risk from ${percent(before)} to ${percent(after)} when the cause made it real.`,
    )
  }
  if (!learned.clearsOthers && !learned.isOneByOne) {
    notes.push('There may be more causes: without those that are named it may still fail.')
  }
  if (!learned.isAudited) notes.push('The cause is proven, but it ended before that was audited.')
  return notes
}

/** The steps of each cause by their place among the searched ones, from 0. */
export function causeIndexes({ causes, steps }: BlameFindings): number[][] {
  const places = new Map(steps.map(({ label }, index) => [label, index]))
  return causes.map((cause) => cause.steps.map((label) => places.get(label)!))
}
