/**
 * Planted failures whose causes are known, and scores of methods that look for
 * them: `retake bench blame`, benchmarks and tests use it.
 */
export { oneByOne } from '../blame/classic-view.js'
export { COMPETING_FAULTS, type CompetingFault } from './scenarios.js'
export { brokenRun, flakyRun, passingRun, staircase, type StaircaseModel } from './controls.js'
export { NOISE_LEVELS, type NoiseLevel } from './planted-model.js'
export { randomModel } from './random-model.js'
export { SCENARIO_NAMES, SCENARIOS, type Scenario, type ScenarioName } from './scenarios.js'
export {
  accusationOf,
  meanScore,
  scoreMethod,
  type Accusation,
  type BlameMethod,
  type Score,
} from './score.js'
export { seededRandom, type Random } from '../blame/seeded-random.js'
export {
  structuralModel,
  type FailLevels,
  type PlantedModel,
  type Structure,
} from './planted-model.js'
