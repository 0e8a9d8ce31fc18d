import { expect, test } from 'vitest'
import { laneLines } from './timeline-data.js'

const linesOf = (...parameters: Parameters<typeof laneLines>): string[] =>
  laneLines(...parameters).map(({ name, depth }) => `${' '.repeat(depth)}${name}`)

test('a lane stands under the one it came from', () => {
  const lanes = [
    { id: 0, depth: 0 },
    { id: 1, parent: 0, depth: 1, name: 'researcher' },
    { id: 2, parent: 0, depth: 1 },
    { id: 3, parent: 1, depth: 2, name: 'reader' },
  ]
  expect(linesOf(lanes, [0, 1])).toEqual(['main', ' researcher', '  reader', ' lane 2'])
})

test('a lane that only rows know of is not left out', () => {
  expect(linesOf([{ id: 0, depth: 0 }], [0, 7, 7])).toEqual(['main', 'lane 7'])
})

test('lanes that name each other as parents are still all there', () => {
  const lanes = [
    { id: 1, parent: 2, depth: 1 },
    { id: 2, parent: 1, depth: 1 },
  ]
  expect(linesOf(lanes, [])).toEqual(['lane 1', 'lane 2'])
})
