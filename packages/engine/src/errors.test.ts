import { expect, test } from 'vitest'
import { mismatchTexts, ReplayDiverged } from './errors.js'

const diverged = (recorded: unknown, current: unknown) =>
  new ReplayDiverged({
    seq: 4,
    kind: 'different',
    code: 'call-differs',
    current: { type: 'request', method: 'POST', url: 'http://model/v1' },
    mismatches: [{ field: 'body messages[1].content', recorded, current }],
  }).message

test('a divergence shows an excerpt where the difference begins', () => {
  const same = 'x'.repeat(500)
  expect(diverged(`${same}old`, `${same}new`).split('\n').slice(1)).toEqual([
    '  body messages[1].content',
    `  - …${'x'.repeat(40)}old"`,
    `  + …${'x'.repeat(40)}new"`,
  ])
})

test('a divergence shows the types of values, and printed lines as they are', () => {
  expect(diverged('4.90', 4.9).split('\n').slice(2)).toEqual(['  - "4.90"', '  + 4.9'])
  const printed = { field: 'line 1', recorded: '504.90', current: '54.9', isPlain: true } as const
  expect(mismatchTexts(printed)).toEqual(['504.90', '54.9'])
})

test('a field that only one side has is shown on that side, other values as JSON', () => {
  expect(diverged(undefined, { n: 1 }).split('\n').slice(1)).toEqual([
    '  body messages[1].content',
    '  + {"n":1}',
  ])
})

test('long values are cut', () => {
  expect(diverged('a', 'b'.repeat(10_000)).length).toBeLessThan(600)
})
