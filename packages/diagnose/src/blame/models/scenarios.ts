import { CERTAIN, drawLevels, type NoiseLevel } from './noise.js'
import { cascades } from './scenarios/cascades.js'
import { noisyRuns } from './scenarios/noisy-runs.js'
import { together } from './scenarios/together.js'
import { mixSeed, pickSteps, type Random, seededRandom } from './seeded-random.js'
import { type PlantedModel, structuralModel, type Structure } from './structural-model.js'

/** Faults that work against each other: repairing one can make things worse, or change nothing. */
const crossed = {
  /** It fails when an odd number of three steps is at fault. */
  'parity3-12': (random: Random): Structure => {
    const faulty = pickSteps(random, 12, 3)
    return {
      name: 'parity3-12',
      stepCount: 12,
      faulty,
      isFaulted: (values) => faulty.filter((step) => values[step] === 1).length % 2 === 1,
      levels: CERTAIN,
      truth: faulty,
    }
  },

  /** Where the first fault is repaired, a later step makes one of its own, which it did not then. */
  'preempted-20': (random: Random): Structure => {
    const [first, later] = pickSteps(random, 20, 2) as [number, number]
    return {
      name: 'preempted-20',
      stepCount: 20,
      faulty: [first],
      free: (step, values) => (step === later && values[first] !== 1 ? 1 : 0),
      isFaulted: (values) => values[first] === 1 || values[later] === 1,
      levels: CERTAIN,
      truth: [first],
    }
  },
}

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
