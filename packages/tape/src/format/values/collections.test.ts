import { expect, test } from 'vitest'
import { setNewest, sumKnown } from './collections.js'

test('a map keeps its newest entries, and setting one again makes it the newest', () => {
  const map = new Map<string, number>()
  for (const [key, value] of Object.entries({ a: 1, b: 2 })) setNewest(map, key, value, 2)
  setNewest(map, 'a', 3, 2)
  setNewest(map, 'c', 4, 2)
  expect([...map]).toEqual([
    ['a', 3],
    ['c', 4],
  ])
})

test('a sum with an unknown part is unknown', () => {
  expect(sumKnown([])).toBe(0)
  expect(sumKnown([1, 2])).toBe(3)
  expect(sumKnown([1, undefined, 2])).toBeUndefined()
})
