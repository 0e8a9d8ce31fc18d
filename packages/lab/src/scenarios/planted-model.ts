import type { Coalition, Fork, ForkSource } from '../search/fork-source.js'
import { mixSeed, type Random, seededRandom } from '../search/seeded-random.js'
import { causeIndexes } from '../search/make-findings.js'
import type { AmbientInput, BlameFindings } from '@retake/tape'

export const NOISE_LEVELS = ['deterministic', 'noisy', 'hard'] as const

/**
 * `deterministic`: a cause always fails, and nothing else does. `noisy`: the run fails 60 to 100 %
 * of the time with a cause, and 0 to 12 % without. `hard`: 10 to 25 % without a cause, and 25 to 45
 * points more with one.
 */
export type NoiseLevel = (typeof NOISE_LEVELS)[number]

export function drawLevels(noise: NoiseLevel, random: Random): FailLevels {
  if (noise === 'deterministic') return CERTAIN
  if (noise === 'noisy') return { withCause: 0.6 + 0.4 * random(), without: 0.12 * random() }
  const without = 0.1 + 0.15 * random()
  return { withCause: without + 0.25 + 0.2 * random(), without }
}

export const CERTAIN: FailLevels = { withCause: 1, without: 0 }

/** A failed run with a known, planted cause. */
export interface PlantedModel extends ForkSource {
  readonly name: string
  /** The steps that together made it fail; empty if no step did. */
  readonly truth: readonly number[]
  /** Ambient inputs that made it fail, together with the steps of the truth if there are any. */
  readonly ambientTruth: readonly number[]
  /** Steps that are faulty only because of the truth. */
  readonly echoes: readonly number[]
  /** Other sets that would have made it fail without the truth. */
  readonly backups: readonly (readonly number[])[]
  readonly levels: FailLevels
}

export interface FailLevels {
  readonly withCause: number
  readonly without: number
}

/** A run as a small machine: each step has a fault (1) or not (0). */
export interface Structure
  extends
    Pick<PlantedModel, 'name' | 'levels' | 'truth'>,
    Partial<Pick<PlantedModel, 'ambientTruth' | 'echoes' | 'backups'>> {
  readonly stepCount: number
  /** Steps with a fault in the failed run. */
  readonly faulty: readonly number[]
  /** Value of a free step, computed from earlier values; by default without a fault. */
  readonly free?: (
    step: number,
    values: readonly number[],
    random: Random,
    ambient: readonly number[],
  ) => number
  /** Inputs besides the steps; each had a fault in the failed run. */
  readonly ambient?: readonly PlantedInput[]
  /** True if these faults of steps and ambient inputs form a cause. */
  readonly isFaulted: (values: readonly number[], ambient: readonly number[]) => boolean
  /** True if a step never repeats its words when it runs again. */
  readonly isReworded?: boolean
}

/** An ambient input, and how often it is faulty again while live. */
export interface PlantedInput extends AmbientInput {
  readonly faultRate: number
}

/**
 * Runs a structure as forks. The result depends only on the seed, the coalition and the draw, so a
 * search may fork in any order, or twice.
 */
export function structuralModel(structure: Structure, seed: number): PlantedModel {
  const { stepCount, levels, isFaulted, isReworded = false, ambient = [] } = structure
  const { faulty, free = () => 0 } = structure
  const recorded = Array.from({ length: stepCount }, (_, step) => Number(faulty.includes(step)))
  return {
    name: structure.name,
    stepCount,
    recorded: isReworded ? recorded.map((fault) => `recorded ${fault}`) : recorded,
    ambient,
    truth: structure.truth,
    ambientTruth: structure.ambientTruth ?? [],
    echoes: structure.echoes ?? [],
    backups: structure.backups ?? [],
    levels,
    fork(coalition, draw) {
      const { random, faults, ambientFaults } = run(coalition, draw)
      const rate = isFaulted(faults, ambientFaults) ? levels.withCause : levels.without
      const outcome = random() < rate ? 'fail' : 'pass'
      const values = isReworded ? worded(coalition, draw) : faults
      return Promise.resolve({ outcome, values } satisfies Fork)
    },
  }

  /** In frozen mode, a free step sees the recorded earlier values. */
  function run(coalition: Coalition, draw: number) {
    const { pinned, mode, given = [] } = coalition
    const random = seededRandom(forkSeed(seed, coalition, draw))
    const ambientFaults = ambient.map(({ faultRate }, index) =>
      coalition.ambient.includes(index) || random() < faultRate ? 1 : 0,
    )
    const faults: number[] = []
    const seen = mode === 'frozen' ? recorded : faults
    let next = 0
    for (let step = 0; step < stepCount; step++) {
      const isPinned = pinned[next] === step
      if (isPinned) next++
      const other = given.find((each) => each.step === step)
      const fresh = () => free(step, seen, random, ambientFaults)
      if (isPinned) faults.push(recorded[step]!)
      else faults.push(other ? run(other.from, other.draw).faults[step]! : fresh())
    }
    return { random, faults, ambientFaults }
  }

  /** Words of each step; pinned ones and transplants repeat earlier words. */
  function worded(coalition: Coalition, draw: number): string[] {
    const { pinned, given = [] } = coalition
    const fresh = forkSeed(seed, coalition, draw)
    return recorded.map((fault, step) => {
      if (pinned.includes(step)) return `recorded ${fault}`
      const other = given.find((each) => each.step === step)
      return other ? worded(other.from, other.draw)[step]! : `fresh ${fresh}`
    })
  }
}

function forkSeed(seed: number, coalition: Coalition, draw: number): number {
  const { pinned, mode, ambient, given = [] } = coalition
  let mixed = mixSeed(seed, mode === 'frozen' ? -2 : -1)
  for (const step of pinned) mixed = mixSeed(mixed, step)
  for (const index of ambient) mixed = mixSeed(mixSeed(mixed, -4), index)
  for (const { step, from, draw: of } of given) {
    mixed = mixSeed(mixSeed(mixed, -5 - step), forkSeed(seed, from, of))
  }
  return mixSeed(mixSeed(mixed, -3), draw)
}

export interface Accusation {
  readonly blamed: readonly number[]
  readonly first?: number | undefined
  /** Other sets claimed to fail the run without the cause. */
  readonly backups?: readonly (readonly number[])[]
  readonly forks: number
}

/** A way to find causes. It may use the model only as a source of forks. */
export type BlameMethod = (model: PlantedModel) => Promise<Accusation>

/** How well a method did on runs with a known truth. Shares are from 0 to 1. */
export interface Score {
  readonly runs: number
  /** Share of runs whose first named step is in the truth, or that rightly name none. */
  readonly top1: number
  /** Share of runs in which it blamed exactly the truth. */
  readonly exact: number
  readonly recall: number
  /** Number of wrongly blamed steps per run. */
  readonly falseBlamesPerRun: number
  /** Share of runs with at least one wrongly blamed step. */
  readonly falseBlameRuns: number
  /** Share of runs in which it blamed exactly the truth and found exactly its back-ups. */
  readonly allCauses: number
  readonly forksMean: number
  readonly forksP95: number
}

export async function scoreMethod(
  method: BlameMethod,
  models: Iterable<PlantedModel>,
): Promise<Score> {
  const sum = { top1: 0, exact: 0, recall: 0, falseBlames: 0, falseRuns: 0, allCauses: 0 }
  const forks: number[] = []
  for (const model of models) {
    const said = await method(model)
    const { truth } = model
    const found = truth.filter((step) => said.blamed.includes(step)).length
    const wrong = said.blamed.length - found
    const isExact = wrong === 0 && found === truth.length
    const first = said.first ?? said.blamed[0]
    if (truth.length > 0 ? truth.includes(first ?? -1) : said.blamed.length === 0) sum.top1++
    if (isExact) sum.exact++
    sum.recall += truth.length > 0 ? found / truth.length : wrong === 0 ? 1 : 0
    sum.falseBlames += wrong
    if (wrong > 0) sum.falseRuns++
    if (isExact && setsText(said.backups ?? []) === setsText(model.backups)) sum.allCauses++
    forks.push(said.forks)
  }
  const runs = forks.length
  forks.sort((a, b) => a - b)
  return {
    runs,
    top1: sum.top1 / runs,
    exact: sum.exact / runs,
    recall: sum.recall / runs,
    falseBlamesPerRun: sum.falseBlames / runs,
    falseBlameRuns: sum.falseRuns / runs,
    allCauses: sum.allCauses / runs,
    forksMean: forks.reduce((total, each) => total + each, 0) / runs,
    forksP95: forks[Math.max(0, Math.ceil(runs * 0.95) - 1)] ?? 0,
  }
}

/** Findings as an accusation. Only the verdict `attributed` blames a step. */
export function accusationOf(findings: BlameFindings): Accusation {
  const forks = findings.forks.asked
  const [cause, ...backups] = findings.verdict === 'attributed' ? causeIndexes(findings) : []
  if (!cause) return { blamed: [], forks }
  return { blamed: cause, first: cause[0], backups, forks }
}

/** Equal for equal sets in any order. */
const setsText = (sets: readonly (readonly number[])[]): string =>
  sets
    .map((set) => set.toSorted((a, b) => a - b).join(','))
    .toSorted()
    .join(';')
