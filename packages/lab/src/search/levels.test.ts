import { expect, test } from 'vitest'
import { Levels } from './levels.js'

test('rates are read from coalitions with a cause and coalitions without', () => {
  const levels = new Levels(false)
  levels.refit({ fails: 61, forks: 100 }, { fails: 9, forks: 100 })
  expect(levels.meanHigh).toBeCloseTo(0.6, 1)
  expect(levels.meanLow).toBeCloseTo(0.08, 1)
})

test('a coalition is read as the rate that is nearer, the more forks the surer', () => {
  const levels = new Levels(false)
  levels.refit({ fails: 60, forks: 100 }, { fails: 5, forks: 100 })
  expect(levels.logRatio({ fails: 6, forks: 10 })).toBeGreaterThan(5)
  expect(levels.logRatio({ fails: 0, forks: 10 })).toBeLessThan(-5)
  expect(levels.logRatio({ fails: 12, forks: 20 })).toBeGreaterThan(
    levels.logRatio({ fails: 6, forks: 10 }),
  )
})

test('thousands of forks do not underflow', () => {
  const levels = new Levels(false)
  levels.refit({ fails: 9000, forks: 10_000 }, { fails: 100, forks: 10_000 })
  expect(levels.meanHigh).toBeCloseTo(0.9)
  expect(Number.isFinite(levels.logRatio({ fails: 4000, forks: 9000 }))).toBe(true)
})

test('where nothing is left to chance one fork decides', () => {
  const levels = new Levels(true)
  expect(levels.logRatio({ fails: 1, forks: 1 })).toBeGreaterThan(20)
  expect(levels.logRatio({ fails: 0, forks: 1 })).toBeLessThan(-20)
})
