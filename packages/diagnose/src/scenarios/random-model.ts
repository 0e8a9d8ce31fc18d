import { drawLevels, type NoiseLevel } from './planted-model.js'
import { mixSeed, pickOne, seededRandom, type Random } from '../blame/seeded-random.js'
import { structuralModel, type PlantedModel } from './planted-model.js'

/**
 * A failure drawn at random: 8 to 80 steps, one to three causes that share no step, each
 * of one to three steps, and up to five echoes after the first cause is complete. None of
 * it was used to shape the search, but it shares the search's picture of a failure: two
 * rates of failing, and causes that add.
 */
export function randomModel(seed: number, noise: NoiseLevel): PlantedModel {
  const random = seededRandom(mixSeed(104_729, seed))
  const stepCount = 8 + Math.floor(random() * 73)
  const causes = drawCauses(random, stepCount)
  const [truth, ...backups] = causes as [number[], ...number[][]]
  const used = new Set(causes.flat())
  const echoes = drawEchoes(random, stepCount, truth, used)
  const isEcho = new Set(echoes)
  const areAllSet = (steps: readonly number[], values: readonly number[]) =>
    steps.every((step) => values[step] === 1)
  const structure = {
    name: `random-${seed}-${noise}`,
    stepCount,
    faulty: [...used, ...echoes],
    free: (step: number, values: readonly number[]) =>
      isEcho.has(step) && areAllSet(truth, values) ? 1 : 0,
    isFaulted: (values: readonly number[]) =>
      causes.some((cause) => areAllSet(cause, values)) || echoes.some((step) => values[step] === 1),
    levels: drawLevels(noise, random),
    truth,
    echoes,
    backups,
  }
  return structuralModel(structure, mixSeed(17, seed))
}

/** In the order in which they are complete: the first is what made this run fail. */
function drawCauses(random: Random, stepCount: number): number[][] {
  const used = new Set<number>()
  const causes: number[][] = []
  const count = pickOne(random, SIZES)
  while (causes.length < count) {
    const size = pickOne(random, SIZES)
    if (used.size + size > stepCount * 0.5) break
    const cause: number[] = []
    while (cause.length < size) {
      const step = Math.floor(random() * Math.floor(stepCount * 0.8))
      if (used.has(step)) continue
      used.add(step)
      cause.push(step)
    }
    causes.push(cause.toSorted((a, b) => a - b))
  }
  return causes.toSorted((a, b) => a.at(-1)! - b.at(-1)!)
}

function drawEchoes(
  random: Random,
  stepCount: number,
  truth: readonly number[],
  used: ReadonlySet<number>,
): number[] {
  const after = truth.at(-1)! + 1
  const echoes = new Set<number>()
  const count = Math.floor(random() * 6)
  for (let drawn = 0; drawn < count; drawn++) {
    const step = after + Math.floor(random() * (stepCount - after))
    if (step < stepCount && !used.has(step)) echoes.add(step)
  }
  return [...echoes].toSorted((a, b) => a - b)
}

const SIZES = [1, 1, 1, 2, 2, 3] as const
