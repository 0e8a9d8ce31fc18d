/** Planted failures, scores and another method that only benchmarks and tests use. */
import {
  CERTAIN,
  CountedForks,
  drawLevels,
  mixSeed,
  pickOne,
  pickSteps,
  seededRandom,
  structuralModel,
  upTo,
} from '@retake/diagnose/scenarios'

/**
 * A failure drawn at random: 8 to 80 steps, one to three causes that share no step, each
 * of one to three steps, and up to five echoes after the first cause is complete. None of
 * it was used to shape the search, but it shares the search's picture of a failure: two
 * rates of failing, and causes that add.
 *
 * @param {number} seed
 * @param {import('@retake/diagnose/scenarios').NoiseLevel} noise
 */
export function randomModel(seed, noise) {
  const random = seededRandom(mixSeed(104_729, seed))
  const stepCount = 8 + Math.floor(random() * 73)
  const causes = drawCauses(random, stepCount)
  const [truth, ...backups] = causes
  const used = new Set(causes.flat())
  const echoes = drawEchoes(random, stepCount, truth, used)
  const isEcho = new Set(echoes)
  const areAllSet = (steps, values) => steps.every((step) => values[step] === 1)
  const structure = {
    name: `random-${seed}-${noise}`,
    stepCount,
    faulty: [...used, ...echoes],
    free: (step, values) => (isEcho.has(step) && areAllSet(truth, values) ? 1 : 0),
    isFaulted: (values) =>
      causes.some((cause) => areAllSet(cause, values)) || echoes.some((step) => values[step] === 1),
    levels: drawLevels(noise, random),
    truth,
    echoes,
    backups,
  }
  return structuralModel(structure, mixSeed(17, seed))
}

/** In the order in which they are complete: the first is what made this run fail. */
function drawCauses(random, stepCount) {
  const used = new Set()
  const causes = []
  const count = pickOne(random, SIZES)
  while (causes.length < count) {
    const size = pickOne(random, SIZES)
    if (used.size + size > stepCount * 0.5) break
    const cause = []
    while (cause.length < size) {
      const step = Math.floor(random() * Math.floor(stepCount * 0.8))
      if (used.has(step)) continue
      used.add(step)
      cause.push(step)
    }
    causes.push(cause.toSorted((a, b) => a - b))
  }
  return causes.toSorted((a, b) => a.at(-1) - b.at(-1))
}

function drawEchoes(random, stepCount, truth, used) {
  const after = truth.at(-1) + 1
  const echoes = new Set()
  const count = Math.floor(random() * 6)
  for (let drawn = 0; drawn < count; drawn++) {
    const step = after + Math.floor(random() * (stepCount - after))
    if (step < stepCount && !used.has(step)) echoes.add(step)
  }
  return [...echoes].toSorted((a, b) => a - b)
}

const SIZES = [1, 1, 1, 2, 2, 3]

/**
 * An early step lifts the risk from 2 to 30 %; a later one makes it real. The later one
 * is the cause; that the early one made it likely is seen only in the risk curve.
 *
 * @param {number} seed
 * @returns {import('@retake/diagnose/scenarios').PlantedModel & { raisedBy: number }}
 */
export function staircase(seed, stepCount = 30) {
  const random = seededRandom(mixSeed(23, seed))
  const [raisedBy, realised] = pickSteps(random, stepCount, 2)
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

/**
 * The mean of scores of as many runs each.
 *
 * @param {readonly import('@retake/diagnose/scenarios').Score[]} scores
 */
export function meanScore(scores) {
  const mean = (read) => scores.reduce((total, score) => total + read(score), 0) / scores.length
  return {
    runs: scores.reduce((total, score) => total + score.runs, 0),
    top1: mean((score) => score.top1),
    exact: mean((score) => score.exact),
    recall: mean((score) => score.recall),
    falseBlamesPerRun: mean((score) => score.falseBlamesPerRun),
    falseBlameRuns: mean((score) => score.falseBlameRuns),
    allCauses: mean((score) => score.allCauses),
    forksMean: mean((score) => score.forksMean),
    forksP95: Math.max(...scores.map((score) => score.forksP95)),
  }
}

/**
 * Frees one step at a time while the others stay pinned, as other tools do. Returns the
 * steps without which the run mostly passes. Misses causes that need two repairs together.
 *
 * @param {import('@retake/diagnose').ForkSource} source
 * @param {number} forksPerStep
 * @param {Pick<CountedForks, 'run'>} forks
 * @returns {Promise<number[]>}
 */
export async function oneByOne(source, forksPerStep = 3, forks = new CountedForks(source)) {
  const repairing = []
  for (let step = 0; step < source.stepCount; step++) {
    const others = upTo(source.stepCount - 1).filter((other) => other !== step)
    const counted = await forks.run(others, forksPerStep)
    if (counted.fails * 2 < counted.forks) repairing.push(step)
  }
  return repairing
}
