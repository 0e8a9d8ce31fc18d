import { expect, test } from 'vitest'
import { jsonRows, openAtFirst } from './json-rows.js'
import { spokenLine, spokenTree } from './json-rows.js'

const linesOf = (json: unknown) => {
  const tree = spokenTree(json)
  return jsonRows(tree, openAtFirst(tree)).map(({ key, value, size }) =>
    size === undefined ? `${key}: ${String(value)}` : `${key} ${size}`,
  )
}

test('what JSON has no form for is one line, in words', () => {
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

test('what has members stays a node, and a copy is what was captured', () => {
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
  expect(JSON.parse(JSON.stringify(spokenTree(json)))).toEqual(json)
})

test('in one line it is JSON, with words where JSON has none', () => {
  expect(
    spokenLine({ a: [1, { $type: 'cut', of: 'object' }], 'b c': { $type: 'undefined' } }),
  ).toBe('{"a":[1,{…}],"b c":undefined}')
})
