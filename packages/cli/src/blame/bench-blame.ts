import {
  accusationOf,
  blameRun,
  brokenRun,
  COMPETING_FAULTS,
  flakyRun,
  passingRun,
  SCENARIO_NAMES,
  SCENARIOS,
  scoreMethod,
} from '@retake/diagnose'
import type { CompetingFault, PlantedModel, Score } from '@retake/diagnose'

/** How the search does on failures whose causes are known, because they were planted. */
export interface BlameBench {
  readonly competing: readonly CompetingResult[]
  readonly scenarios: readonly { readonly name: string; readonly score: Score }[]
  /** Runs in which nothing is to blame, and how many of them blamed somebody. */
  readonly controls: readonly { readonly name: string; readonly runs: number; blamed: number }[]
  readonly seeds: number
  readonly wallMs: number
}

export interface CompetingResult extends CompetingFault {
  readonly isRight: boolean
  /** What was said of the step: necessary, sufficient. */
  readonly said: readonly [boolean, boolean]
  readonly forks: number
}

const CONTROLS = {
  'fails now and then': (seed: number) => flakyRun(seed),
  'fails always': (seed: number) => brokenRun(seed),
  'never fails': (seed: number) => passingRun(seed),
}

/** Runs the competing faults, the scenarios and the negative controls. Nothing leaves the process. */
export async function benchBlame(
  seeds: number,
  onScenario: (name: string) => void = () => {},
): Promise<BlameBench> {
  const startedAt = performance.now()
  const competing: CompetingResult[] = []
  for (const fault of COMPETING_FAULTS) competing.push(await judgeFault(fault))
  const scenarios: { name: string; score: Score }[] = []
  for (const name of SCENARIO_NAMES) {
    onScenario(name)
    const score = await scoreMethod(search, models(SCENARIOS[name], seeds))
    scenarios.push({ name, score })
  }
  const controls: { name: string; runs: number; blamed: number }[] = []
  for (const [name, make] of Object.entries(CONTROLS)) {
    onScenario(name)
    const { falseBlameRuns } = await scoreMethod(search, models(make, seeds))
    controls.push({ name, runs: seeds, blamed: Math.round(falseBlameRuns * seeds) })
  }
  const wallMs = Math.round(performance.now() - startedAt)
  return { competing, scenarios, controls, seeds, wallMs }
}

const search = async (model: PlantedModel) => accusationOf(await blameRun(model, { seed: 1 }))

function* models(make: (seed: number) => PlantedModel, seeds: number): Iterable<PlantedModel> {
  for (let seed = 1; seed <= seeds; seed++) yield make(seed)
}

async function judgeFault(fault: CompetingFault): Promise<CompetingResult> {
  const findings = await blameRun(SCENARIOS[fault.scenario](1), { seed: 1 })
  const step = findings.steps[fault.step]
  const said = [step?.isNecessary ?? false, step?.isSufficient ?? false] as const
  const isRight = said[0] === fault.isNecessary && said[1] === fault.isSufficient
  return { ...fault, isRight, said, forks: findings.forks.asked }
}

/** False blame that a control may show in this many runs: one in a hundred, and one by chance. */
export const allowedBlames = (runs: number): number => Math.max(1, Math.ceil(runs / 50))

/** Nine of nine, nobody blamed where nothing is to blame, and the exact causes in 99 of 100 runs. */
export function isGood({ competing, scenarios, controls }: BlameBench): boolean {
  const exact = scenarios.reduce((sum, { score }) => sum + score.exact, 0) / scenarios.length
  return (
    competing.every(({ isRight }) => isRight) &&
    controls.every(({ blamed, runs }) => blamed <= allowedBlames(runs)) &&
    exact >= EXACT_LEAST
  )
}

/** A little below what is shown over a thousand seeds: few seeds scatter. */
const EXACT_LEAST = 0.97
