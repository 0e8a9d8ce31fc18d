import { setPath } from '@retake/tape'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { changedPaths } from './plan-change.js'

test('changes are reported at the deepest paths that both sides have', () => {
  const before = { a: { b: [1, { c: 'x' }] }, same: 1 }
  expect(changedPaths(before, { a: { b: [1, { c: 'y' }] }, same: 1 })).toEqual({ 'a.b.1.c': 'y' })
  expect(changedPaths(before, before)).toEqual({})
})

test('an object with other keys, and a list of another length, is changed as a whole', () => {
  const before = { a: { b: 1 }, list: [1, 2] }
  expect(changedPaths(before, { a: { c: 1 }, list: [1] })).toEqual({ a: { c: 1 }, list: [1] })
  expect(changedPaths(before, { a: { b: 1 } })).toBeUndefined()
})

test('a value without parts is named as such', () => {
  expect(changedPaths(1, 2)).toEqual({ value: 2 })
  expect(changedPaths('a', { a: 1 })).toBeUndefined()
  expect(changedPaths({ a: 1 }, 1)).toBeUndefined()
})

test('too many changes are reported as one', () => {
  const list = Array.from({ length: 100 }, (_, index) => index)
  expect(changedPaths(list, list.toReversed())).toBeUndefined()
})

test('setting all paths makes one value the other', () => {
  const value = fc.jsonValue({ maxDepth: 4 })
  fc.assert(
    fc.property(value, value, fc.boolean(), (a, b, isAlike) => {
      const before = { keep: [1], 'odd.key "': a, 0: a }
      const after = isAlike
        ? { keep: [2], 'odd.key "': b, 0: a }
        : { keep: [1], 'odd.key "': b, 0: b }
      const paths = changedPaths(before, after)
      if (paths === undefined) return
      let made: unknown = before
      for (const [path, to] of Object.entries(paths)) made = setPath(made, path, to)
      expect(made).toEqual(after)
    }),
  )
})
