import fc from 'fast-check'
import { expect, test } from 'vitest'
import { minimalRepair, randomRepair, someRepairs } from './step-set.js'
import { seededRandom } from './seeded-random.js'

const anyCauses = fc.array(
  fc
    .uniqueArray(fc.integer({ min: 0, max: 7 }), { minLength: 1, maxLength: 3 })
    .map((steps) => steps.toSorted((a, b) => a - b)),
  { maxLength: 5 },
)

const repairs = (causes: readonly (readonly number[])[], steps: readonly number[]) =>
  causes.every((cause) => cause.some((step) => steps.includes(step)))

test('a repair contains one step of each cause, and no smaller set does', () => {
  fc.assert(
    fc.property(anyCauses, (causes) => {
      const found = minimalRepair(causes)
      expect(repairs(causes, found)).toBe(true)
      const smaller = Array.from({ length: 256 }, (_, mask) =>
        [0, 1, 2, 3, 4, 5, 6, 7].filter((step) => (mask >> step) & 1),
      ).filter((steps) => steps.length < found.length)
      expect(smaller.some((steps) => repairs(causes, steps))).toBe(false)
    }),
  )
})

test('repairs to try are different, and each of them repairs', () => {
  fc.assert(
    fc.property(anyCauses, fc.integer(), (causes, seed) => {
      const random = seededRandom(seed)
      const some = someRepairs(causes, 3, random)
      expect(new Set(some.map((steps) => steps.join())).size).toBe(some.length)
      for (const steps of [...some, randomRepair(causes, random)]) {
        expect(repairs(causes, steps)).toBe(true)
      }
    }),
  )
})

test('where ways to repair are few, all of them are tried', () => {
  expect(someRepairs([[1, 4, 6]], 3, () => 0)).toEqual([[1], [4], [6]])
})
