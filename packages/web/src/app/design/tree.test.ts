import { expect, test } from 'vitest'
import { type TreeRow, treeRows } from './tree.js'

interface Node {
  readonly id: string
  readonly parts: readonly Node[]
}

const node = (id: string, ...parts: Node[]): Node => ({ id, parts })

const rowsOf = (root: Node, closed: ReadonlySet<string> = new Set()): TreeRow<Node>[] =>
  treeRows(root, {
    isOpen: ({ id, parts }) => (parts.length === 0 ? undefined : !closed.has(id)),
    partsOf: ({ parts }) => parts,
  })

const tree = node('first', node('a', node('a1'), node('a2')), node('b'))

test('rows are in order, each with its position among its siblings', () => {
  const rows = rowsOf(tree)
  expect(
    rows.map(({ item: { id }, depth, index, of, parent }) => [
      id,
      depth,
      index,
      of,
      parent?.item.id,
    ]),
  ).toEqual([
    ['first', 0, 1, 1, undefined],
    ['a', 1, 1, 2, 'first'],
    ['a1', 2, 1, 2, 'a'],
    ['a2', 2, 2, 2, 'a'],
    ['b', 1, 2, 2, 'first'],
  ])
})

test('rows below a collapsed item are missing', () => {
  expect(rowsOf(tree, new Set(['a'])).map(({ item: { id }, isOpen }) => [id, isOpen])).toEqual([
    ['first', true],
    ['a', false],
    ['b', undefined],
  ])
})

test('a chain of ten thousand items is no problem', () => {
  let chain = node('last')
  for (let depth = 0; depth < 10_000; depth++) chain = node(`${depth}`, chain)
  expect(rowsOf(chain)).toHaveLength(10_001)
})
