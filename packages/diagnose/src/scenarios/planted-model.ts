import type { Coalition, Fork, ForkSource } from '../blame/fork-source.js'
import { mixSeed, type Random, seededRandom } from '../blame/seeded-random.js'
import { causeIndexes } from '../blame/make-findings.js'
import type { BlameFindings } from '@retake/tape'

/** How plainly a failure shows. */
export const NOISE_LEVELS = ['deterministic', 'noisy', 'hard'] as const

/**
 * `deterministic`: a cause always fails, and nothing else does. `noisy`: with a cause it
 * fails 60 to 100 % of the time, without 0 to 12 %. `hard`: without a cause 10 to 25 %,
 * with one 25 to 45 points more.
 */
export type NoiseLevel = (typeof NOISE_LEVELS)[number]

/** Draws how often a run of this noise fails with its cause and without. */
export function drawLevels(noise: NoiseLevel, random: Random): FailLevels {
  if (noise === 'deterministic') return CERTAIN
  if (noise === 'noisy') return { withCause: 0.6 + 0.4 * random(), without: 0.12 * random() }
  const without = 0.1 + 0.15 * random()
  return { withCause: without + 0.25 + 0.2 * random(), without }
}

/** A cause always fails, and nothing else does. */
export const CERTAIN: FailLevels = { withCause: 1, without: 0 }

/** A run that failed for a reason that is known, because it was planted. */
export interface PlantedModel extends ForkSource {
  readonly name: string
  /** The steps that together made it fail; none where nothing did. */
  readonly truth: readonly number[]
  /** Steps that carry a fault only because the truth did. */
  readonly echoes: readonly number[]
  /** Other sets that would have made it fail without the truth. */
  readonly backups: readonly (readonly number[])[]
  readonly levels: FailLevels
}

/** How often it fails when a cause is there, and when none is. */
export interface FailLevels {
  readonly withCause: number
  readonly without: number
}

/** A run as a small machine: each step carries a fault (1) or does not (0). */
export interface Structure {
  readonly name: string
  readonly stepCount: number
  /** Steps that carried a fault in the failed run. */
  readonly faulty: readonly number[]
  /** Value of a free step, from what came before it; without a fault unless set. */
  readonly free?: (step: number, values: readonly number[], random: Random) => number
  /** True if these faults make a cause. */
  readonly isFaulted: (values: readonly number[]) => boolean
  readonly levels: FailLevels
  readonly truth: readonly number[]
  readonly echoes?: readonly number[]
  readonly backups?: readonly (readonly number[])[]
}

/**
 * Runs a structure as forks. What a fork comes to depends on the seed, the coalition
 * and the draw, never on the forks before it: a search may ask in any order, or twice.
 */
export function structuralModel(structure: Structure, seed: number): PlantedModel {
  const { stepCount, levels, isFaulted } = structure
  const free = structure.free ?? noFault
  const recorded = faultsAt(stepCount, structure.faulty)
  return {
    name: structure.name,
    stepCount,
    recorded,
    ambient: [],
    truth: structure.truth,
    echoes: structure.echoes ?? [],
    backups: structure.backups ?? [],
    levels,
    fork(coalition, draw) {
      const random = seededRandom(forkSeed(seed, coalition, draw))
      const values = stepValues(coalition, recorded, free, random)
      const rate = isFaulted(values) ? levels.withCause : levels.without
      const fork: Fork = { outcome: random() < rate ? 'fail' : 'pass', values }
      return Promise.resolve(fork)
    },
  }
}

/** In frozen mode a free step is asked the recorded question: it sees what came before it then. */
function stepValues(
  coalition: Coalition,
  recorded: readonly number[],
  free: NonNullable<Structure['free']>,
  random: Random,
): number[] {
  const { pinned, mode } = coalition
  const values: number[] = []
  const seen = mode === 'frozen' ? recorded : values
  let next = 0
  for (let step = 0; step < recorded.length; step++) {
    const isPinned = pinned[next] === step
    if (isPinned) next++
    values.push(isPinned ? recorded[step]! : free(step, seen, random))
  }
  return values
}

function forkSeed(seed: number, { pinned, mode }: Coalition, draw: number): number {
  let mixed = mixSeed(seed, mode === 'frozen' ? -2 : -1)
  for (const step of pinned) mixed = mixSeed(mixed, step)
  return mixSeed(mixSeed(mixed, -3), draw)
}

function faultsAt(stepCount: number, faulty: readonly number[]): number[] {
  const recorded: number[] = Array.from({ length: stepCount }, () => 0)
  for (const step of faulty) recorded[step] = 1
  return recorded
}

const noFault = () => 0

/** Statement of a method about one run. */
export interface Accusation {
  /** The steps it says caused the failure; none where it blames nobody. */
  readonly blamed: readonly number[]
  /** The one it would name first. */
  readonly first?: number | undefined
  /** Other sets that it says would have failed the run as well. */
  readonly backups?: readonly (readonly number[])[]
  readonly forks: number
}

/** A way to find causes; it sees the model only as a source of forks. */
export type BlameMethod = (model: PlantedModel) => Promise<Accusation>

/** How well a method did on runs whose truth is known. Shares are from 0 to 1. */
export interface Score {
  readonly runs: number
  /** The step named first is one of the truth; where there is none, nobody was blamed. */
  readonly top1: number
  /** Blamed exactly the truth. */
  readonly exact: number
  /** How much of the truth was blamed. */
  readonly recall: number
  /** Steps blamed in a run that are not of the truth. */
  readonly falseBlamesPerRun: number
  /** Runs in which at least one such step was blamed. */
  readonly falseBlameRuns: number
  /** Blamed exactly the truth and found exactly its back-ups. */
  readonly allCauses: number
  readonly forksMean: number
  /** Nineteen runs of twenty took no more forks. */
  readonly forksP95: number
}

/** Runs a method on models, one after the other. */
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
    if (isExact && sameSets(said.backups ?? [], model.backups)) sum.allCauses++
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

/** Findings of the search as an accusation. Only the verdict `attributed` blames a step. */
export function accusationOf(findings: BlameFindings): Accusation {
  const forks = findings.forks.asked
  const [cause, ...backups] = findings.verdict === 'attributed' ? causeIndexes(findings) : []
  if (!cause) return { blamed: [], forks }
  return { blamed: cause, first: cause[0], backups, forks }
}

function sameSets(some: readonly (readonly number[])[], others: readonly (readonly number[])[]) {
  const asText = (sets: readonly (readonly number[])[]) =>
    sets
      .map((set) => set.toSorted((a, b) => a - b).join(','))
      .toSorted()
      .join(';')
  return asText(some) === asText(others)
}
