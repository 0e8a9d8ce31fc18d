import { expect, test } from 'vitest'
import { matchesText } from './name-pattern.js'

test.each([
  ['*', '', true],
  ['*', 'anything\nat all', true],
  ['--file=*', '--file=', true],
  ['--file=*', '--file', false],
  ['a*b', 'ab', true],
  ['a*a', 'a', false],
  ['a*b*c', 'a.b.b.c', true],
  ['a*b*c', 'a.c.b', false],
  ['*.txt', '.txt', true],
  ['a**b', 'a-b', true],
  ['a.c', 'abc', false],
])('%j and %j: %j', (pattern, text, expected) => {
  expect(matchesText(pattern, text)).toBe(expected)
})

test('many stars take no time', () => {
  expect(matchesText(`${'a*'.repeat(40)}b`, 'a'.repeat(50_000))).toBe(false)
})
