import { expect, test } from 'vitest'
import { readAddress, writeAddress } from '../../sources/address.js'
import { readRunSearch } from './use-selection.js'

test('a filter is the same after it stood in an address', () => {
  const filter = {
    kind: ['model', 'tool'],
    state: ['in doubt'],
    lane: [0, 3],
    tool: ['a, b'],
    model: ['[x]'],
    cost: 0.01,
    from: 0,
    to: 1500,
  }
  expect(readRunSearch(readAddress(writeAddress(filter)))).toEqual(filter)
  expect(writeAddress({ kind: ['model'] })).toBe('?kind=model')
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
  ).toEqual({ step: '3', kind: ['model'], lane: [1] })
})
