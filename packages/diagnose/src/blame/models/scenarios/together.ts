import { CERTAIN } from '../noise.js'
import { pickSteps, type Random } from '../seeded-random.js'
import type { Structure } from '../structural-model.js'

/** Faults of several steps: all are needed, or any is enough. */
export const together = {
  /** Step 0 fails the run, and step 1 would too, but only repeats step 0. */
  'root-echo-7': (): Structure => ({
    name: 'root-echo-7',
    stepCount: 7,
    faulty: [0, 1],
    free: (step, values) => (step === 1 ? values[0]! : 0),
    isFaulted: (values) => values[0] === 1 || values[1] === 1,
    levels: CERTAIN,
    truth: [0],
    echoes: [1],
  }),

  /** A gate (3) and a payload (4): only both fail the run. */
  'and2-7': (): Structure => ({
    name: 'and2-7',
    stepCount: 7,
    faulty: [3, 4],
    isFaulted: (values) => values[3] === 1 && values[4] === 1,
    levels: CERTAIN,
    truth: [3, 4],
  }),

  /** Both of the above at once: the gate and the payload come too late to matter. */
  'root-echo-and2-7': (): Structure => ({
    name: 'root-echo-and2-7',
    stepCount: 7,
    faulty: [0, 1, 3, 4],
    free: (step, values) => (step === 1 ? values[0]! : 0),
    isFaulted: (values) =>
      values[0] === 1 || values[1] === 1 || (values[3] === 1 && values[4] === 1),
    levels: CERTAIN,
    truth: [0],
    echoes: [1],
    backups: [[3, 4]],
  }),

  /** Three faults that fail only together. */
  'and3-20': (random: Random): Structure => {
    const faulty = pickSteps(random, 20, 3)
    return {
      name: 'and3-20',
      stepCount: 20,
      faulty,
      isFaulted: (values) => faulty.every((step) => values[step] === 1),
      levels: CERTAIN,
      truth: faulty,
    }
  },

  /** Two faults, and each is enough: the later one is a back-up. */
  'or2-20': (random: Random): Structure => {
    const faulty = pickSteps(random, 20, 2)
    return {
      name: 'or2-20',
      stepCount: 20,
      faulty,
      isFaulted: (values) => faulty.some((step) => values[step] === 1),
      levels: CERTAIN,
      truth: faulty.slice(0, 1),
      backups: [faulty.slice(1)],
    }
  },

  /** Two pairs, each of which is enough. */
  'and2-or-and2-30': (random: Random): Structure => {
    const faulty = pickSteps(random, 30, 4)
    const pairs = [faulty.slice(0, 2), faulty.slice(2)] as const
    return {
      name: 'and2-or-and2-30',
      stepCount: 30,
      faulty,
      isFaulted: (values) => pairs.some((pair) => pair.every((step) => values[step] === 1)),
      levels: CERTAIN,
      truth: pairs[0],
      backups: [pairs[1]],
    }
  },
}
