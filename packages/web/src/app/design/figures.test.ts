import { expect, test } from 'vitest'
import { clock, cost, duration, plural } from './figures.js'

test.each([
  [0, '0 ms'],
  [0.352, '0.35 ms'],
  [38.4, '38 ms'],
  [245, '0.24 s'],
  [1249, '1.2 s'],
  [59_400, '59 s'],
  [184_000, '3 min 4 s'],
  [7_500_000, '2 h 5 min'],
])('%s ms took %s', (ms, text) => {
  expect(duration(ms)).toBe(text)
})

test.each([
  [245, '0.245 s'],
  [12_300, '12.30 s'],
  [245_100, '4:05.1'],
  [7_445_300, '2:04:05.3'],
])('%s ms after the start is at %s', (ms, text) => {
  expect(clock(ms)).toBe(text)
})

test('what costs something is never shown as nothing', () => {
  expect([0, 0.000001, 0.00213, 1.5].map(cost)).toEqual(['$0', '<$0.00001', '$0.00213', '$1.50'])
})

test('counts have their thousands set apart, and one is one', () => {
  expect(plural(1, 'step')).toBe('1 step')
  expect(plural(12_345, 'step')).toBe('12,345 steps')
  expect(plural(2, 'branch', 'branches')).toBe('2 branches')
})
