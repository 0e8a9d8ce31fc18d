import { expect, test } from 'vitest'
import { NO_FILTER } from './row-filter.js'
import { filterOf, readRunSearch, searchOf } from './use-selection.js'

test('a filter is the same after it stood in an address', () => {
  const filter = {
    ...NO_FILTER,
    kinds: ['model' as const, 'tool' as const],
    states: ['in doubt' as const],
    lanes: [0, 3],
    tools: ['a, b'],
    costMin: 0.01,
    from: 0,
    to: 1500,
  }
  const address = JSON.parse(JSON.stringify(searchOf(filter))) as Record<string, unknown>
  expect(filterOf(readRunSearch(address))).toEqual(filter)
})

test('invalid parts of an address are ignored', () => {
  expect(
    readRunSearch({
      step: 3,
      kind: ['model', 'nonsense', 'model'],
      lane: ['1', 'x', -2],
      cost: 'much',
      from: -5,
      to: Infinity,
      list: 'everything',
      event: {},
      else: 1,
    }),
  ).toEqual({ step: '3', kind: 'model', lane: 1 })
})
