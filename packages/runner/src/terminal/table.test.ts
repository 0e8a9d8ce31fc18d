import { expect, test } from 'vitest'
import { tableLines } from './terminal.js'

test('columns line up, the last one is cut to the width', () => {
  const rows = [
    ['a', 'long cell', 'x'],
    ['bbb', 'c', 'this text is too long for the width'],
  ]
  expect(tableLines(rows, 30)).toEqual(['a    long cell  x', 'bbb  c          this text is …'])
})

test('colours take no room', () => {
  expect(
    tableLines(
      [
        ['\u001B[31mred\u001B[0m', 'x'],
        ['green', 'y'],
      ],
      80,
    ),
  ).toEqual(['\u001B[31mred\u001B[0m    x', 'green  y'])
})

test('columns that can be spared go first, in their order, until the last one has room', () => {
  const rows = [
    ['run', 'when', 'steps', 'name'],
    ['r-1', '01:43:54', '12', 'a refund agent'],
  ]
  expect(tableLines(rows, 34, [1, 2])[1]).toBe('r-1  01:43:54  12     a refund ag…')
  expect(tableLines(rows, 33, [1, 2])).toEqual(['run  steps  name', 'r-1  12     a refund agent'])
  expect(tableLines(rows, 20, [1, 2])).toEqual(['run  name', 'r-1  a refund agent'])
  expect(tableLines(rows, 18, [2, 1])).toEqual(['run  name', 'r-1  a refund age…'])
})
