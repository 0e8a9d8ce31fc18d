import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import { runInNewContext, runInThisContext } from 'node:vm'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeBody, encodeBody } from '../event-body.js'
import { fromWire } from './from-wire.js'
import { plainJson } from './plain-json.js'
import { stableStringify, wireEqual } from './stable-stringify.js'
import { toWire } from './to-wire.js'

const throughJson = (value: unknown): unknown => fromWire(JSON.parse(JSON.stringify(toWire(value))))

/** Some versions of Node do not treat two invalid dates as equal; a separate test covers them. */
const hasInvalidDate = (value: unknown): boolean =>
  inspect(value, { depth: null, maxArrayLength: null }).includes('Invalid Date')

const anyValue = fc
  .anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withNullPrototype: true,
    withTypedArray: true,
    withUnicodeString: true,
    withBoxedValues: false,
    withSparseArray: false,
    key: fc.oneof(fc.string(), fc.constantFrom('$', 'v', '__proto__', 'constructor', 'toJSON')),
  })
  .filter((value) => !hasInvalidDate(value))

const losses = (value: unknown): string[] => {
  const found: string[] = []
  toWire(value, { onLoss: (path, what) => found.push(`${path}: ${what}`) })
  return found
}

describe('wire values', () => {
  test('come back equal after a trip through JSON', () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        assert.deepEqual(throughJson(value), value)
        expect(losses(value)).toEqual([])
      }),
      { numRuns: 500 },
    )
  })

  test('of another realm are stored as those of this one', () => {
    const source =
      '({ date: new (class Mine extends Date {})(5), map: new Map([[1, 2]]), set: new Set([1]), pattern: /x/g, list: [1, {}], error: new TypeError("no") })'
    const theirs = runInNewContext(source) as object
    const ours = runInThisContext(source) as object
    const wire = toWire(theirs) as { error: { v: { stack: string } } }
    const { stack: _, ...error } = wire.error.v
    expect(error).toEqual({ class: 'TypeError', name: 'TypeError', message: 'no' })
    expect({ ...wire, error }).toEqual({ ...(toWire(ours) as object), error })
    expect(losses(theirs)).toEqual([])
  })

  test('an invalid date stays one', () => {
    expect((throughJson(new Date(Number.NaN)) as Date).getTime()).toBeNaN()
  })

  test.each([
    [undefined],
    [Number.NaN],
    [-0],
    [Number.NEGATIVE_INFINITY],
    [2n ** 80n],
    ['\ud800 lone'],
    [new Date(Number.NaN)],
    [/a\/b/giu],
    [new URL('https://user@example.test/a?b#c')],
    [new Uint8Array([1, 2, 255])],
    [Buffer.from('tape')],
    [new Float64Array([Math.PI, -0])],
    [new BigInt64Array([-1n])],
    [new DataView(new ArrayBuffer(3))],
    [new Uint8Array([9, 8, 7]).buffer],
    [Symbol.for('shared')],
    [Object.assign(Object.create(null), { a: 1 })],
    [{ $: 'bigint', v: 'not a tag' }],
    [{ $: { $: 'undefined' } }],
    [new Map<unknown, unknown>([[{ k: 1 }, new Set([undefined])]])],
    [[undefined, null, [Number.NaN]]],
  ])('keep %o unchanged', (value) => {
    expect(inspect(throughJson(value), { depth: 9 })).toBe(inspect(value, { depth: 9 }))
    expect(
      Object.is(
        Object.getPrototypeOf(Object(value)),
        Object.getPrototypeOf(Object(throughJson(value))),
      ),
    ).toBe(true)
  })

  test('keep an own __proto__ key without touching the prototype', () => {
    const value: unknown = JSON.parse('{"__proto__":{"polluted":true}}')
    const back = throughJson(value) as object
    expect(Object.keys(back)).toEqual(['__proto__'])
    expect(Object.getPrototypeOf(back)).toBe(Object.prototype)
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  test('keep the position of a regular expression and the order of keys', () => {
    const pattern = /a/g
    pattern.lastIndex = 3
    expect((throughJson(pattern) as RegExp).lastIndex).toBe(3)
    expect(Object.keys(throughJson({ b: undefined, a: 1 }) as object)).toEqual(['b', 'a'])
  })

  test('report values that cannot be restored, with their paths', () => {
    class Order {
      id = 7
      close(): void {}
    }
    const cyclic: Record<string, unknown> = { list: [new Order()], run: () => 1, [Symbol('s')]: 1 }
    cyclic['self'] = { again: cyclic }
    expect(losses(cyclic)).toEqual([
      'list[0]: class Order',
      'run: function run',
      'self.again: a cycle',
      ': property Symbol(s)',
    ])
    expect(throughJson(cyclic)).toEqual({ list: [{ id: 7 }], self: { again: undefined } })
  })

  test('store a value that occurs twice without reporting a loss', () => {
    const shared = { a: 1 }
    expect(losses([shared, shared])).toEqual([])
    expect(throughJson([shared, shared])).toEqual([shared, shared])
  })

  test('survive a getter that throws and endless nesting', () => {
    const bad = {
      get broken(): never {
        throw new Error('no')
      },
    }
    expect(losses(bad)).toEqual([': getter broken'])
    let deep: unknown = 'bottom'
    for (let level = 0; level < 5_000; level++) deep = [deep]
    expect(losses(deep)).toHaveLength(1)
  })

  test('are refused, or shown in part, if they are too deep to walk through', () => {
    const nested = (levels: number): unknown =>
      JSON.parse(`${'{"a":'.repeat(levels)}[]${'}'.repeat(levels)}`)
    expect(fromWire(nested(1000))).toEqual(nested(1000))
    expect(() => fromWire(nested(2000))).toThrow('nested too deeply')
    expect(JSON.stringify(plainJson(nested(2000)))).toContain('{"a":"(nested too deeply)"}')
    expect(plainJson(nested(1000))).toEqual(nested(1000))
  })

  test('reject an unknown tag with a readable message', () => {
    expect(() => fromWire({ $: 'Temporal' })).toThrow('unknown wire tag "Temporal"')
  })
})

describe('event bodies', () => {
  test('keep bytes as bytes, text as text and the rest as JSON', () => {
    expect(encodeBody(Buffer.from([0, 255])).as).toBe('bytes')
    expect(encodeBody('über ☃').as).toBe('text')
    expect(encodeBody('\ud800').as).toBe('json')
    expect(encodeBody(new Uint8Array([1])).as).toBe('json')
    expect(encodeBody({ a: 1 }).as).toBe('json')
  })

  test('decode to the encoded value', () => {
    const value = fc.oneof(
      anyValue,
      fc.string({ unit: 'binary' }),
      fc.constant('\ufeffwith a byte order mark'),
      fc.uint8Array().map((bytes) => Buffer.from(bytes)),
    )
    fc.assert(
      fc.property(value, (given) => {
        const { as, body } = encodeBody(given)
        assert.deepEqual(decodeBody(as, body), given)
      }),
    )
  })

  test('give bytes in separate memory', () => {
    const body = new Uint8Array([1, 2, 3])
    const first = decodeBody('bytes', body) as Buffer
    first[0] = 99
    expect(body[0]).toBe(1)
    expect(Buffer.isBuffer(first)).toBe(true)
  })
})

describe('stableStringify', () => {
  test('is JSON, and does not depend on the order of keys', () => {
    const shuffled = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(shuffled)
      if (typeof value !== 'object' || value === null) return value
      const entries = Object.entries(value as Record<string, unknown>).toReversed()
      return Object.fromEntries(entries.map(([key, member]) => [key, shuffled(member)]))
    }
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = stableStringify(value)
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
        expect(stableStringify(shuffled(value))).toBe(text)
        expect(wireEqual(value, shuffled(value))).toBe(true)
      }),
    )
    expect(wireEqual({ a: 1 }, { a: 2 })).toBe(false)
    expect(stableStringify({ b: undefined, a: [undefined] })).toBe('{"a":[null]}')
  })
})
