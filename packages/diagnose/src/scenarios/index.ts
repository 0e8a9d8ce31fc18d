/**
 * Planted failures whose causes are known, and scores of methods that look for
 * them: `retake bench blame`, benchmarks and tests use it.
 */
export { CountedForks } from '../blame/classic-view.js'
export { upTo } from '../blame/step-set.js'
export { COMPETING_FAULTS, SCENARIO_NAMES, SCENARIOS } from './scenarios.js'
export type { CompetingFault, Scenario, ScenarioName } from './scenarios.js'
export { brokenRun, flakyRun, passingRun } from './scenarios.js'
export { CERTAIN, drawLevels, NOISE_LEVELS, structuralModel } from './planted-model.js'
export type { FailLevels, NoiseLevel, PlantedModel, Structure } from './planted-model.js'
export { accusationOf, scoreMethod } from './planted-model.js'
export type { Accusation, BlameMethod, Score } from './planted-model.js'
export { mixSeed, pickOne, pickSteps, seededRandom, type Random } from '../blame/seeded-random.js'
