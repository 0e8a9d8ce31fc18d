import { expect, test } from 'vitest'
import { foldAt } from './text-parts.js'

test('a short text is shown whole, and one that is a little too long', () => {
  expect(foldAt('short')).toBe(5)
  expect(foldAt('x'.repeat(4500))).toBe(4500)
})

test('a long text is cut after some characters or lines, whichever come first', () => {
  expect(foldAt('x'.repeat(20_000_000))).toBe(4000)
  expect(foldAt('line\n'.repeat(500))).toBe(60 * 5 - 1)
})
