import { CERTAIN } from './planted-model.js'
import { mixSeed, pickSteps, seededRandom } from '../blame/seeded-random.js'
import { structuralModel, type PlantedModel } from './planted-model.js'

/** Fails at one rate whatever is kept: whoever blames a step here is wrong. */
export function flakyRun(seed: number, rate = 0.3, stepCount = 20): PlantedModel {
  const structure = {
    name: `flaky-${rate}`,
    stepCount,
    faulty: [],
    isFaulted: () => true,
    levels: { withCause: rate, without: rate },
    truth: [],
  }
  return structuralModel(structure, mixSeed(19, seed))
}

/** Never fails. */
export function passingRun(seed: number, stepCount = 20): PlantedModel {
  return { ...flakyRun(seed, 0, stepCount), name: 'passing' }
}

/** Always fails, also when every step is drawn anew: what fails it is not among the steps. */
export function brokenRun(seed: number, stepCount = 20): PlantedModel {
  return { ...flakyRun(seed, 1, stepCount), name: 'broken' }
}

/** Which step raised a risk that a later one made real. */
export interface StaircaseModel extends PlantedModel {
  readonly raisedBy: number
}

/**
 * An early step lifts the risk from 2 to 30 %; a later one makes it real. The later one
 * is the cause; that the early one made it likely is seen only in the risk curve.
 */
export function staircase(seed: number, stepCount = 30): StaircaseModel {
  const random = seededRandom(mixSeed(23, seed))
  const [raisedBy, realised] = pickSteps(random, stepCount, 2) as [number, number]
  const model = structuralModel(
    {
      name: 'staircase',
      stepCount,
      faulty: [raisedBy, realised],
      free: (step, values, draw) =>
        step === realised && draw() < (values[raisedBy] === 1 ? 0.3 : 0.02) ? 1 : 0,
      isFaulted: (values) => values[realised] === 1,
      levels: CERTAIN,
      truth: [realised],
    },
    mixSeed(29, seed),
  )
  return { ...model, raisedBy }
}
