import type { BlameFindings } from '@retake/tape'
import type { PlantedModel } from './planted-model.js'

/** What a method said about one run. */
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

/** What the search said, as an accusation. Only the verdict `attributed` blames anybody. */
export function accusationOf(findings: BlameFindings): Accusation {
  const forks = findings.forks.asked
  const [cause, ...backups] = findings.verdict === 'attributed' ? findings.causes : []
  if (!cause) return { blamed: [], forks }
  return {
    blamed: cause.steps,
    first: cause.steps[0],
    backups: backups.map((each) => each.steps),
    forks,
  }
}

function sameSets(some: readonly (readonly number[])[], others: readonly (readonly number[])[]) {
  const asText = (sets: readonly (readonly number[])[]) =>
    sets
      .map((set) => set.toSorted((a, b) => a - b).join(','))
      .toSorted()
      .join(';')
  return asText(some) === asText(others)
}
