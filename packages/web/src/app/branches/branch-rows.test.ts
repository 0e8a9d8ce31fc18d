import { expect, test } from 'vitest'
import type { BranchNodeView } from '../../api/run-repository.js'
import { branchRows, countRuns } from './branch-rows.js'

const node = (id: string, ...branches: BranchNodeView[]): BranchNodeView => ({
  id,
  name: id,
  branches,
})

const tree = node('first', node('a', node('a1'), node('a2')), node('b'))

test('rows are in order, each with its position among its siblings', () => {
  const rows = branchRows(tree, new Set())
  expect(rows.map(({ node: { id }, depth, index, of }) => [id, depth, index, of])).toEqual([
    ['first', 0, 1, 1],
    ['a', 1, 1, 2],
    ['a1', 2, 1, 2],
    ['a2', 2, 2, 2],
    ['b', 1, 2, 2],
  ])
})

test('a rail continues as long as a later sibling needs it', () => {
  const rows = branchRows(tree, new Set())
  expect(rows.map(({ rails }) => rails)).toEqual([[], [true], [true, true], [true, false], [false]])
})

test('rows below a collapsed run are missing', () => {
  const rows = branchRows(tree, new Set(['a']))
  expect(rows.map(({ node: { id }, isOpen }) => [id, isOpen])).toEqual([
    ['first', true],
    ['a', false],
    ['b', undefined],
  ])
})

test('a chain of ten thousand branches is no problem', () => {
  let chain = node('last')
  for (let depth = 0; depth < 10_000; depth++) chain = node(`${depth}`, chain)
  expect(countRuns(chain)).toBe(10_001)
})
