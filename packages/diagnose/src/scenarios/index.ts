/**
 * Planted failures with known causes, and scores of search methods: used by `retake bench blame`,
 * benchmarks and tests.
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
