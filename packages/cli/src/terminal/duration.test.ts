import { expect, test } from 'vitest'
import { duration } from './duration.js'

test.each([
  [0, '0 ms'],
  [0.4, '0 ms'],
  [38.2, '38 ms'],
  [130, '0.13 s'],
  [994, '0.99 s'],
  [999, '1.0 s'],
  [1234, '1.2 s'],
  [9949, '9.9 s'],
  [12_400, '12 s'],
  [59_900, '1 min 0 s'],
  [184_000, '3 min 4 s'],
])('%d ms is said as %s', (ms, said) => {
  expect(duration(ms)).toBe(said)
})
