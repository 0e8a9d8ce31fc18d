import { expect, test } from 'vitest'
import { valueAt } from './edited-note.js'

test.each([
  ['price', null],
  ['items.0.sku', 'A1'],
  ['items[0].sku', 'A1'],
  ['items', [{ sku: 'A1' }]],
  ['items.1', undefined],
  ['toString', undefined],
])('the value at %s', (path, value) => {
  const text = '{"price":null,"items":[{"sku":"A1"}]}'
  expect(valueAt({ form: 'json', text }, path)).toEqual(value)
})
