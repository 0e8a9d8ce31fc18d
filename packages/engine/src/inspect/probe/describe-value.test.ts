import { expect, test, vi } from 'vitest'
import { describeValue, printDescribed } from './describe-value.js'
import { GLANCE } from './frame-reader.js'

class Cart {
  readonly items = ['tea']
  readonly #secret = 1
  get total(): number {
    return this.#secret
  }
}

const circular: Record<string, unknown> = { name: 'a' }
circular['self'] = circular

test.each([
  ['plain data', { a: 1, b: [true, null, 'x'] }, "{ a: 1, b: [true, null, 'x'] }"],
  [
    'what JSON has no word for',
    [undefined, -0, Number.NaN, 3n, Symbol('s')],
    '[undefined, -0, NaN, 3n, Symbol(s)]',
  ],
  ['dates and patterns', [new Date(0), /a+/g], '[1970-01-01T00:00:00.000Z, /a+/g]'],
  ['maps', new Map([['k', { v: 1 }]]), "Map { 'k' => { v: 1 } }"],
  ['sets', new Set([1, 2]), 'Set { 1, 2 }'],
  ['instances of classes', new Cart(), "Cart { items: ['tea'] }"],
  ['errors', new TypeError('no'), "TypeError { message: 'no' }"],
  ['bytes', Buffer.from('hi'), 'Buffer(2) 6869'],
  ['objects without a prototype', Object.create(null), '{}'],
  ['functions', describeValue, 'function describeValue'],
  ['circles', circular, "{ name: 'a', self: (circular) }"],
  ['names that need quotes', { 'a-b': 1 }, "{ 'a-b': 1 }"],
  ['quotes in text', ["it's", '"both\''], `["it's", '"both\\'']`],
])('%s are described and printed', (_what, value, printed) => {
  const { json, cut } = describeValue(value, GLANCE)
  expect(printDescribed(json)).toBe(printed)
  expect(cut).toBe(false)
  expect(JSON.parse(JSON.stringify(json))).toEqual(json)
})

test('no agent code runs: getters, proxies and toJSON are not called', () => {
  const touched = vi.fn<() => unknown>()
  const traps = new Proxy({}, { get: () => touched, ownKeys: () => touched() as never })
  const value = {
    get expensive() {
      touched()
      return 1
    },
    traps,
    toJSON: touched,
  }
  const { json } = describeValue(value, GLANCE)
  expect(json).toEqual({
    expensive: { $type: 'getter' },
    traps: { $type: 'Proxy' },
    toJSON: expect.objectContaining({ $type: 'function' }),
  })
  expect(touched).not.toHaveBeenCalled()
})

test('limits cut depth, entries, text and the number of values, and say so', () => {
  const limits = { depth: 2, items: 2, characters: 3, values: 100 }
  expect(describeValue({ a: { b: { c: 1 } } }, limits)).toEqual({
    type: 'object',
    json: { a: { b: { $type: 'cut', of: 'object' } } },
    cut: true,
  })
  expect(describeValue([1, 2, 3], limits).json).toEqual([1, 2, { $type: 'cut', of: '1 more' }])
  expect(describeValue('abcdef', limits).json).toBe('abc… (6 characters)')
  const many = Array.from({ length: 50 }, () => [1, 2, 3])
  expect(describeValue(many, { ...GLANCE, values: 20 }).cut).toBe(true)
})

test('a property named __proto__ stays a property', () => {
  const value = JSON.parse('{"__proto__": {"a": 1}}') as unknown
  expect(JSON.stringify(describeValue(value, GLANCE).json)).toBe('{"__proto__":{"a":1}}')
})

test('a printed value is not longer than the limit', () => {
  const { json } = describeValue({ text: 'x'.repeat(500), more: [1, 2, 3] }, GLANCE)
  expect(printDescribed(json, 40)).toHaveLength(40)
})
