import { describe, expect, it } from 'vitest'
import { blameRun, causeIndexes, confidenceSequence, wilson, type Interval } from '@retake/lab'
import { seededRandom } from '@retake/lab/scenarios'
import type { PlantedModel } from '@retake/lab/scenarios'
import type { BlameFindings } from '@retake/tape'
import { randomModel } from '../../bench/planted-models.mjs'
import { clopperPearson } from '../../packages/lab/test-support/clopper-pearson.js'
import { CountedForks } from '../../packages/lab/dist/search/classic-view.js'
import { flipRates } from '../../packages/lab/dist/search/classic-view.js'
import { flakyRun } from '../../packages/lab/dist/scenarios/scenarios.js'
import { structuralModel } from '../../packages/lab/dist/scenarios/planted-model.js'
import { barOf } from '../../packages/lab/dist/search/search.js'
import { Levels } from '../../packages/lab/dist/search/levels.js'

// By simulation with seeds, and by exact sums where there are few enough outcomes. Each
// claim has a control: a method that does not keep it, and is seen not to.

type IntervalOf = (fails: number, forks: number) => Interval

/** How often it fails with a cause, and without. */
interface RatePair {
  readonly high: number
  readonly low: number
}

const holds = ({ low, high }: Interval, rate: number) => low <= rate && rate <= high

const RATES = [0.02, 0.1, 0.3, 0.5, 0.8, 0.97]

describe('an interval that is watched', () => {
  const MOST_FORKS = 200

  it('leaves the truth out at any time in at most one run of twenty', () => {
    for (const rate of RATES) expect(shareEverWrong(confidenceSequence, rate)).toBeLessThan(0.05)
  })

  it('is not a Wilson interval: watched, that one leaves the truth out in one run of four', () => {
    for (const rate of RATES) expect(shareEverWrong(wilson, rate)).toBeGreaterThan(0.25)
  })

  function shareEverWrong(intervalOf: IntervalOf, rate: number, runs = 2000): number {
    const random = seededRandom(Math.round(rate * 1000))
    let wrong = 0
    for (let run = 0; run < runs; run++) {
      let fails = 0
      let isWrong = false
      for (let forks = 1; forks <= MOST_FORKS; forks++) {
        if (random() < rate) fails++
        isWrong ||= !holds(intervalOf(fails, forks), rate)
      }
      if (isWrong) wrong++
    }
    return wrong / runs
  }
})

describe('an interval of a fixed number of forks', () => {
  const grid = Array.from({ length: 999 }, (_, place) => (place + 1) / 1000)

  it('by Wilson covers 95 % on average, and by Clopper and Pearson always', () => {
    for (const forks of [3, 5, 10, 20, 50]) {
      const byWilson = grid.map((rate) => coverage(wilsonTable, forks, rate))
      const mean = byWilson.reduce((sum, share) => sum + share, 0) / grid.length
      expect(Math.abs(mean - 0.95)).toBeLessThan(0.012)
      const exact = grid.map((rate) => coverage(exactTable, forks, rate))
      expect(Math.min(...exact)).toBeGreaterThanOrEqual(0.95)
      // So a gate must not use Wilson.
      expect(Math.min(...byWilson)).toBeLessThan(0.9)
    }
  })

  const wilsonTable = tableOf(wilson)
  const exactTable = tableOf(clopperPearson)

  function tableOf(intervalOf: IntervalOf): IntervalOf {
    const table = new Map<number, Interval>()
    return (fails, forks) => {
      const key = fails * 1000 + forks
      const known = table.get(key) ?? intervalOf(fails, forks)
      table.set(key, known)
      return known
    }
  }

  /** The sum over all outcomes whose interval holds the truth. */
  function coverage(intervalOf: IntervalOf, forks: number, rate: number): number {
    let chance = (1 - rate) ** forks
    let covered = 0
    for (let fails = 0; fails <= forks; fails++) {
      if (holds(intervalOf(fails, forks), rate)) covered += chance
      chance *= ((forks - fails) / (fails + 1)) * (rate / (1 - rate))
    }
    return covered
  }
})

describe('a comparison that is repeated until its result is likely enough', () => {
  const ERROR_RATE = 0.01
  const PAIRS = [
    { high: 0.995, low: 0.005 },
    { high: 0.9, low: 0.08 },
    { high: 0.6, low: 0.03 },
    { high: 0.4, low: 0.15 },
  ]

  it('is wrong no more often than stated if the rates are known', () => {
    for (const pair of PAIRS) {
      const levels = knownLevels(pair)
      expect(shareWrong(pair, ERROR_RATE, levels)).toBeLessThan(ERROR_RATE)
    }
  })

  it('is wrong no more often than stated if the rates are estimated from thirty forks of each kind', () => {
    const random = seededRandom(3)
    const levels = new Levels(false)
    const { high, low } = levels
    const chances = levels.weights.slice()
    let wrong = 0
    let answered = 0
    for (let run = 0; run < 3000; run++) {
      const at = drawFrom(chances, random)
      const pair = { high: high[at]!, low: low[at]! }
      levels.refit(draw(pair.high, 30, random), draw(pair.low, 30, random))
      const asked = ask(pair, ERROR_RATE, levels, { questions: 2, random })
      wrong += asked.wrong
      answered += asked.answered
    }
    expect(answered).toBeGreaterThan(5000)
    expect(wrong / answered).toBeLessThan(ERROR_RATE)
  })

  it('is wrong far more often if it stops at the first sign', () => {
    const [, pair] = PAIRS as [unknown, (typeof PAIRS)[number]]
    const levels = knownLevels(pair)
    expect(shareWrong(pair, 0.3, levels)).toBeGreaterThan(5 * ERROR_RATE)
  })

  function knownLevels({ high, low }: RatePair): Levels {
    const levels = new Levels(false)
    const forks = 100_000
    levels.refit({ fails: high * forks, forks }, { fails: low * forks, forks })
    return levels
  }

  function shareWrong(pair: RatePair, errorRate: number, levels: Levels): number {
    const random = seededRandom(Math.round(pair.high * 1e4 + pair.low * 1e3))
    const { wrong, answered } = ask(pair, errorRate, levels, { questions: 4000, random })
    expect(answered).toBe(4000)
    return wrong / answered
  }

  /** Half of the coalitions hold a cause. A question that stays open is not answered. */
  function ask(
    { high, low }: RatePair,
    errorRate: number,
    levels: Levels,
    { questions, random }: { questions: number; random: () => number },
  ): { wrong: number; answered: number } {
    const bar = barOf(errorRate)
    let wrong = 0
    let answered = 0
    for (let question = 0; question < questions; question++) {
      const isCause = question % 2 === 0
      let fails = 0
      let forks = 0
      let ratio = 0
      while (Math.abs(ratio) < bar && forks < 300) {
        forks++
        if (random() < (isCause ? high : low)) fails++
        ratio = levels.logRatio({ fails, forks })
      }
      if (Math.abs(ratio) < bar) continue
      answered++
      if (ratio > 0 !== isCause) wrong++
    }
    return { wrong, answered }
  }

  function drawFrom(chances: Float64Array, random: () => number): number {
    let left = random()
    return Math.max(
      0,
      chances.findIndex((chance) => (left -= chance) < 0),
    )
  }

  function draw(rate: number, forks: number, random: () => number) {
    let fails = 0
    for (let at = 0; at < forks; at++) if (random() < rate) fails++
    return { fails, forks }
  }
})

describe('findings of the search itself', () => {
  it('show intervals that contain the truth, results as correct as stated, and no excess confidence', async () => {
    const seen = { rates: 0, wrong: 0, wilsonWrong: 0, decided: 0, decidedWrong: 0 }
    const named = { runs: 0, exact: 0, confidence: 0 }
    for (const noise of ['deterministic', 'noisy', 'hard'] as const)
      for (let seed = 0; seed < 80; seed++) {
        const model = randomModel(90_000 + seed, noise)
        const findings = await blameRun(model, { seed })
        for (const { rate, pinned, mode, fails } of findings.evidence) {
          if (mode !== 'free' || rate.forks === 0) continue
          const truth = trueRate(model, pinned)
          seen.rates++
          if (!holds(rate, truth)) seen.wrong++
          if (!holds(wilson(rate.fails, rate.forks), truth)) seen.wilsonWrong++
          if (fails === undefined) continue
          seen.decided++
          if (fails !== (truth === model.levels.withCause)) seen.decidedWrong++
        }
        if (findings.verdict !== 'attributed') continue
        named.runs++
        named.confidence += findings.confidence
        if (isExact(findings, model)) named.exact++
      }
    expect(seen.rates).toBeGreaterThan(2000)
    expect(seen.wrong / seen.rates).toBeLessThan(0.05)
    expect(seen.wilsonWrong).toBeGreaterThan(2 * seen.wrong)
    expect(seen.decided).toBeGreaterThan(2000)
    expect(seen.decidedWrong / seen.decided).toBeLessThan(0.01)
    const due = clopperPearson(named.exact, named.runs).high
    expect(named.confidence / named.runs).toBeLessThanOrEqual(due)
  })

  /** How often a coalition of a random model fails, from what was planted. */
  function trueRate({ truth, backups, echoes, levels }: PlantedModel, ranges: string): number {
    const pinned = new Set(stepsOf(ranges))
    const isFaulted =
      [truth, ...backups].some((cause) => cause.every((step) => pinned.has(step))) ||
      echoes.some((step) => pinned.has(step))
    return isFaulted ? levels.withCause : levels.without
  }

  const isExact = (findings: BlameFindings, { truth }: PlantedModel) =>
    causeIndexes(findings)[0]?.join() === truth.join()

  function stepsOf(ranges: string): number[] {
    return ranges
      .split(', ')
      .filter(Boolean)
      .flatMap((range) => {
        const [first = 0, last = first] = range.split('–').map((label) => Number(label) - 1)
        return Array.from({ length: last - first + 1 }, (_, place) => first + place)
      })
  }
})

describe('flip rates that are accepted', () => {
  const BASE_RATE = 0.05
  const FALSE_SHARE = 0.1

  it('are false in no more runs than stated if there is nothing to find', async () => {
    const { falseRuns, uncorrected } = await manyRuns(400, (seed) => flakyRun(seed, BASE_RATE, 30))
    expect(falseRuns).toBeLessThanOrEqual(FALSE_SHARE)
    // Without the correction for looking at many steps, one is believed nearly always.
    expect(uncorrected).toBeGreaterThan(0.8)
  })

  it('are false in no larger share than stated if there is something to find', async () => {
    const { falseShare, found } = await manyRuns(400, (seed) => {
      const causes = [3, 11, 17, 25]
      const structure = {
        name: 'four causes',
        stepCount: 30,
        faulty: causes,
        isFaulted: (values: readonly number[]) => causes.some((step) => values[step] === 1),
        levels: { withCause: 0.7, without: BASE_RATE },
        truth: causes,
      }
      return structuralModel(structure, seed)
    })
    expect(falseShare).toBeLessThanOrEqual(FALSE_SHARE)
    expect(found).toBeGreaterThan(0.9)
  })

  async function manyRuns(runs: number, modelOf: (seed: number) => PlantedModel) {
    const sum = { falseRuns: 0, uncorrected: 0, falseShare: 0, found: 0 }
    for (let seed = 0; seed < runs; seed++) {
      const model = modelOf(seed)
      const options = { forksPerStep: 10, baseRate: BASE_RATE, falseShare: FALSE_SHARE }
      const rates = await flipRates(model, options, new CountedForks(model))
      const isTrue = (step: number) => model.truth.includes(step)
      const believed = rates.flatMap((rate, step) => (rate.isBelieved ? [step] : []))
      const wrong = believed.filter((step) => !isTrue(step))
      if (wrong.length > 0) sum.falseRuns++
      if (rates.some(({ chance }, step) => chance <= FALSE_SHARE && !isTrue(step)))
        sum.uncorrected++
      sum.falseShare += wrong.length / Math.max(1, believed.length)
      sum.found += believed.filter(isTrue).length / Math.max(1, model.truth.length)
    }
    return {
      falseRuns: sum.falseRuns / runs,
      uncorrected: sum.uncorrected / runs,
      falseShare: sum.falseShare / runs,
      found: sum.found / runs,
    }
  }
})
