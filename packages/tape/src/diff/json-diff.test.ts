import fc from 'fast-check'
import { expect, test } from 'vitest'
import { diffJson } from './json-diff.js'

test('differences are reported by path', () => {
  const a = { id: 1, order: { items: [{ name: 'Kettle' }], 'odd key': true } }
  const b = { id: 1, order: { items: [{ name: 'Pot' }], 'odd key': false }, more: null }
  expect(diffJson(a, b)).toEqual([
    { path: 'order.items[0].name', a: 'Kettle', b: 'Pot' },
    { path: 'order["odd key"]', a: true, b: false },
    { path: 'more', b: null },
  ])
})

test('an item put into an array is one difference', () => {
  expect(diffJson([1, 2, 3, 4], [1, 2, 9, 3, 4], 'list')).toEqual([{ path: 'list[2]', b: 9 }])
  expect(diffJson([1, 2, 3], [2, 3], 'list')).toEqual([{ path: 'list[0]', a: 1 }])
})

test('text that is JSON on both sides is compared as JSON', () => {
  expect(diffJson('{"days":60,"x":1}', '{"days":30,"x":1}', 'content')).toEqual([
    { path: 'content » days', a: 60, b: 30 },
  ])
  expect(diffJson('{"days":60}', 'none', 'content')).toHaveLength(1)
})

test('the same JSON written in another way is another text', () => {
  expect(diffJson('{"a":1}', '{ "a": 1 }', 'text')).toEqual([
    { path: 'text', a: '{"a":1}', b: '{ "a": 1 }' },
  ])
})

test('there is a difference exactly when the values differ, the same both ways', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
      const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
      const [left, right] = [plain(a), plain(b)]
      expect(diffJson(left, left)).toEqual([])
      expect(diffJson(left, right).length === 0).toBe(isEqual(left, right))
      expect(
        diffJson(right, left)
          .map(({ path }) => path)
          .toSorted(),
      ).toEqual(
        diffJson(left, right)
          .map(({ path }) => path)
          .toSorted(),
      )
    }),
  )
})

/** What vitest calls equal, as a boolean. */
const isEqual = (a: unknown, b: unknown): boolean => {
  try {
    expect(a).toEqual(b)
    return true
  } catch {
    return false
  }
}
