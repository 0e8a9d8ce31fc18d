import { describe, expect, it } from 'vitest'
import { betaQuantile, clopperPearson } from '../../test-support/clopper-pearson.js'
import { benjaminiHochberg, binomialTail } from './classic-view.js'
import { betaCdf, confidenceSequence, logBeta, logGamma, wilson } from './stats.js'

describe('the gamma and beta functions', () => {
  it('logGamma is the logarithm of factorials, and of the root of pi at a half', () => {
    expect(logGamma(6)).toBeCloseTo(Math.log(120), 12)
    expect(logGamma(0.5)).toBeCloseTo(Math.log(Math.sqrt(Math.PI)), 12)
    expect(logGamma(171)).toBeCloseTo(706.5730622457874, 9)
    expect(logBeta(0.5, 0.5)).toBeCloseTo(Math.log(Math.PI), 12)
  })

  it('betaCdf agrees with the cases that have a closed form', () => {
    for (const x of [0.01, 0.2, 0.5, 0.77, 0.999]) {
      expect(betaCdf(x, 1, 1)).toBeCloseTo(x, 12)
      expect(betaCdf(x, 3, 1)).toBeCloseTo(x ** 3, 12)
      expect(betaCdf(x, 1, 4)).toBeCloseTo(1 - (1 - x) ** 4, 12)
      expect(betaCdf(x, 0.5, 0.5)).toBeCloseTo((2 / Math.PI) * Math.asin(Math.sqrt(x)), 12)
    }
  })

  it('betaQuantile undoes betaCdf', () => {
    for (const [a, b] of [
      [0.5, 0.5],
      [2, 9],
      [60, 3],
      [400, 600],
    ] as const)
      for (const probability of [0.001, 0.025, 0.5, 0.975])
        expect(betaCdf(betaQuantile(probability, a, b), a, b)).toBeCloseTo(probability, 9)
  })
})

describe('binomialTail', () => {
  it('is the sum of the terms from there on', () => {
    for (const forks of [1, 3, 10, 40])
      for (const rate of [0.05, 0.3, 0.9]) {
        let sum = 0
        for (let fails = forks; fails >= 1; fails--) {
          sum += choose(forks, fails) * rate ** fails * (1 - rate) ** (forks - fails)
          expect(binomialTail(fails, forks, rate)).toBeCloseTo(sum, 10)
        }
      }
    expect(binomialTail(0, 5, 0.1)).toBe(1)
    expect(binomialTail(6, 5, 0.1)).toBe(0)
  })
})

describe('intervals', () => {
  it('Clopper-Pearson gives the published bounds', () => {
    expect(clopperPearson(3, 3)).toEqual({ low: expect.closeTo(0.2924, 4), high: 1 })
    expect(clopperPearson(0, 10)).toEqual({ low: 0, high: expect.closeTo(0.3085, 4) })
    expect(clopperPearson(10, 10).low).toBeCloseTo(0.6915, 4)
    expect(clopperPearson(5, 20)).toEqual({
      low: expect.closeTo(0.0866, 4),
      high: expect.closeTo(0.491, 4),
    })
  })

  it('Wilson gives the published bounds', () => {
    expect(wilson(3, 3)).toEqual({ low: expect.closeTo(0.4385, 4), high: 1 })
    expect(wilson(10, 10).low).toBeCloseTo(0.7225, 4)
    expect(wilson(5, 20)).toEqual({
      low: expect.closeTo(0.1119, 4),
      high: expect.closeTo(0.4687, 4),
    })
  })

  it('the confidence sequence is exact where it has a closed form', () => {
    // All of three failed: p ** 3 = 0.05 * B(3.5, 0.5) / pi = 0.05 * 5 / 16.
    expect(confidenceSequence(3, 3)).toEqual({ low: expect.closeTo(0.25, 9), high: 1 })
    expect(confidenceSequence(0, 3)).toEqual({ low: 0, high: expect.closeTo(0.75, 9) })
  })

  it('are symmetric, contain the observed rate, and cover everything at first', () => {
    for (const interval of [wilson, clopperPearson, confidenceSequence]) {
      expect(interval(0, 0)).toEqual({ low: 0, high: 1 })
      for (let forks = 1; forks <= 30; forks++)
        for (let fails = 0; fails <= forks; fails++) {
          const { low, high } = interval(fails, forks)
          const mirrored = interval(forks - fails, forks)
          expect(low).toBeLessThanOrEqual(fails / forks)
          expect(high).toBeGreaterThanOrEqual(fails / forks)
          expect(low).toBeCloseTo(1 - mirrored.high, 9)
        }
    }
  })

  it('the confidence sequence is never narrower than an interval for a fixed number of forks', () => {
    for (let forks = 1; forks <= 300; forks += 7)
      for (let fails = 0; fails <= forks; fails += 3) {
        const watched = confidenceSequence(fails, forks)
        const fixed = wilson(fails, forks)
        expect(watched.high - watched.low).toBeGreaterThan(fixed.high - fixed.low)
      }
  })
})

describe('benjaminiHochberg', () => {
  it('believes up to the last chance under its bar, also past one that is over its own', () => {
    expect(benjaminiHochberg([0.01, 0.04, 0.03, 0.9], 0.05)).toEqual([true, false, false, false])
    expect(benjaminiHochberg([0.02, 0.9, 0.024, 0.025], 0.05)).toEqual([true, false, true, true])
    expect(benjaminiHochberg([0.2, 0.9], 0.05)).toEqual([false, false])
    expect(benjaminiHochberg([], 0.05)).toEqual([])
  })
})

function choose(total: number, taken: number): number {
  let ways = 1
  for (let at = 1; at <= taken; at++) ways = (ways * (total - taken + at)) / at
  return ways
}
