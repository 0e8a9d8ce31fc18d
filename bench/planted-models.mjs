/** Planted failures, scores and another method that only benchmarks and tests use. */
import {
  CERTAIN,
  CountedForks,
  drawLevels,
  mixSeed,
  pickOne,
  pickSteps,
  structuralModel,
  upTo,
} from '@retake/lab/scenarios'
import { seededRandom } from '@retake/lab/scenarios'

/**
 * A failure drawn at random: 8 to 80 steps, one to three causes that share no step, each
 * of one to three steps, and up to five echoes after the first cause is complete. None of
 * it was used to shape the search, but it shares the search's picture of a failure: two
 * rates of failing, and causes that add.
 *
 * @param {number} seed
 * @param {import('@retake/lab/scenarios').NoiseLevel} noise
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
 * @returns {import('@retake/lab/scenarios').PlantedModel & { raisedBy: number }}
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
 * @param {readonly import('@retake/lab/scenarios').Score[]} scores
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
 * @param {import('@retake/lab').ForkSource} source
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

const WORLDS = ['steps', 'steps', 'steps', 'ambient', 'ambient', 'together', 'race', 'nobody']
const BASE_RATES = [0, 0, 0, 0.05, 0.15, 0.3, 0.5, 0.7, 0.9]
const INPUT_KINDS = ['clock', 'random', 'file', 'environment']

/**
 * A run as agents have them, drawn at random: 3 to 24 steps and up to six ambient inputs.
 * The cause is steps, ambient inputs, both together, the order of two answers, or
 * nothing at all. Models reword what they say, steps make their fault again, echoes come
 * only sometimes, some steps only repeat what the clock made of them, and the agent fails up
 * to nine times in ten whatever is pinned.
 *
 * @param {number} seed
 * @param {{ baseRate?: number, kind?: string }} [options]
 * @returns {import('@retake/lab/scenarios').PlantedModel & { kind: string, readAfter: number[] }}
 */
export function worldModel(seed, options = {}) {
  const random = seededRandom(mixSeed(611_953, seed))
  const stepCount = 3 + Math.floor(random() * 22)
  const kind = options.kind ?? pickOne(random, WORLDS)
  const without = options.baseRate ?? pickOne(random, BASE_RATES)
  const withCause =
    without >= 0.5 ? 1 : pickOne(random, [1, 1, 0.97, Math.max(0.85, without + 0.4)])
  const redrawn = pickOne(random, [0, 0, 0.1, 0.3])
  const often = pickOne(random, [1, 1, 0.95, 0.6])
  const isReworded = random() < 0.6
  const needsInput = kind === 'ambient' || kind === 'together' || kind === 'race'
  const inputCount = needsInput ? pickOne(random, [1, 2, 4, 6]) : pickOne(random, [0, 0, 1, 3, 6])
  const lanes = pickSteps(random, stepCount, 2)
  const readAfter = Array.from(
    { length: inputCount },
    () => Math.floor(random() * (stepCount + 1)) - 1,
  )
  readAfter.sort((a, b) => a - b)
  const ambientTruth = needsInput ? [Math.floor(random() * inputCount)] : []
  if (kind === 'ambient' && inputCount > 1 && random() < 0.3) {
    ambientTruth.push((ambientTruth[0] + 1) % inputCount)
    ambientTruth.sort((a, b) => a - b)
  }
  const ambient = readAfter.map((after, index) => {
    const isOrder = kind === 'race' && ambientTruth.includes(index)
    const inputKind = isOrder ? 'order' : pickOne(random, INPUT_KINDS)
    return {
      kind: inputKind,
      name: `input ${index}`,
      ...(after >= 0 && { step: String(after + 1) }),
      ...(isOrder && { steps: lanes.map((step) => String(step + 1)) }),
      faultRate: isOrder || inputKind === 'random' ? pickOne(random, [0.2, 0.4]) : 0,
    }
  })
  const causes =
    kind === 'steps' || kind === 'together' ? drawFewCauses(random, stepCount, kind) : []
  const [truth = [], ...backups] = causes
  const used = new Set(causes.flat())
  const first = Math.max(truth.at(-1) ?? -1, ...ambientTruth.map((index) => readAfter[index]))
  const echoes =
    kind === 'nobody' || kind === 'race' ? [] : drawLater(random, stepCount, first, used)
  const isEcho = new Set(echoes)
  const areSet = (steps, values) => steps.every((step) => values[step] === 1)
  const isTrue = (values, inputs) =>
    kind !== 'nobody' && areSet(truth, values) && areSet(ambientTruth, inputs)
  const structure = {
    name: `world-${seed}`,
    stepCount,
    faulty: [...used, ...echoes],
    ambient,
    free: (step, values, draw, inputs) => {
      if (isEcho.has(step)) return isTrue(values, inputs) && draw() < often ? 1 : 0
      return used.has(step) && draw() < redrawn ? 1 : 0
    },
    isFaulted: (values, inputs) =>
      isTrue(values, inputs) ||
      backups.some((cause) => areSet(cause, values)) ||
      echoes.some((step) => values[step] === 1),
    levels: { withCause, without },
    truth,
    ambientTruth,
    echoes,
    backups,
    isReworded,
  }
  return { ...structuralModel(structure, mixSeed(31, seed)), kind, readAfter }
}

/** One cause or two, of one step or two. Together with an input there is one. */
function drawFewCauses(random, stepCount, kind) {
  const count = kind === 'together' ? 1 : pickOne(random, [1, 1, 2])
  const sizes = Array.from({ length: count }, () => pickOne(random, [1, 1, 2]))
  const total = Math.min(
    stepCount - 1,
    sizes.reduce((sum, size) => sum + size, 0),
  )
  const steps = pickSteps(random, stepCount, total)
  const causes = []
  for (const size of sizes) causes.push(steps.splice(Math.floor(random() * steps.length), size))
  return causes
    .filter((cause) => cause.length > 0)
    .map((cause) => cause.toSorted((a, b) => a - b))
    .toSorted((a, b) => a.at(-1) - b.at(-1))
}

/** Up to three steps after another that no cause needs. */
function drawLater(random, stepCount, after, used) {
  const later = upTo(stepCount - 1).filter((step) => step > after && !used.has(step))
  const count = Math.min(later.length, pickOne(random, [0, 0, 1, 2, 3]))
  return pickSteps(random, later.length, count).map((index) => later[index])
}

/**
 * Judges findings about a world: steps that were blamed although they have nothing to do
 * with it or only repeat it, and how sure the search was.
 *
 * @param {ReturnType<typeof worldModel>} model
 * @param {import('@retake/tape').BlameFindings} findings
 */
export function judgeWorld(model, findings) {
  const guilty = new Set([...model.truth, ...model.backups.flat()])
  const isNamed =
    findings.verdict === 'attributed' ||
    findings.verdict === 'stopped' ||
    findings.verdict === 'race'
  const causes = isNamed ? findings.causes : []
  const named = causes.flatMap(({ steps }) => steps.map((label) => Number(label) - 1))
  const inputs = causes.flatMap((cause) => cause.ambient ?? [])
  const [first] = causes
  const isExact =
    first === undefined
      ? model.kind === 'nobody'
      : first.steps.map((label) => Number(label) - 1).join() === model.truth.join() &&
        (first.ambient ?? []).join() === model.ambientTruth.join()
  return {
    isNamed: causes.length > 0,
    isExact,
    innocent: named.filter((step) => !guilty.has(step)),
    innocentInputs: inputs.filter((index) => !model.ambientTruth.includes(index)),
    confidence: causes.length > 0 ? findings.confidence : 0,
  }
}
