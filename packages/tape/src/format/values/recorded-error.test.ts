import { readFileSync } from 'node:fs'
import { inspect, types } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RecordedError } from '../events.js'
import { rebuildError } from './from-wire.js'
import { recordError } from './to-wire.js'

const throughTape = (thrown: unknown): unknown =>
  rebuildError(JSON.parse(JSON.stringify(recordError(thrown))) as RecordedError)

const caught = (run: () => unknown): unknown => {
  try {
    run()
  } catch (thrown) {
    return thrown
  }
  throw new Error('nothing was thrown')
}

class RateLimitError extends Error {
  readonly status = 429
  readonly headers = { 'retry-after': '2' }
}
class Unusual extends TypeError {
  override name = 'Unusual'
}

const withCode = (error: Error, code: string | number): Error => Object.assign(error, { code })

test('properties under registered symbols look the same', () => {
  const error = Object.assign(new Error('other side closed'), {
    [Symbol.for('undici.error.UND_ERR')]: true,
  })
  const rebuilt = rebuildError(recordError(error))
  expect(inspect(rebuilt)).toBe(inspect(error))
  expect((rebuilt as Record<symbol, unknown>)[Symbol.for('undici.error.UND_ERR')]).toBe(true)
})

describe('a recorded error comes back indistinguishable', () => {
  const kinds: readonly [string, () => unknown][] = [
    ['a plain error', () => new Error('plain')],
    ['an empty error', () => new Error()],
    ['a type error', () => caught(() => (null as unknown as { x: string }).x)],
    ['a range error', () => caught(() => 'x'.repeat(-1))],
    ['a syntax error', () => caught(() => JSON.parse('{'))],
    ['a URI error', () => caught(() => decodeURIComponent('%'))],
    ['a reference error', () => new ReferenceError('gone')],
    ['an eval error', () => new EvalError('eval')],
    ['a system error', () => caught(() => readFileSync('/does/not/exist'))],
    ['an error of Node itself', () => caught(() => Buffer.alloc('x' as unknown as number))],
    ['a subclass', () => new RateLimitError('slow down')],
    ['a subclass of a built-in', () => new Unusual('odd')],
    ['an aggregate', () => new AggregateError([new Error('a'), new TypeError('b'), 'c'], 'many')],
    ['an abort', () => AbortSignal.abort().reason as unknown],
    ['a DOM exception', () => new DOMException('late', 'TimeoutError')],
    [
      'a cause',
      () => new TypeError('fetch failed', { cause: withCode(new Error('x'), 'ECONNRESET') }),
    ],
    ['a cause that is no error', () => new Error('odd', { cause: { why: 1n } })],
    ['an undefined cause', () => new Error('none', { cause: undefined })],
    [
      'an assigned cause',
      () => Object.assign(new Error('x'), { a: 1, cause: new Error('y'), b: 2 }),
    ],
    [
      'an assigned name',
      () => Object.assign(new Error('x'), { name: 'AbortError', code: 'ABORT_ERR' }),
    ],
    ['a numeric code', () => withCode(new Error('x'), 7)],
    [
      'rich properties',
      () => Object.assign(new Error('x'), { at: new Date(0), map: new Map([[1, 2]]) }),
    ],
    ['no stack', () => Object.assign(new Error('x'), { stack: undefined })],
  ]
  test.each(kinds)('%s', (_, make) => {
    const error = make() as Error & { code?: unknown }
    const back = throughTape(error) as Error & { code?: unknown }
    expect(inspect(back, { depth: 9 })).toBe(inspect(error, { depth: 9 }))
    expect(String(back)).toBe(String(error))
    expect(back.constructor.name).toBe(error.constructor.name)
    expect([back.name, back.message, back.stack, back.code]).toEqual([
      error.name,
      error.message,
      error.stack,
      error.code,
    ])
    expect(Object.keys(back).filter((key) => key !== 'stack')).toEqual(
      Object.keys(error).filter((key) => key !== 'stack'),
    )
    expect(Object.hasOwn(back, 'cause')).toBe(Object.hasOwn(error, 'cause'))
    expect(types.isNativeError(back)).toBe(types.isNativeError(error))
    expect(back instanceof Error).toBe(true)
    expect(back instanceof TypeError).toBe(error instanceof TypeError)
    expect(back instanceof DOMException).toBe(error instanceof DOMException)
  })

  test('any error that can be constructed', () => {
    const leaf = fc.record({
      Class: fc.constantFrom(Error, TypeError, RangeError, RateLimitError, Unusual),
      message: fc.string(),
      props: fc.dictionary(
        // Object.assign would take `__proto__` for the prototype.
        fc.string().filter((key) => !['stack', 'toString', '__proto__'].includes(key)),
        fc.oneof(fc.string(), fc.integer(), fc.bigInt(), fc.constant(undefined), fc.constant(null)),
      ),
    })
    fc.assert(
      fc.property(fc.array(leaf, { minLength: 1, maxLength: 5 }), (chain) => {
        const error = chain.reduce<Error | undefined>((cause, { Class, message, props }) => {
          const made = new Class(message, ...(cause === undefined ? [] : [{ cause }]))
          return Object.assign(made, props)
        }, undefined)
        expect(inspect(throughTape(error), { depth: 9 })).toBe(inspect(error, { depth: 9 }))
      }),
      { numRuns: 300 },
    )
  })
})

describe('recordError', () => {
  test.each([['text'], [undefined], [null], [{ code: 1n }], [0]])(
    'keeps %o, which is not an error, as it was thrown',
    (thrown) => {
      expect(throughTape(thrown)).toStrictEqual(thrown)
    },
  )

  test('cuts a cause that leads back to its error', () => {
    const error = new Error('round')
    error.cause = new Error('and round', { cause: error })
    const recorded = recordError(error)
    expect(recorded.cause?.message).toBe('and round')
    expect(recorded.cause?.cause).toBeUndefined()
  })

  test('stays small if an error references much of the process', () => {
    const world: unknown[] = Array.from({ length: 50_000 }, () => ({ socket: {} }))
    const recorded = recordError(Object.assign(new Error('big'), { world }))
    expect(JSON.stringify(recorded).length).toBeLessThan(1_500_000)
  })

  test('survives accessors that throw', () => {
    const error = new Error('trap')
    Object.defineProperty(error, 'detail', {
      enumerable: true,
      get: () => {
        throw new Error('inner')
      },
    })
    expect(recordError(error).message).toBe('trap')
  })
})

describe('rebuildError', () => {
  test('uses a class that is supplied, without running its constructor', () => {
    class ApiError extends Error {
      constructor() {
        super('never')
        throw new Error('constructor ran')
      }
    }
    const recorded: RecordedError = { class: 'ApiError', name: 'Error', message: 'hm' }
    const error = rebuildError(recorded, { ApiError })
    expect(error).toBeInstanceOf(ApiError)
    expect((error as Error).message).toBe('hm')
  })

  test('gives two errors of an unknown class the same class', () => {
    const first = throughTape(new RateLimitError('a')) as Error
    const second = throughTape(new RateLimitError('b')) as Error
    expect(first.constructor).toBe(second.constructor)
    expect(first).not.toBeInstanceOf(RateLimitError)
  })

  test('does not show the stack as an own enumerable property', () => {
    const back = throughTape(new Error('x')) as Error
    expect(Object.keys(back)).toEqual([])
    expect(JSON.stringify(back)).toBe('{}')
  })
})
