import { expect, test } from 'vitest'
import { ArgumentPath, pathProblem, argumentText, UNREADABLE } from './argument-path.js'

const args = {
  amount: 5,
  'a.b': 'dotted',
  '*': 'star',
  items: [{ sku: 'x', url: 'u1' }, { sku: 'y' }, { note: null }],
  deep: { er: { url: 'u2', list: ['a', ['b']] } },
  map: new Map([['key', { url: 'u3' }]]),
  set: new Set(['s']),
}

const valuesAt = (path: string, value: unknown = args): unknown[] => {
  const found: unknown[] = []
  new ArgumentPath(path).each(value, (each) => void found.push(each))
  return found
}

test.each<[string, unknown[]]>([
  ['amount', [5]],
  ['items.0.sku', ['x']],
  ['items[1].sku', ['y']],
  ['items[*].sku', ['x', 'y', undefined]],
  ['items.*.sku', ['x', 'y', undefined]],
  ['items.*.note', [undefined, undefined, null]],
  ['**.url', ['u1', 'u2', 'u3']],
  ['deep.**.url', ['u2']],
  ['deep.**', ['u2', 'a', 'b']],
  ['a\\.b', ['dotted']],
  ['\\*', ['star']],
  ['map.key.url', ['u3']],
  ['set.0', ['s']],
  ['missing', [undefined]],
  ['missing.*.x', [undefined]],
  ['amount.*', []],
  ['constructor', [undefined]],
])('%s reaches %j', (path, expected) => {
  expect(valuesAt(path)).toEqual(expected)
})

test.each<[string, unknown, unknown[]]>([
  ['items.sku', args, ['x', 'y', undefined]],
  ['amount', '{"amount":5000}', [5000]],
  ['amount', [{ amount: 1 }, { amount: 5000 }], [1, 5000]],
  ['items.*.price', { items: '[{"price":7}]' }, [7]],
])('%s looks through lists and JSON texts in %j', (path, value, expected) => {
  expect(valuesAt(path, value)).toEqual(expected)
})

test.each(['amount', '**.amount', '**'])('%s ends in deep values', (path) => {
  const depth = 100_000
  const text = `${'['.repeat(depth)}${']'.repeat(depth)}`
  expect(valuesAt(path, text)).toContain(UNREADABLE)
  expect(valuesAt(path, JSON.parse(text))).toContain(UNREADABLE)
})

test('a path may speak of the arguments themselves', () => {
  expect(valuesAt('.', 'text')).toEqual(['text'])
  expect(valuesAt('**', ['a', 1])).toEqual(['a', 1])
})

test('paths are shown as people write them', () => {
  const places: string[] = []
  new ArgumentPath('**.url').each(args, (_, at) => void places.push(argumentText(at)))
  expect(places).toEqual(['items[0].url', 'deep.er.url', 'map.key.url'])
})

test.each(['', 'a..b', 'a[b]', 'a[', 'x*.y', '.a', 'a.', '**.**.**'])(
  '"%s" is not a path',
  (path) => {
    expect(pathProblem(path)).toBeTypeOf('string')
  },
)

test.each(['.', 'a', 'a.b[0].c', '**', '**.url', '*', 'a\\*b', '[0].x'])(
  '"%s" is a path',
  (path) => {
    expect(pathProblem(path)).toBeUndefined()
  },
)
