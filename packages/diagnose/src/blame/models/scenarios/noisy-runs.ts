import { pickSteps, type Random } from '../seeded-random.js'
import type { FailLevels, Structure } from '../structural-model.js'

/** Runs that fail only some of the time, or also without a fault. */
export const noisyRuns = {
  /** The fault fails the run in three cases of ten. */
  'rare-20': (random: Random) => oneFault('rare-20', 20, random, { withCause: 0.3, without: 0.02 }),

  /** Two faults that together fail it in six cases of ten. */
  'rare-and2-20': (random: Random): Structure => {
    const faulty = pickSteps(random, 20, 2)
    return {
      name: 'rare-and2-20',
      stepCount: 20,
      faulty,
      isFaulted: (values) => faulty.every((step) => values[step] === 1),
      levels: { withCause: 0.6, without: 0.02 },
      truth: faulty,
    }
  },

  /** It also fails in one case of ten for no reason at all. */
  'background-30': (random: Random) =>
    oneFault('background-30', 30, random, { withCause: 0.9, without: 0.1 }),

  /** Three echoes that mostly, not always, repeat the fault. */
  'noisy-echoes-30': (random: Random): Structure => {
    const [root] = pickSteps(random, 20, 1) as [number]
    const echoes = [root + 2, root + 5, root + 9]
    return {
      name: 'noisy-echoes-30',
      stepCount: 30,
      faulty: [root, ...echoes],
      free: (step, values, draw) =>
        echoes.includes(step) && values[root] === 1 && draw() < 0.95 ? 1 : 0,
      isFaulted: (values) => values[root] === 1 || echoes.some((step) => values[step] === 1),
      levels: { withCause: 0.9, without: 0.05 },
      truth: [root],
      echoes,
    }
  },

  /** It fails in three cases of ten, and no step has anything to do with it. */
  'flaky-20': (): Structure => ({
    name: 'flaky-20',
    stepCount: 20,
    faulty: [],
    isFaulted: () => true,
    levels: { withCause: 0.3, without: 0.3 },
    truth: [],
  }),

  /** A step that is asked again makes the same fault in four cases of ten. */
  'redrawn-20': (random: Random): Structure => {
    const structure = oneFault('redrawn-20', 20, random, { withCause: 0.97, without: 0.03 })
    const [root] = structure.truth
    return { ...structure, free: (step, _, draw) => (step === root && draw() < 0.4 ? 1 : 0) }
  },
}

function oneFault(name: string, stepCount: number, random: Random, levels: FailLevels): Structure {
  const [root] = pickSteps(random, stepCount, 1) as [number]
  return {
    name,
    stepCount,
    faulty: [root],
    isFaulted: (values) => values[root] === 1,
    levels,
    truth: [root],
  }
}
