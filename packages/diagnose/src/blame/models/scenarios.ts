import { drawLevels, type NoiseLevel } from './noise.js'
import { cascades } from './scenarios/cascades.js'
import { crossed } from './scenarios/crossed.js'
import { noisyRuns } from './scenarios/noisy-runs.js'
import { together } from './scenarios/together.js'
import { mixSeed, seededRandom, type Random } from './seeded-random.js'
import { structuralModel, type PlantedModel, type Structure } from './structural-model.js'

/** Draws where the faults of a scenario are. */
export type StructureOf = (random: Random) => Structure

/** A planted failure. With a noise level its own rates of failing are replaced; its structure stays. */
export type Scenario = (seed: number, noise?: NoiseLevel) => PlantedModel

const structures = { ...together, ...crossed, ...noisyRuns, ...cascades }

export type ScenarioName = keyof typeof structures

/** Seventeen ways to fail, by name; the number at the end of a name is how many steps it has. */
export const SCENARIOS = Object.fromEntries(
  Object.entries(structures).map(([name, structureOf]) => [name, scenario(structureOf)]),
) as Readonly<Record<ScenarioName, Scenario>>

export const SCENARIO_NAMES = Object.keys(structures) as readonly ScenarioName[]

function scenario(structureOf: StructureOf): Scenario {
  return (seed, noise) => {
    const random = seededRandom(mixSeed(7919, seed))
    const structure = structureOf(random)
    const levels = noise ? drawLevels(noise, random) : structure.levels
    return structuralModel({ ...structure, levels }, mixSeed(13, seed))
  }
}
