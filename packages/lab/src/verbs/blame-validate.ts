import type { Verb } from '@retake/runner/command-line'
import { type Look, Progress, tableLines } from '@retake/runner/terminal'
import { runValidation } from '../blame/validate-blame.js'
import { blameRun } from '../search/blame-run.js'
import { wilson } from '../search/stats.js'
import {
  accusationOf,
  CERTAIN,
  type PlantedModel,
  scoreMethod,
  type Structure,
  structuralModel,
} from '../scenarios/planted-model.js'
import {
  brokenRun,
  COMPETING_FAULTS,
  flakyRun,
  passingRun,
  SCENARIO_NAMES,
  SCENARIOS,
} from '../scenarios/scenarios.js'
import { mixSeed, pickSteps } from '../search/seeded-random.js'
import { type Random, seededRandom } from '@retake/lab/scenarios'
import { duration, intervalText, plural } from '@retake/tape/present'

type BlameBench = Awaited<ReturnType<typeof benchBlame>>

const CONTROLS = {
  'fails sometimes': (seed: number) => flakyRun(seed),
  'fails always': (seed: number) => brokenRun(seed),
  'never fails': (seed: number) => passingRun(seed),
}

const STEPS = 10

/**
 * Failures that are hard to attribute: rewording steps, recurring faults, ambient inputs, and
 * agents that often fail. "Cannot tell" is acceptable here; blaming an innocent step is not.
 */
const HARD: Readonly<Record<string, (random: Random) => Omit<Structure, 'name' | 'stepCount'>>> = {
  'rewording, root and echo': (random) => {
    const [root, echo] = pickSteps(random, STEPS, 2) as [number, number]
    return {
      faulty: [root, echo],
      free: (step, values) => (step === echo ? (values[root] ?? 0) : 0),
      isFaulted: (values) => values[root] === 1 || values[echo] === 1,
      levels: CERTAIN,
      truth: [root],
      echoes: [echo],
      isReworded: true,
    }
  },
  'two causes that come back, 30 %': (random) => {
    const [first, second] = pickSteps(random, STEPS, 2) as [number, number]
    return {
      faulty: [first, second],
      free: (step, _, draw) => ((step === first || step === second) && draw() < 0.3 ? 1 : 0),
      isFaulted: (values) => values[first] === 1 || values[second] === 1,
      levels: CERTAIN,
      truth: [first],
      backups: [[second]],
      isReworded: true,
    }
  },
  'clock alone': (random) => ({
    faulty: pickSteps(random, STEPS, 3),
    ambient: [{ kind: 'clock', name: 'Date.now', faultRate: 0 }],
    isFaulted: (_, ambient) => ambient[0] === 1,
    levels: CERTAIN,
    truth: [],
    ambientTruth: [0],
  }),
  'base rate 50 %': (random) => oneRoot(random, 0.5),
  'base rate 70 %': (random) => oneRoot(random, 0.7),
  'base rate 90 %': (random) => oneRoot(random, 0.9),
}

const oneRoot = (random: Random, without: number): Omit<Structure, 'name' | 'stepCount'> => {
  const [root] = pickSteps(random, STEPS, 1) as [number]
  return {
    faulty: [root],
    isFaulted: (values) => values[root] === 1,
    levels: { withCause: 1, without },
    truth: [root],
  }
}

/** How often the search names the cause, cannot tell, or blames an innocent step. */
async function benchHard(name: string, runs: number) {
  let right = 0
  let innocent = 0
  for (let seed = 1; seed <= runs; seed++) {
    const make = HARD[name]!
    const structure = { name, stepCount: STEPS, ...make(seededRandom(mixSeed(7, seed))) }
    const { verdict, causes } = await blameRun(structuralModel(structure, seed), {
      seed,
      maxForks: 300,
    })
    const [cause] = verdict === 'attributed' ? causes : []
    const steps = structure.truth.map((step) => String(step + 1))
    const isRight =
      cause !== undefined &&
      cause.steps.join() === steps.join() &&
      (cause.ambient ?? []).join() === (structure.ambientTruth ?? []).join()
    const known = new Set([
      ...steps,
      ...(structure.backups ?? []).flat().map((step) => String(step + 1)),
    ])
    if (isRight) right += 1
    else if (cause?.steps.some((step) => !known.has(step))) innocent += 1
  }
  return { name, runs, right, innocent }
}

/** Runs the competing faults, the scenarios and the negative controls, all in process. */
async function benchBlame(seeds: number, onScenario: (name: string) => void) {
  const startedAt = performance.now()
  const competing = []
  for (const fault of COMPETING_FAULTS) {
    const findings = await blameRun(SCENARIOS[fault.scenario](1), { seed: 1 })
    const step = findings.steps[fault.step]
    /** Verdict on the step: necessary, sufficient. */
    const said = [step?.isNecessary ?? false, step?.isSufficient ?? false] as const
    const isRight = said[0] === fault.isNecessary && said[1] === fault.isSufficient
    competing.push({ ...fault, isRight, said, forks: findings.forks.asked })
  }
  const scenarios = []
  for (const name of SCENARIO_NAMES) {
    onScenario(name)
    const score = await scoreMethod(search, models(SCENARIOS[name], seeds))
    scenarios.push({ name, score })
  }
  const controls = []
  for (const [name, make] of Object.entries(CONTROLS)) {
    onScenario(name)
    const { falseBlameRuns } = await scoreMethod(search, models(make, seeds))
    controls.push({ name, runs: seeds, blamed: Math.round(falseBlameRuns * seeds) })
  }
  const hard = []
  for (const name of Object.keys(HARD)) {
    onScenario(name)
    hard.push(await benchHard(name, seeds))
  }
  const wallMs = Math.round(performance.now() - startedAt)
  return { competing, scenarios, controls, hard, seeds, wallMs }
}

const search = async (model: PlantedModel) => accusationOf(await blameRun(model, { seed: 1 }))

function* models(make: (seed: number) => PlantedModel, seeds: number): Iterable<PlantedModel> {
  for (let seed = 1; seed <= seeds; seed++) yield make(seed)
}

/** Allowed false blames of a control: one in fifty runs, and at least one. */
const allowedBlames = (runs: number): number => Math.max(1, Math.ceil(runs / 50))

/** All competing faults right, controls blame no step, and almost all causes exact. */
function isGood({ competing, scenarios, controls, hard }: BlameBench): boolean {
  const exact = scenarios.reduce((sum, { score }) => sum + score.exact, 0) / scenarios.length
  return (
    competing.every(({ isRight }) => isRight) &&
    controls.every(({ blamed, runs }) => blamed <= allowedBlames(runs)) &&
    hard.every(({ innocent, runs }) => innocent <= allowedBlames(runs)) &&
    exact >= EXACT_LEAST
  )
}

/** A little below the result with a thousand seeds, because few seeds scatter. */
const EXACT_LEAST = 0.97

function benchLines(bench: BlameBench, { paint, width }: Look): string[] {
  const { competing, scenarios, controls, hard, seeds, wallMs } = bench
  const right = competing.filter(({ isRight }) => isRight).length
  const mean = (read: (each: (typeof scenarios)[number]) => number): number =>
    scenarios.reduce((sum, each) => sum + read(each), 0) / scenarios.length
  const exact = mean(({ score }) => score.exact)
  const forks = mean(({ score }) => score.forksMean)
  const wrong = mean(({ score }) => score.falseBlameRuns)
  return [
    `${isGood(bench) ? paint('green', 'good') : paint('red', 'not good')} · competing faults ${right} of ${competing.length} · exact causes ${share(exact)} · false blame ${share(wrong)} · ${duration(wallMs)}`,
    '',
    paint('bold', 'competing faults'),
    ...tableLines(
      [
        ['', 'necessary', 'sufficient', 'forks', 'said'],
        ...competing.map((each) => [
          `  ${each.name}`,
          word(each.isNecessary),
          word(each.isSufficient),
          String(each.forks),
          each.isRight ? 'right' : `WRONG: ${each.said.map(word).join(', ')}`,
        ]),
      ],
      width,
    ),
    '',
    paint('bold', `scenarios, ${plural(seeds, 'seed')} each`),
    ...tableLines(
      [
        ['', 'exact', 'false blame', 'forks', '95 % take'],
        ...scenarios.map(({ name, score }) => [
          `  ${name}`,
          `${share(score.exact)} (${intervalText(wilson(score.exact * seeds, seeds))})`,
          share(score.falseBlameRuns),
          score.forksMean.toFixed(0),
          score.forksP95.toFixed(0),
        ]),
        ['  mean', share(exact), share(wrong), forks.toFixed(0), ''],
      ],
      width,
    ),
    '',
    paint('bold', 'hard cases'),
    ...tableLines(
      [
        ['', 'named', 'cannot tell', 'innocent blamed'],
        ...hard.map(({ name, runs, right, innocent }) => [
          `  ${name}`,
          `${right} of ${runs}`,
          String(runs - right - innocent),
          `${innocent} (${intervalText(wilson(innocent, runs))})`,
        ]),
      ],
      width,
    ),
    '',
    paint('bold', 'nothing to blame'),
    ...tableLines(
      controls.map(({ name, runs, blamed }) => [
        `  ${name}`,
        `${blamed} of ${runs} blamed a step (${intervalText(wilson(blamed, runs))})`,
      ]),
      width,
    ),
  ]
}

const word = (value: boolean): string => (value ? 'yes' : 'no')
const share = (part: number): string => part.toFixed(3).replace(/^0/, '')

export default {
  arguments: '',
  description: `Measures how well \`retake blame\` finds known causes. Records small agents with
planted faults, blames them through real forks, offline, and compares. Exit code 1 if a result is not
as planted.

With --seeds, blames simulated failures instead: nine competing faults, seventeen scenarios, hard
cases such as rewording models and high base rates, and runs in which no step is to blame. Nothing is
sent or written. Exit code 1 if the search misses its quality targets.`,
  options: {
    '--validate': 'blame agents with known faults and score the result',
    '--seeds <n>': 'simulate failures instead, and draw each scenario n times',
    '--jobs <n>': 'number of forks at a time (default: one per core)',
  },
  examples: [
    'retake blame --validate',
    'retake blame --validate --seeds 40',
    'retake blame --validate --seeds 200 --json',
  ],
  async run(options) {
    const seeds = options.number('seeds', { least: 1 })
    if (seeds === undefined) return runValidation(options)
    using progress = new Progress('competing faults')
    const result = await benchBlame(seeds, (name) => progress.say(name))
    progress.stop()
    options.print({ good: isGood(result), ...result }, (look) => benchLines(result, look))
    return isGood(result) ? 0 : 1
  },
} satisfies Verb
