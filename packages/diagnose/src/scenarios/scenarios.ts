import { CERTAIN, drawLevels, type NoiseLevel } from './planted-model.js'
import { mixSeed, pickSteps, type Random, seededRandom } from '../blame/seeded-random.js'
import {
  type FailLevels,
  type PlantedModel,
  structuralModel,
  type Structure,
} from './planted-model.js'

/** A step of a scenario in which faults compete, and what must be said of it. */
export interface CompetingFault {
  readonly name: string
  readonly scenario: ScenarioName
  readonly step: number
  /** It belongs to what made this run fail first. */
  readonly isNecessary: boolean
  /** Kept alone, it fails. */
  readonly isSufficient: boolean
}

/** The nine cases known from this field. "Necessary" is meant in time: who made it fail first. */
export const COMPETING_FAULTS: readonly CompetingFault[] = [
  fault('root', 'root-echo-7', 0, true, true),
  fault('downstream echo', 'root-echo-7', 1, false, true),
  fault('decoy beside a root', 'root-echo-7', 2, false, false),
  fault('gate', 'and2-7', 3, true, false),
  fault('payload', 'and2-7', 4, true, false),
  fault('decoy beside a gate', 'and2-7', 2, false, false),
  fault('gate that comes too late', 'root-echo-and2-7', 3, false, false),
  fault('payload that comes too late', 'root-echo-and2-7', 4, false, false),
  fault('root under load', 'root-echo-and2-7', 0, true, true),
]

function fault(
  name: string,
  scenario: ScenarioName,
  step: number,
  isNecessary: boolean,
  isSufficient: boolean,
): CompetingFault {
  return { name, scenario, step, isNecessary, isSufficient }
}

/** Faults of several steps: all are needed, or any is enough. */
const together = {
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

/** Runs that fail only some of the time, or also without a fault. */
const noisyRuns = {
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

const LAST = 49

/** Long runs in which a fault is handed on from step to step. */
const cascades = {
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
  return Array.from({ length: LAST + 1 - first }, (_, index) => first + index)
}

/** Faults that work against each other: repairing one can make things worse, or change nothing. */
const crossed = {
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

/** Draws where the faults of a scenario are. */
export type StructureOf = (random: Random) => Structure

/** A planted failure. With a noise level its own rates of failing are replaced; its structure stays. */
export type Scenario = (seed: number, noise?: NoiseLevel) => PlantedModel

const structures = { ...together, ...crossed, ...noisyRuns, ...cascades }

export type ScenarioName = keyof typeof structures

/** Seventeen ways to fail, by name; the number at the end of a name is how many steps it has. */
export const SCENARIOS = Object.fromEntries(
  Object.entries(structures).map(([name, structureOf]) => [name, scenario(structureOf)]),
) as Readonly<Record<ScenarioName, Scenario>>

export const SCENARIO_NAMES = Object.keys(structures) as readonly ScenarioName[]

function scenario(structureOf: StructureOf): Scenario {
  return (seed, noise) => {
    const random = seededRandom(mixSeed(7919, seed))
    const structure = structureOf(random)
    const levels = noise ? drawLevels(noise, random) : structure.levels
    return structuralModel({ ...structure, levels }, mixSeed(13, seed))
  }
}
