import { describe, expect, it } from 'vitest'
import type { BlameMode } from '@retake/tape'
import type { Fork } from '../search/fork-source.js'
import { meanScore, randomModel, staircase } from '../../../../bench/planted-models.mjs'
import { brokenRun, flakyRun, passingRun, SCENARIO_NAMES, SCENARIOS } from './scenarios.js'
import { NOISE_LEVELS, scoreMethod, type BlameMethod, type PlantedModel } from './planted-model.js'
import { seededRandom } from '../search/seeded-random.js'

describe('scenarios', () => {
  it('are seventeen with unique names', () => {
    expect(SCENARIO_NAMES).toHaveLength(17)
    for (const name of SCENARIO_NAMES) expect(SCENARIOS[name](1).name).toBe(name)
  })

  it('fail by their truth alone, pass without any one of it, and fail by each back-up alone', async () => {
    const models = [...SCENARIO_NAMES].map((name) => SCENARIOS[name])
    for (let seed = 0; seed < 25; seed++)
      for (const model of [
        ...models.map((scenario) => scenario(seed, 'deterministic')),
        randomModel(seed, 'deterministic'),
      ]) {
        const { name, truth, backups } = model
        if (truth.length === 0 || name === 'preempted-20') continue
        expect(await failShare(model, allSteps(model), 4), name).toBe(1)
        expect(await failShare(model, truth, 4), name).toBe(1)
        for (const cause of backups) expect(await failShare(model, cause, 4), name).toBe(1)
        // Nothing kept is nothing repaired where a step makes its fault again.
        if (name === 'redrawn-20') continue
        expect(await failShare(model, [], 4), name).toBe(0)
        for (const member of truth)
          expect(
            await failShare(
              model,
              truth.filter((step) => step !== member),
              4,
            ),
            name,
          ).toBe(0)
      }
  })

  it('contain their echoes only if their cause is pinned', async () => {
    for (const name of SCENARIO_NAMES) {
      const model = SCENARIOS[name](7, 'deterministic')
      if (name === 'noisy-echoes-30') continue
      const { truth, echoes } = model
      const kept = await model.fork({ pinned: truth, mode: 'free', ambient: [] }, 0)
      const repaired = await model.fork({ pinned: [], mode: 'free', ambient: [] }, 0)
      for (const echo of echoes) {
        expect(kept.values[echo], name).toBe(model.recorded[echo])
        expect(repaired.values[echo], name).not.toBe(model.recorded[echo])
      }
    }
  })

  it('keep failing where a fault that pre-empted another is repaired, unless the rest is frozen', async () => {
    for (let seed = 0; seed < 20; seed++) {
      const model = SCENARIOS['preempted-20'](seed)
      const others = allSteps(model).filter((step) => !model.truth.includes(step))
      expect(await failShare(model, [], 3)).toBe(1)
      expect(await failShare(model, [], 3, 'frozen')).toBe(0)
      expect(await failShare(model, others, 3, 'frozen')).toBe(0)
    }
  })

  it('fail as often as their level of noise says', async () => {
    for (const noise of NOISE_LEVELS)
      for (let seed = 0; seed < 12; seed++)
        for (const model of [SCENARIOS['rare-20'](seed, noise), randomModel(seed, noise)]) {
          const withCause = await failShare(model, model.truth, 600)
          const without = await failShare(model, [], 600)
          const [low, high, most] = {
            deterministic: [1, 1, 0],
            noisy: [0.52, 1, 0.18],
            hard: [0.27, 0.78, 0.33],
          }[noise] as [number, number, number]
          expect(withCause).toBeGreaterThanOrEqual(low)
          expect(withCause).toBeLessThanOrEqual(high)
          expect(without).toBeLessThanOrEqual(most)
        }
  })
})

describe('a planted model', () => {
  it('is deterministic for a seed, a coalition and a draw, in any order', async () => {
    const ask = async (order: readonly number[]) => {
      const model = SCENARIOS['rare-20'](11)
      const outcomes: string[] = []
      for (const draw of order)
        outcomes[draw] = (
          await model.fork({ pinned: allSteps(model), mode: 'free', ambient: [] }, draw)
        ).outcome
      return outcomes
    }
    const draws = Array.from({ length: 60 }, (_, draw) => draw)
    expect(await ask(draws.toReversed())).toEqual(await ask(draws))
  })

  it('draws independently for neighbouring seeds, coalitions and draws', async () => {
    const flaky = flakyRun(1, 0.5, 4000)
    const variants: ((at: number) => Promise<Fork>)[] = [
      (at) => flakyRun(at, 0.5, 2).fork({ pinned: [], mode: 'free', ambient: [] }, 0),
      (at) => flakyRun(1, 0.5, 2).fork({ pinned: [], mode: 'free', ambient: [] }, at),
      (at) => flaky.fork({ pinned: [at], mode: 'free', ambient: [] }, 0),
      (at) => flaky.fork({ pinned: [0, at + 1], mode: 'frozen', ambient: [] }, 3),
    ]
    for (const variant of variants) {
      const fails: boolean[] = []
      for (let at = 0; at < 2000; at++) fails.push((await variant(at)).outcome === 'fail')
      const share = fails.filter(Boolean).length / fails.length
      const repeats = fails.filter((each, at) => at > 0 && each === fails[at - 1]).length
      expect(Math.abs(share - 0.5)).toBeLessThan(0.05)
      expect(Math.abs(repeats / fails.length - 0.5)).toBeLessThan(0.05)
    }
  })
})

describe('controls', () => {
  it('fail at their rate whatever is pinned', async () => {
    for (const [model, rate] of [
      [flakyRun(1, 0.3), 0.3],
      [passingRun(1), 0],
      [brokenRun(1), 1],
    ] as const)
      for (const kept of [[], [3], allSteps(model)])
        expect(await failShare(model, kept, 2000)).toBeCloseTo(rate, 1)
  })

  it('the staircase rises where the risk is raised, and again where it becomes real', async () => {
    const model = staircase(4)
    const upTo = (step: number) => failShare(model, allSteps(model).slice(0, step + 1), 1500)
    const [realised] = model.truth as [number]
    expect(await upTo(model.raisedBy - 1)).toBeLessThan(0.05)
    expect(await upTo(model.raisedBy)).toBeCloseTo(0.3, 1)
    expect(await upTo(realised - 1)).toBeCloseTo(0.3, 1)
    expect(await upTo(realised)).toBe(1)
  })
})

describe('scoreMethod', () => {
  const models = () => [SCENARIOS['and2-7'](1), SCENARIOS['flaky-20'](1)]

  it('gives one who knows the truth full marks', async () => {
    const knowing: BlameMethod = async ({ truth, backups }) => ({
      blamed: truth,
      backups,
      forks: 9,
    })
    expect(await scoreMethod(knowing, models())).toEqual({
      runs: 2,
      top1: 1,
      exact: 1,
      recall: 1,
      falseBlamesPerRun: 0,
      falseBlameRuns: 0,
      allCauses: 1,
      forksMean: 9,
      forksP95: 9,
    })
  })

  it('counts innocents, halves, and unfounded blame', async () => {
    const careless: BlameMethod = async () => ({ blamed: [3, 5, 6], first: 5, forks: 4 })
    const score = await scoreMethod(careless, models())
    expect(score).toMatchObject({ top1: 0, exact: 0, recall: 0.25, falseBlamesPerRun: 2.5 })
    expect(score.falseBlameRuns).toBe(1)
    const silent: BlameMethod = async () => ({ blamed: [], forks: 0 })
    const both = meanScore([score, await scoreMethod(silent, models())])
    expect(both).toMatchObject({ runs: 4, exact: 0.25, falseBlameRuns: 0.5, forksMean: 2 })
  })
})

it('seededRandom repeats itself for a seed', () => {
  const [one, other] = [seededRandom(42), seededRandom(42)]
  for (let at = 0; at < 10; at++) expect(one()).toBe(other())
})

function allSteps(model: PlantedModel): number[] {
  return Array.from({ length: model.stepCount }, (_, step) => step)
}

async function failShare(
  model: PlantedModel,
  pinned: readonly number[],
  draws: number,
  mode: BlameMode = 'free',
): Promise<number> {
  let fails = 0
  for (let draw = 0; draw < draws; draw++)
    if ((await model.fork({ pinned, mode, ambient: [] }, draw)).outcome === 'fail') fails++
  return fails / draws
}
