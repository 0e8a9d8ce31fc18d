import fc from 'fast-check'
import { expect, test } from 'vitest'
import { includesAll, rangesText, union, upTo, without } from './step-set.js'

const anySteps = fc
  .uniqueArray(fc.integer({ min: 0, max: 30 }))
  .map((steps) => steps.toSorted((a, b) => a - b))

test('union and without are those of sets, in rising order', () => {
  fc.assert(
    fc.property(anySteps, anySteps, (first, second) => {
      const both = union(first, second)
      expect(both).toEqual([...new Set([...first, ...second])].toSorted((a, b) => a - b))
      expect(without(both, second)).toEqual(first.filter((step) => !second.includes(step)))
      expect(includesAll(both, first)).toBe(true)
    }),
  )
})

test('different sets have different ranges, and people can read them', () => {
  fc.assert(
    fc.property(anySteps, anySteps, (first, second) => {
      expect(rangesText(first) === rangesText(second)).toBe(first.join() === second.join())
    }),
  )
  expect(rangesText([0, 1, 2, 3, 4, 7])).toBe('0-4,7')
  expect(rangesText(upTo(-1))).toBe('')
})
