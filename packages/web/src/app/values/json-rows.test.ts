import { expect, test } from 'vitest'
import { keysWithin } from './field-path.js'
import {
  allNodes,
  jsonRows,
  nodesTo,
  openAtFirst,
  rowPath,
  describeLine,
  describeTree,
} from './json-tree.js'

const linesOf = (json: unknown) => {
  const tree = describeTree(json)
  return jsonRows(tree, openAtFirst(tree)).map(({ item: { key, value }, isOpen }) =>
    isOpen === undefined
      ? `${key}: ${String(value)}`
      : `${key} ${Object.keys(value as object).length}`,
  )
}

test('a value that JSON cannot represent is one line of text', () => {
  expect(
    linesOf({
      call: { $type: 'function', name: 'ask' },
      tool: { $type: 'function', name: '' },
      rest: { $type: 'cut', of: '5 more' },
      none: { $type: 'undefined' },
      big: { $type: 'bigint', value: '12' },
      when: { $type: 'Date', value: '2026-11-15' },
      response: { $type: 'Response' },
    }),
  ).toEqual([
    'undefined 7',
    'call: function ask',
    'tool: function',
    'rest: (5 more)',
    'none: undefined',
    'big: 12n',
    'when: 2026-11-15',
    'response: Response {}',
  ])
})

test('a value with members stays a node, and its copy is the captured value', () => {
  const json = { map: { $type: 'Map', entries: [['a', { $type: 'undefined' }]] } }
  expect(linesOf(json)).toEqual([
    'undefined 1',
    'map 2',
    '$type: Map',
    'entries 1',
    '0 2',
    '0: a',
    '1: undefined',
  ])
  expect(JSON.parse(JSON.stringify(describeTree(json)))).toEqual(json)
})

test('in one line it is JSON, with words where JSON has none', () => {
  expect(
    describeLine({ a: [1, { $type: 'cut', of: 'object' }], 'b c': { $type: 'undefined' } }),
  ).toBe('{"a":[1,{…}],"b c":undefined}')
})

const VALUE = { a: [1, { 'x.y': 'deep' }], b: {}, c: null }

test('open values are followed by their members', () => {
  const rows = jsonRows(VALUE, allNodes(VALUE))
  expect(rows.map(({ item: { key }, depth, of, isOpen }) => [key, depth, of, isOpen])).toEqual([
    [undefined, 0, 1, true],
    ['a', 1, 3, true],
    ['0', 2, 2, undefined],
    ['1', 2, 2, true],
    ['x.y', 3, 1, undefined],
    ['b', 1, 3, undefined],
    ['c', 1, 3, undefined],
  ])
  expect(jsonRows(VALUE, new Set([VALUE])).map(({ item: { key } }) => key)).toEqual([
    undefined,
    'a',
    'b',
    'c',
  ])
})

test('a row has a path, and the path leads back to it', () => {
  const row = jsonRows(VALUE, allNodes(VALUE)).find(({ item: { key } }) => key === 'x.y')
  const path = row && rowPath(row, 'args')
  expect(path).toBe('args.a.1."x.y"')
  const keys = keysWithin('args', path)
  expect(keys).toEqual(['a', '1', 'x.y'])
  expect(nodesTo(VALUE, keys ?? [])).toEqual([VALUE, VALUE.a, VALUE.a[1]])
})

test('a value nested ten thousand deep is read, and opened only so far', () => {
  const deep = JSON.parse(`${'['.repeat(10_000)}${']'.repeat(10_000)}`) as unknown
  expect(jsonRows(deep, allNodes(deep)).length).toBe(10_000)
  expect(openAtFirst(deep).size).toBeLessThanOrEqual(80)
})

test('of a list of a hundred thousand, the list is open and nothing in it', () => {
  const many = Array.from({ length: 100_000 }, () => ({ id: 1 }))
  expect(jsonRows(many, openAtFirst(many)).length).toBe(100_001)
})

test('a value cut or omitted by a limit is one row, not an object', () => {
  const value = [{ $clipped: { head: 'abc', length: 9 } }, { $leftOut: 12 }]
  expect(jsonRows(value, allNodes(value)).map(({ isOpen }) => isOpen)).toEqual([
    true,
    undefined,
    undefined,
  ])
})
