import {
  type BlamedStep,
  type BlameFindings,
  type BlameRace,
  type BlameVerdict,
  type CauseSet,
  defined,
  type Rate,
  type StepRole,
  type TestedRepair,
} from '@retake/tape'
import { labelRanges, stepsText } from '@retake/tape/present'
import type { Learned } from './learn-causes.js'
import { passRateOf, rateOf } from './ledger.js'
import { riskCurve } from './first-fail.js'
import type { Search } from './search.js'
import { minimalRepair, type StepSet, union, without } from './step-set.js'

export interface Conclusion {
  readonly verdict: BlameVerdict
  readonly why?: string
}

export function makeFindings(search: Search, conclusion: Conclusion): BlameFindings {
  const { ledger, learned, source, ambientCause } = search
  const first = namedCauses(search)[0]
  const repair: TestedRepair | undefined = search.repair && {
    steps: search.repair.steps.map((step) => search.labelOf(step)),
    ...(ambientCause ? { ambient: ambientCause.inputs } : {}),
    pinned: labelRanges(search.repair.cell.coalition.pinned, search.labels),
    rate: passRateOf(search.repair.cell),
  }
  const race = conclusion.verdict === 'race' ? raceOf(search) : undefined
  const causes = namedCauses(search).map((steps, order) => causeSet(search, steps, order))
  return {
    version: 2,
    ...conclusion,
    causes: ambientCause
      ? [...causes, ambientCauseSet(search, ambientCause.inputs, causes.length)]
      : causes,
    steps: search.everyStep.map((step) => blamedStep(search, step)),
    ambient: source.ambient,
    ...defined({ race, repair, cleared: clearedRate(search) }),
    ...(first && {
      decisionStep: search.labelOf(learned?.raisedRisk?.step ?? first[0]!),
      commitStep: search.labelOf(first.at(-1)!),
    }),
    confidence: confidenceOf(search),
    anchors: {
      pinned: rateOf(search.replayCell),
      free: rateOf(search.freeCell),
      ...(source.ambient.length === 0 ? {} : { ambientFree: rateOf(search.ambientFreeCell) }),
    },
    riskCurve: riskCurve(search),
    mode: search.mode,
    evidence: ledger.evidence(search.labels),
    forks: ledger.forkCounts(),
    notes: [...search.notes, ...(learned ? notesOn(search, learned) : [])],
  }
}

/** The test that cleared all clear steps together. */
function clearedRate(search: Search): Rate | undefined {
  const { learned, ambientCause } = search
  const cell =
    learned === undefined
      ? ambientCause && search.ambientFreeCell
      : learned.clearsOthers
        ? search.cell(without(search.everyStep, union(learned.named(), learned.followers())))
        : undefined
  return cell && cell.forks > 0 ? rateOf(cell) : undefined
}

/** Causes among the steps; none while they may follow from ambient inputs. */
function namedCauses({ learned, ambientCause, earliest }: Search): readonly StepSet[] {
  if (!learned || earliest === 'wrong' || (ambientCause && !learned.isSetAside)) return []
  return learned.causes
}

/** Maximum confidence in a cause that no audit has tested. */
const UNAUDITED_MAX = 0.9

/** No confidence is claimed while it is unknown which pinned ambient inputs a cause needs. */
function confidenceOf(search: Search): number {
  const { learned, ambientCause, ambient, needed } = search
  const isStep = namedCauses(search).length > 0
  if (isStep && learned) {
    if (ambient.length > 0 && needed.length === 0) return 0
    return Math.max(0, Math.min(1 - learned.errorRate, learned.isAudited ? 1 : UNAUDITED_MAX))
  }
  return ambientCause ? Math.max(0, 1 - ambientCause.errorRate) : 0
}

function raceOf({ source, needed, ambientCause }: Search): BlameRace {
  const inputs = needed.length > 0 ? needed : (ambientCause?.inputs ?? [])
  const orders = inputs.flatMap((index) => source.ambient[index]!.steps ?? [])
  const steps = [...new Set(orders)]
  return { steps, text: `It fails in the recorded order of ${stepsText(steps, { steps: [] })}.` }
}

function ambientCauseSet(search: Search, inputs: StepSet, order: number): CauseSet {
  const { ledger, mode } = search
  return {
    role: order > 0 ? 'back-up' : inputs.length === 1 ? 'root' : 'joint',
    steps: [],
    ambient: inputs,
    sufficiency: rateOf(ledger.cell({ pinned: [], mode, ambient: inputs })),
    shares: [],
  }
}

/** All members get the same share, because the run does not fail without any one of them. */
function causeSet(search: Search, steps: StepSet, order: number): CauseSet {
  const { ledger, mode } = search
  const needed = search.needed.length > 0 ? search.needed : search.ambient
  const members = steps.length + needed.length
  const alone =
    needed.length === 0 ? search.cell(steps) : ledger.cell({ pinned: steps, mode, ambient: needed })
  return {
    role: order > 0 ? 'back-up' : members === 1 ? 'root' : 'joint',
    steps: steps.map((step) => search.labelOf(step)),
    ...(needed.length === 0 ? {} : { ambient: needed }),
    sufficiency: rateOf(alone),
    shares: (order === 0 && search.learned?.shares) || steps.map(() => 1 / members),
  }
}

function blamedStep(search: Search, step: number): BlamedStep {
  const causes = namedCauses(search)
  const others = causes.filter((cause) => !cause.includes(step))
  const alone = search.cell([step])
  const prior = search.options.prior?.[step]
  const intervention = search.options.interventions?.[step]
  const { seen } = search.freeCell
  const isUnchanged =
    seen.length >= SEEN_FORKS &&
    seen.every(({ values }) => values[step] === search.source.recorded[step])
  return {
    label: search.labelOf(step),
    role: roleOf(search, step),
    isNecessary: causes[0]?.includes(step) ?? false,
    isSufficient: alone.verdict === true && search.learned !== undefined,
    // 1 / (1 + number of other steps to repair before this one matters).
    responsibility: others.length === causes.length ? 0 : 1 / (1 + minimalRepair(others).length),
    ...(alone.forks > 0 && { alone: rateOf(alone) }),
    ...defined({ prior, isUnchanged: isUnchanged || undefined, intervention }),
  }
}

/** With fewer free forks than this, it is unknown which steps never change. */
const SEEN_FORKS = 4

function roleOf(search: Search, step: number): StepRole {
  const { learned, needed, ambientCause } = search
  const causes = namedCauses(search)
  if (!learned) return ambientCause ? 'clear' : 'unknown'
  if (causes.length === 0 && !learned.isSetAside) return 'unknown'
  const order = causes.findIndex((cause) => cause.includes(step))
  if (order === 0) return causes[0]!.length + needed.length === 1 ? 'root' : 'joint'
  if (order > 0) return 'back-up'
  if (learned.undecided.includes(step)) return 'unknown'
  if (learned.changed.includes(step)) {
    const { verdict } = search.cell([step])
    return verdict === undefined ? 'unknown' : verdict ? 'echo' : 'affected'
  }
  return learned.clearsOthers ? 'clear' : 'unknown'
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
      `${where} had already raised the risk from ${percent(before)} to ${percent(after)} before the cause made it certain.`,
    )
  }
  if (learned.undecided.length > 0) {
    const labels = learned.undecided.map((step) => search.labelOf(step))
    const steps = stepsText(labels, { steps: search.labels.map((label) => ({ label })) })
    notes.push(
      `Pinned without the cause, ${steps} fail${learned.undecided.length === 1 ? 's' : ''}. It could not be decided whether that only repeats the cause.`,
    )
  }
  if (!learned.clearsOthers && !learned.isOneByOne) {
    notes.push('There may be more causes: the run may still fail without the named ones.')
  }
  if (!learned.isAudited) notes.push('The cause is proven, but the search ended before an audit.')
  return notes
}

/** Steps of each cause, as indexes into the searched steps. */
export function causeIndexes({ causes, steps }: BlameFindings): number[][] {
  const indexes = new Map(steps.map(({ label }, index) => [label, index]))
  return causes.map((cause) => cause.steps.map((label) => indexes.get(label)!))
}
