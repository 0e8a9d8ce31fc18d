import { mixSeed, pickSteps, type Random, seededRandom } from '../search/seeded-random.js'
import { CERTAIN, drawLevels, type NoiseLevel } from './planted-model.js'
import { type PlantedModel, structuralModel, type Structure } from './planted-model.js'

/** A step of a scenario with competing faults, and the expected result. */
export interface CompetingFault {
  readonly name: string
  readonly scenario: ScenarioName
  readonly step: number
  /** True if it belongs to what made this run fail first. */
  readonly isNecessary: boolean
  /** True if it fails when pinned alone. */
  readonly isSufficient: boolean
}

/** The nine cases in the literature. "Necessary" means that it made the run fail first. */
export const COMPETING_FAULTS = (
  [
    ['root', 'root-echo-7', 0, true, true],
    ['downstream echo', 'root-echo-7', 1, false, true],
    ['decoy beside a root', 'root-echo-7', 2, false, false],
    ['gate', 'and2-7', 3, true, false],
    ['payload', 'and2-7', 4, true, false],
    ['decoy beside a gate', 'and2-7', 2, false, false],
    ['gate that comes too late', 'root-echo-and2-7', 3, false, false],
    ['payload that comes too late', 'root-echo-and2-7', 4, false, false],
    ['root under load', 'root-echo-and2-7', 0, true, true],
  ] as const
).map(([name, scenario, step, isNecessary, isSufficient]): CompetingFault => ({
  name,
  scenario,
  step,
  isNecessary,
  isSufficient,
}))

/** By default every faulty step belongs to the truth, and faults always decide. */
type Faults = Omit<Structure, 'name' | 'stepCount' | 'levels' | 'truth'> &
  Partial<Pick<Structure, 'levels' | 'truth'>>

type IsFaulted = (values: readonly number[]) => boolean

const allOf =
  (steps: readonly number[]): IsFaulted =>
  (values) =>
    steps.every((step) => values[step] === 1)

const anyOf =
  (steps: readonly number[]): IsFaulted =>
  (values) =>
    steps.some((step) => values[step] === 1)

/** Steps that fail the run only together. */
const jointly = (faulty: readonly number[]): Faults => ({ faulty, isFaulted: allOf(faulty) })

const oneFault = (random: Random, stepCount: number): Faults =>
  jointly(pickSteps(random, stepCount, 1))

/** Step 1 repeats step 0. */
const rootAndEcho: Faults = {
  faulty: [0, 1],
  free: (step, values) => (step === 1 ? values[0]! : 0),
  isFaulted: anyOf([0, 1]),
  truth: [0],
  echoes: [1],
}

const LAST = 49

const stepsFrom = (first: number): number[] =>
  Array.from({ length: LAST + 1 - first }, (_, index) => first + index)

/** Draws the faults of each scenario; the number at the end of a name is its number of steps. */
const faultsOf = {
  /** Step 0 fails the run, and step 1 would too, but only repeats step 0. */
  'root-echo-7': () => rootAndEcho,

  /** A gate (3) and a payload (4): only both fail the run. */
  'and2-7': () => jointly([3, 4]),

  /** Both of the above. The gate and the payload come too late to matter. */
  'root-echo-and2-7': () => ({
    ...rootAndEcho,
    faulty: [0, 1, 3, 4],
    isFaulted: (values: readonly number[]) => anyOf([0, 1])(values) || allOf([3, 4])(values),
    backups: [[3, 4]],
  }),

  /** Three faults that fail only together. */
  'and3-20': (random: Random) => jointly(pickSteps(random, 20, 3)),

  /** Two faults, and each is enough: the later one is a back-up. */
  'or2-20': (random: Random): Faults => {
    const faulty = pickSteps(random, 20, 2)
    return {
      faulty,
      isFaulted: anyOf(faulty),
      truth: faulty.slice(0, 1),
      backups: [faulty.slice(1)],
    }
  },

  /** Two pairs, each of which is enough. */
  'and2-or-and2-30': (random: Random): Faults => {
    const faulty = pickSteps(random, 30, 4)
    const [first, second] = [faulty.slice(0, 2), faulty.slice(2)]
    return {
      faulty,
      isFaulted: (values) => allOf(first)(values) || allOf(second)(values),
      truth: first,
      backups: [second],
    }
  },

  /** Fails if an odd number of three steps is faulty. */
  'parity3-12': (random: Random): Faults => {
    const faulty = pickSteps(random, 12, 3)
    return {
      faulty,
      isFaulted: (values) => faulty.filter((step) => values[step] === 1).length % 2 === 1,
    }
  },

  /** If the first fault is repaired, a later step produces a fault that was not recorded. */
  'preempted-20': (random: Random): Faults => {
    const [first, later] = pickSteps(random, 20, 2) as [number, number]
    return {
      faulty: [first],
      free: (step, values) => (step === later && values[first] !== 1 ? 1 : 0),
      isFaulted: anyOf([first, later]),
    }
  },

  /** The fault fails the run in three of ten cases. */
  'rare-20': (random: Random) => ({
    ...oneFault(random, 20),
    levels: { withCause: 0.3, without: 0.02 },
  }),

  /** Two faults that together fail it in six of ten cases. */
  'rare-and2-20': (random: Random) => ({
    ...jointly(pickSteps(random, 20, 2)),
    levels: { withCause: 0.6, without: 0.02 },
  }),

  /** Also fails in one of ten cases without a fault. */
  'background-30': (random: Random) => ({
    ...oneFault(random, 30),
    levels: { withCause: 0.9, without: 0.1 },
  }),

  /** Three echoes that usually repeat the fault. */
  'noisy-echoes-30': (random: Random): Faults => {
    const [root] = pickSteps(random, 20, 1) as [number]
    const echoes = [root + 2, root + 5, root + 9]
    return {
      faulty: [root, ...echoes],
      free: (step, values, draw) =>
        echoes.includes(step) && values[root] === 1 && draw() < 0.95 ? 1 : 0,
      isFaulted: anyOf([root, ...echoes]),
      levels: { withCause: 0.9, without: 0.05 },
      truth: [root],
      echoes,
    }
  },

  /** Fails in three of ten cases, independently of all steps. */
  'flaky-20': (): Faults => ({
    faulty: [],
    isFaulted: () => true,
    levels: { withCause: 0.3, without: 0.3 },
  }),

  /** A step that runs again has the same fault in four of ten cases. */
  'redrawn-20': (random: Random): Faults => {
    const structure = oneFault(random, 20)
    const [root] = structure.faulty
    return {
      ...structure,
      levels: { withCause: 0.97, without: 0.03 },
      free: (step, _, draw) => (step === root && draw() < 0.4 ? 1 : 0),
    }
  },

  /** An early fault reappears only in the last ten of fifty steps. */
  'delayed-50': (random: Random): Faults => {
    const [root] = pickSteps(random, 20, 1) as [number]
    const echoes = stepsFrom(40)
    return {
      faulty: [root, ...echoes],
      free: (step, values) => (step < 40 ? 0 : values[step === 40 ? root : step - 1]!),
      isFaulted: anyOf([LAST, root]),
      truth: [root],
      echoes,
    }
  },

  /** Every step after the fault repeats it. */
  'cascade-50': (random: Random): Faults => {
    const [root] = pickSteps(random, 45, 1) as [number]
    const echoes = stepsFrom(root + 1)
    return {
      faulty: [root, ...echoes],
      free: (step, values) => (step > root ? values[step - 1]! : 0),
      isFaulted: allOf([LAST]),
      truth: [root],
      echoes,
    }
  },

  /** Two faults start it together; every step after them repeats it. */
  'and2-cascade-50': (random: Random): Faults => {
    const [gate, payload] = pickSteps(random, 30, 2) as [number, number]
    const echoes = stepsFrom(payload + 1)
    return {
      faulty: [gate, payload, ...echoes],
      free: (step, values) => {
        if (step === payload + 1) return values[gate] === 1 && values[payload] === 1 ? 1 : 0
        return step > payload ? values[step - 1]! : 0
      },
      isFaulted: allOf([LAST]),
      truth: [gate, payload],
      echoes,
    }
  },
} satisfies Record<string, (random: Random) => Faults>

export type ScenarioName = keyof typeof faultsOf

/** A planted failure. A noise level replaces its failure rates; its structure stays. */
export type Scenario = (seed: number, noise?: NoiseLevel) => PlantedModel

export const SCENARIO_NAMES = Object.keys(faultsOf) as readonly ScenarioName[]

/** Seventeen ways to fail, by name. */
export const SCENARIOS = Object.fromEntries(
  SCENARIO_NAMES.map((name): [ScenarioName, Scenario] => [
    name,
    (seed, noise) => {
      const random = seededRandom(mixSeed(7919, seed))
      const faults: Faults = faultsOf[name](random)
      const structure = { name, stepCount: Number(/\d+$/.exec(name)), truth: faults.faulty }
      const levels = noise ? drawLevels(noise, random) : (faults.levels ?? CERTAIN)
      return structuralModel({ ...structure, ...faults, levels }, mixSeed(13, seed))
    },
  ]),
) as Readonly<Record<ScenarioName, Scenario>>

/** Fails at the same rate whatever is pinned: blaming any step is wrong. */
export function flakyRun(seed: number, rate = 0.3, stepCount = 20): PlantedModel {
  const structure = {
    name: `flaky-${rate}`,
    stepCount,
    faulty: [],
    isFaulted: () => true,
    levels: { withCause: rate, without: rate },
    truth: [],
  }
  return structuralModel(structure, mixSeed(19, seed))
}

/** Never fails. */
export const passingRun = (seed: number): PlantedModel => ({
  ...flakyRun(seed, 0),
  name: 'passing',
})

/** Always fails, even if every step runs again: the cause is not among the steps. */
export const brokenRun = (seed: number): PlantedModel => ({ ...flakyRun(seed, 1), name: 'broken' })
