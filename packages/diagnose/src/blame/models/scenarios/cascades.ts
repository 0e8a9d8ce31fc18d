import { CERTAIN } from '../noise.js'
import { pickSteps, type Random } from '../seeded-random.js'
import type { Structure } from '../structural-model.js'

const LAST = 49

/** Long runs in which a fault is handed on from step to step. */
export const cascades = {
  /** An early fault shows again only in the last ten of fifty steps. */
  'delayed-50': (random: Random): Structure => {
    const [root] = pickSteps(random, 20, 1) as [number]
    const echoes = stepsFrom(40)
    return {
      name: 'delayed-50',
      stepCount: LAST + 1,
      faulty: [root, ...echoes],
      free: (step, values) => (step < 40 ? 0 : values[step === 40 ? root : step - 1]!),
      isFaulted: (values) => values[LAST] === 1 || values[root] === 1,
      levels: CERTAIN,
      truth: [root],
      echoes,
    }
  },

  /** Every step after the fault repeats it. */
  'cascade-50': (random: Random): Structure => {
    const [root] = pickSteps(random, 45, 1) as [number]
    const echoes = stepsFrom(root + 1)
    return {
      name: 'cascade-50',
      stepCount: LAST + 1,
      faulty: [root, ...echoes],
      free: (step, values) => (step > root ? values[step - 1]! : 0),
      isFaulted: (values) => values[LAST] === 1,
      levels: CERTAIN,
      truth: [root],
      echoes,
    }
  },

  /** Two faults start it together; every step after them repeats it. */
  'and2-cascade-50': (random: Random): Structure => {
    const [gate, payload] = pickSteps(random, 30, 2) as [number, number]
    const echoes = stepsFrom(payload + 1)
    return {
      name: 'and2-cascade-50',
      stepCount: LAST + 1,
      faulty: [gate, payload, ...echoes],
      free: (step, values) => {
        if (step === payload + 1) return values[gate] === 1 && values[payload] === 1 ? 1 : 0
        return step > payload ? values[step - 1]! : 0
      },
      isFaulted: (values) => values[LAST] === 1,
      levels: CERTAIN,
      truth: [gate, payload],
      echoes,
    }
  },
}

function stepsFrom(first: number): number[] {
  return Array.from({ length: LAST + 1 - first }, (_, place) => first + place)
}
