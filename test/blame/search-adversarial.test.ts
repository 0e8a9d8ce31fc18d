/**
 * Failures that do not look like the search's picture of one: causes that share steps,
 * echoes that come only sometimes, forks that cannot be judged, a third rate of failing,
 * causes at either end, one step, two hundred. It may fail to find a cause; it may not name
 * a step that has nothing to do with it.
 */
import { blameRun, causeIndexes, type ForkSource } from '@retake/lab'
import {
  brokenRun,
  flakyRun,
  passingRun,
  SCENARIOS,
  structuralModel,
  type FailLevels,
  type PlantedModel,
  type Structure,
} from '@retake/lab/scenarios'
import { seededRandom, type Random } from '@retake/lab/scenarios'
import { expect, test } from 'vitest'
import { randomModel } from '../../bench/planted-models.mjs'
import { repetitions } from '../support/soak.js'

const SEEDS = repetitions('RETAKE_SEEDS', { beforeMerge: 20, soak: 1000 })

const CERTAIN: FailLevels = { withCause: 1, without: 0 }
const NOISY: FailLevels = { withCause: 0.85, without: 0.08 }
const NEARLY_CERTAIN: FailLevels = { withCause: 0.97, without: 0.03 }

interface Case {
  readonly model: (seed: number) => PlantedModel
  /** At least so often exactly the truth. */
  readonly exact: number
  /** At least so often exactly the back-ups too. */
  readonly allCauses?: number
}

const CASES: Readonly<Record<string, Case>> = {
  'two causes that begin with the same step': {
    model: planted((random) =>
      share(
        random,
        ([a, b, c]) => [
          [a, b],
          [a, c],
        ],
        CERTAIN,
      ),
    ),
    exact: 1,
    allCauses: 0.98,
  },
  'two causes that end with the same step, noisy': {
    model: planted((random) =>
      share(
        random,
        ([a, b, c]) => [
          [a, c],
          [b, c],
        ],
        NOISY,
      ),
    ),
    exact: 0.95,
    allCauses: 0.8,
  },
  'echoes that come in two forks of five': {
    model: planted((random) => echoing(random, 0.4)),
    exact: 0.95,
  },
  'a run that is nearly certain': {
    model: planted((random) => share(random, ([a, b]) => [[a, b]], NEARLY_CERTAIN)),
    exact: 0.98,
  },
  'a cause at the first step': { model: planted(() => at(0, 20)), exact: 0.98 },
  'a cause at the last step': { model: planted(() => at(19, 20)), exact: 0.98 },
  'a run of one step': { model: planted(() => at(0, 1)), exact: 0.98 },
  'three of two hundred steps': {
    model: planted((random) => together(pick(random, 200, 3), 200)),
    exact: 0.95,
  },
  'steps whose values are drawn anew each time': { model: planted(restless), exact: 0.98 },
  'forks of which one in five cannot be judged': {
    model: (seed) => unjudged(SCENARIOS['rare-and2-20'](seed), seed, 0.2),
    exact: 0.95,
  },
  'four forks at once': {
    model: (seed) => ({ ...randomModel(seed, 'noisy'), concurrency: 4 }),
    exact: 0.98,
  },
  'steps that undo each other, asked once each': {
    model: (seed) => ({ ...SCENARIOS['parity3-12'](seed), isDeterministic: true }),
    exact: 0.95,
  },
}

test.for(Object.entries(CASES))('%s', async ([name, { model: plant, exact, allCauses = 0 }]) => {
  const sum = { exact: 0, all: 0, wrong: 0, forks: 0 }
  for (let seed = 1; seed <= SEEDS; seed++) {
    const model = plant(seed)
    const findings = await blameRun(model, { seed })
    const [first = [], ...others] = causeIndexes(findings)
    const isExact = first.join() === model.truth.join()
    if (isExact) sum.exact++
    if (isExact && others.join(';') === model.backups.join(';')) sum.all++
    if (first.some((step) => !model.truth.includes(step))) sum.wrong++
    sum.forks += findings.forks.asked
  }
  process.stdout.write(
    `${name}: exact ${sum.exact}, all causes ${sum.all}, false ${sum.wrong} of ${SEEDS}; ` +
      `${(sum.forks / SEEDS).toFixed(0)} forks\n`,
  )
  expect(sum.wrong / SEEDS).toBeLessThanOrEqual(0.02)
  expect(sum.exact / SEEDS).toBeGreaterThanOrEqual(exact)
  expect(sum.all / SEEDS).toBeGreaterThanOrEqual(allCauses)
})

/** Draws so unlucky that a bystander looked like a cause, until the proofs were looked at again. */
test.for([
  ['root-echo-7', 21],
  ['root-echo-7', 89],
  ['and2-or-and2-30', 87],
  ['random', 283],
] as const)('an unlucky draw names no bystander: %s, seed %i', async ([name, seed]) => {
  const model = name === 'random' ? randomModel(seed, 'noisy') : SCENARIOS[name](seed, 'noisy')
  const findings = await blameRun(model, { seed })
  expect(causeIndexes(findings)[0]).toEqual(model.truth)
})

/** Seeds with draws so unlucky that a bystander was named. */
const UNLUCKY_SEEDS = [490]

test('if two steps each add half of the risk, no other step is named', async () => {
  for (const seed of new Set([...UNLUCKY_SEEDS, ...seedsUpTo(SEEDS)])) {
    const model = halfEach(seed)
    const findings = await blameRun(model, { seed })
    for (const step of causeIndexes(findings)[0] ?? []) expect(model.truth).toContain(step)
  }
})

test.for([
  ['flaky', (seed: number) => flakyRun(seed, 0.3)],
  ['flaky', (seed: number) => flakyRun(seed, 0.6)],
  ['no attributable step', (seed: number) => brokenRun(seed)],
  ['no attributable step', (seed: number) => passingRun(seed)],
] as const)('without a cause, no step is blamed: mostly %s', async ([verdict, plant]) => {
  let said = 0
  for (let seed = 1; seed <= SEEDS; seed++) {
    const findings = await blameRun(plant(seed), { seed })
    expect(findings.causes).toEqual([])
    expect(findings.why).toBeTruthy()
    if (findings.verdict === verdict) said++
  }
  expect(said / SEEDS).toBeGreaterThanOrEqual(0.9)
})

const seedsUpTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1)

function planted(structureOf: (random: Random) => Structure): (seed: number) => PlantedModel {
  return (seed) => structuralModel(structureOf(seededRandom(seed * 31 + 7)), seed * 17 + 3)
}

function pick(random: Random, below: number, count: number): number[] {
  const picked = new Set<number>()
  while (picked.size < count) picked.add(Math.floor(random() * below))
  return [...picked].toSorted((a, b) => a - b)
}

/** Causes made of three steps of twenty-five. */
function share(
  random: Random,
  causesOf: (steps: [number, number, number]) => number[][],
  levels: FailLevels,
): Structure {
  const causes = causesOf(pick(random, 25, 3) as [number, number, number])
  const [truth = [], ...backups] = causes
  return {
    name: 'shared',
    stepCount: 25,
    faulty: [...new Set(causes.flat())],
    isFaulted: (values) => causes.some((cause) => cause.every((step) => values[step] === 1)),
    levels,
    truth,
    backups,
  }
}

function together(truth: readonly number[], stepCount: number): Structure {
  const isFaulted = (values: readonly number[]) => truth.every((step) => values[step] === 1)
  return { name: 'together', stepCount, faulty: truth, isFaulted, levels: NOISY, truth }
}

function at(step: number, stepCount: number): Structure {
  return together([step], stepCount)
}

function echoing(random: Random, often: number): Structure {
  const root = Math.floor(random() * 15)
  const echoes = [root + 2, root + 5]
  return {
    name: 'echoing',
    stepCount: 25,
    faulty: [root, ...echoes],
    free: (step, values, draw) =>
      echoes.includes(step) && values[root] === 1 && draw() < often ? 1 : 0,
    isFaulted: (values) => [root, ...echoes].some((step) => values[step] === 1),
    levels: NOISY,
    truth: [root],
    echoes,
  }
}

/** Every second step comes to something else each time, and it does not matter. */
function restless(random: Random): Structure {
  const root = 2 * Math.floor(random() * 12)
  const odd = Array.from({ length: 15 }, (_, index) => 2 * index + 1)
  return {
    ...together([root], 30),
    faulty: [root, ...odd],
    free: (step, _values, draw) => (step % 2 === 1 && draw() < 0.5 ? 1 : 0),
  }
}

function unjudged(model: PlantedModel, seed: number, often: number): PlantedModel {
  return refork(model, seed, (fork, random) =>
    random() < often ? { ...fork, outcome: 'undefined' } : fork,
  )
}

/** Either step alone fails in 45 % of forks, both in 90 %, none in 5 %. */
function halfEach(seed: number): PlantedModel {
  const truth = pick(seededRandom(seed * 31 + 7), 30, 2)
  const model = structuralModel(together(truth, 30), seed)
  return refork(model, seed, (fork, random) => {
    const faults = truth.filter((step) => fork.values[step] === 1).length
    return { ...fork, outcome: random() < [0.05, 0.45, 0.9][faults]! ? 'fail' : 'pass' }
  })
}

type ForkOf = ForkSource['fork']

function refork(
  model: PlantedModel,
  seed: number,
  change: (fork: Awaited<ReturnType<ForkOf>>, random: Random) => Awaited<ReturnType<ForkOf>>,
): PlantedModel {
  return {
    ...model,
    fork: async (coalition, draw) => {
      const mixed = coalition.pinned.reduce((sum, step) => Math.imul(sum, 31) + step, seed * 7919)
      const random = seededRandom(mixed + Math.imul(draw, 104_729))
      random()
      return change(await model.fork(coalition, draw), random)
    },
  }
}
