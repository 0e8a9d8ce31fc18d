import type { BlamedStep, BlameFindings, BlameVerdict, CauseSet, StepRole } from '@retake/tape'
import { minimalRepair } from './step-set.js'
import type { Learned } from './learn-causes.js'
import { rateOf } from './ledger.js'
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
  const curve = riskCurve(ledger)
  return {
    version: 1,
    ...conclusion,
    causes: causes.map((steps, order) => causeSet(search, steps, order)),
    steps: search.everyStep.map((step) => blamedStep(search, step)),
    minimalRepair: minimalRepair(causes),
    ...(first
      ? { decisionStep: learned?.raisedRisk?.step ?? first[0]!, commitStep: first.at(-1)! }
      : {}),
    confidence: learned ? Math.max(0, 1 - learned.errorRate) : 0,
    anchors: {
      kept: rateOf(search.cell(search.everyStep)),
      free: rateOf(search.cell([])),
    },
    riskCurve: curve,
    mode: search.mode,
    evidence: ledger.evidence(),
    forks: ledger.forkCounts(),
    notes: [...search.notes, ...(learned ? notesOn(search, learned) : [])],
  }
}

/** Without any one member it does not fail, so each has the same share of what they do together. */
function causeSet(search: Search, steps: StepSet, order: number): CauseSet {
  return {
    role: order > 0 ? 'back-up' : steps.length === 1 ? 'root' : 'joint',
    steps,
    sufficiency: rateOf(search.cell(steps)),
    shares: (order === 0 && search.learned?.shares) || steps.map(() => 1 / steps.length),
  }
}

function blamedStep(search: Search, step: number): BlamedStep {
  const causes = search.learned?.causes ?? []
  const alone = search.cell([step])
  const prior = search.options.prior?.[step]
  return {
    label: search.labelOf(step),
    role: roleOf(search, step),
    isNecessary: causes[0]?.includes(step) ?? false,
    isSufficient: alone.verdict === true && search.learned !== undefined,
    responsibility: responsibilityOf(causes, step),
    ...(alone.forks > 0 ? { alone: rateOf(alone) } : {}),
    ...(prior === undefined ? {} : { prior }),
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
