import { expect, test } from 'vitest'
import { otherValues } from './fields.js'

test.each([
  ['4.90', [4.9, '']],
  ['true', [true, '']],
  ['007', ['']],
  ['lamp', ['']],
  [4.9, [0, 49, '4.9']],
  [0, [1, 100, '0']],
  [false, [true]],
  [null, []],
])('a field is also tried with another type: %j', (value, others) => {
  expect(otherValues(value)).toEqual(others)
})
