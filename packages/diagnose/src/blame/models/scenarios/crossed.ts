import { CERTAIN } from '../noise.js'
import { pickSteps, type Random } from '../seeded-random.js'
import type { Structure } from '../structural-model.js'

/** Faults that work against each other: repairing one can make things worse, or change nothing. */
export const crossed = {
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
