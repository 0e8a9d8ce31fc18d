import { describe, expect, it } from 'vitest'
import { COMPETING_FAULTS, flakyRun, SCENARIOS } from '../scenarios/scenarios.js'
import { scoreMethod } from '../scenarios/planted-model.js'
import { BASELINES } from '../../test-support/baselines.js'
import { classicView } from './classic-view.js'
import { coreShapley } from './learn-causes.js'
import { oneByOne } from '../../../../bench/planted-models.mjs'

describe('coreShapley', () => {
  it('divides a joint cause evenly, and gives a root all of it', () => {
    const and = (subset: readonly number[]) => (subset.length === 3 ? 1 : 0)
    for (const share of coreShapley([2, 5, 9], and)) expect(share).toBeCloseTo(1 / 3, 12)
    expect(coreShapley([4], (subset) => (subset.length > 0 ? 0.9 : 0.1))).toEqual([0.8])
    expect(coreShapley([], () => 1)).toEqual([])
  })

  it('shares add up to the total, and a member without effect gets 0', () => {
    const weights = new Map([
      [1, 0.3],
      [2, 0.2],
      [3, 0],
    ])
    const valueOf = (subset: readonly number[]) =>
      subset.reduce((total, step) => total + weights.get(step)!, subset.length > 1 ? 0.1 : 0.05)
    const shares = coreShapley([1, 2, 3], valueOf)
    expect(shares.reduce((total, share) => total + share, 0)).toBeCloseTo(0.55, 12)
    expect(shares[0]! - shares[1]!).toBeCloseTo(0.1, 12)
  })
})

describe('classicView', () => {
  it('judges eight of the nine competing faults right: it misses the gate of a sequential pair', async () => {
    const right: string[] = []
    for (const fault of COMPETING_FAULTS) {
      const { steps } = await classicView(SCENARIOS[fault.scenario](5), { forksPerStep: 3 })
      const { isNecessary, isSufficient } = steps[fault.step]!
      if (isNecessary === fault.isNecessary && isSufficient === fault.isSufficient)
        right.push(fault.name)
    }
    expect(
      COMPETING_FAULTS.map(({ name }) => name).filter((name) => !right.includes(name)),
    ).toEqual(['gate'])
  })

  it('takes the announced number of forks, and stops at a budget', async () => {
    const model = SCENARIOS['and3-20'](1)
    const whole = await classicView(model, { forksPerStep: 4, rounds: 2 })
    expect(whole.forks).toBe(20 * 4 * (1 + 2))
    expect(whole.isStopped).toBe(false)
    let seen = 0
    const fork: typeof model.fork = (coalition, draw) => {
      seen++
      return model.fork(coalition, draw)
    }
    const cut = await classicView({ ...model, fork }, { maxForks: 30 })
    expect(cut).toMatchObject({ forks: 30, isStopped: true })
    expect(seen).toBe(30)
    expect(cut.steps[10]!.flip).toMatchObject({ forks: 0, low: 0, high: 1, isBelieved: false })
  })

  it('leaves forks without a verdict out of its rates', async () => {
    const model = flakyRun(3, 1, 4)
    const fork: typeof model.fork = async (coalition, draw) =>
      draw % 2 === 0 ? { outcome: 'undefined', values: [] } : model.fork(coalition, draw)
    const view = await classicView({ ...model, fork }, { forksPerStep: 6, rounds: 1 })
    expect(view.undefinedForks).toBe(view.forks / 2)
    expect(view.steps[2]!.flip).toMatchObject({ fails: 3, forks: 3 })
  })

  it('runs as many forks concurrently as the source allows', async () => {
    const model = SCENARIOS['and2-7'](1)
    let running = 0
    let most = 0
    const fork: typeof model.fork = async (coalition, draw) => {
      most = Math.max(most, ++running)
      const result = await model.fork(coalition, draw)
      running--
      return result
    }
    await classicView({ ...model, concurrency: 3, fork }, { forksPerStep: 5 })
    expect(most).toBe(3)
  })
})

describe('baselines', () => {
  it('one by one finds both halves of a pair, and neither of two faults that are each enough', async () => {
    expect(await oneByOne(SCENARIOS['and2-7'](1))).toEqual([3, 4])
    expect(await oneByOne(SCENARIOS['or2-20'](1))).toEqual([])
  })

  it('show their known weaknesses: a flip rate blames echoes, a share only the last half', async () => {
    const models = (name: 'root-echo-7' | 'and2-7') =>
      Array.from({ length: 20 }, (_, seed) => SCENARIOS[name](seed))
    const flip = await scoreMethod(BASELINES['flip rate k=10'], models('root-echo-7'))
    expect(flip).toMatchObject({ exact: 0, recall: 1, falseBlameRuns: 1, forksMean: 70 })
    const shares = await scoreMethod(BASELINES['temporal Shapley k=5 m=3'], models('and2-7'))
    expect(shares).toMatchObject({ exact: 0, recall: 0.5, falseBlameRuns: 0, forksMean: 140 })
    const latest = await scoreMethod(BASELINES['latest effect k=16'], models('root-echo-7'))
    expect(latest).toMatchObject({ exact: 1, forksMean: 128 })
    const sampled = await scoreMethod(BASELINES['sampled Shapley 20 orders'], models('and2-7'))
    expect(sampled).toMatchObject({ exact: 1, forksMean: 320 })
  })
})
