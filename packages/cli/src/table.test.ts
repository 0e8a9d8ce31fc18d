import { expect, test } from 'vitest'
import { table } from './table.js'

test('columns line up, the last one is cut to the width', () => {
  const rows = [
    ['a', 'long cell', 'x'],
    ['bbb', 'c', 'this text is too long for the width'],
  ]
  expect(table(rows, 30)).toEqual(['a    long cell  x', 'bbb  c          this text is …'])
})

test('colours take no room', () => {
  expect(
    table(
      [
        ['\u001B[31mred\u001B[0m', 'x'],
        ['green', 'y'],
      ],
      80,
    ),
  ).toEqual(['\u001B[31mred\u001B[0m    x', 'green  y'])
})
