import { cutAt } from '@retake/tape/present'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { clip, cutText } from './clip.js'

describe('a clipped value', () => {
  test('is the value itself while it is small', () => {
    fc.assert(
      fc.property(
        fc
          .jsonValue({ noUnicodeString: false })
          .filter((value) => !JSON.stringify(value).includes('"$')),
        (value) => {
          expect(JSON.stringify(clip(value))).toBe(JSON.stringify(value))
        },
      ),
    )
  })

  test('is small whatever its source', () => {
    const deep: unknown[] = []
    let inner = deep
    for (let depth = 0; depth < 100_000; depth++) inner.push((inner = []))
    const values: unknown[] = [
      'x'.repeat(20_000_000),
      Array.from({ length: 1_000_000 }, (_, index) => index),
      Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`k${index}`, index])),
      Array.from({ length: 10_000 }, () => 'y'.repeat(30_000)),
      { ['k'.repeat(1_000_000)]: 1 },
      deep,
      new Uint8Array(5_000_000),
    ]
    for (const value of values) expect(JSON.stringify(clip(value)).length).toBeLessThan(8_000_000)
  })

  test('says how much is left out', () => {
    const text = clip('x'.repeat(40_000)) as { $clipped: { head: string; length: number } }
    expect(text.$clipped.length).toBe(40_000)
    expect(text.$clipped.head).toHaveLength(32_768)
    const items = clip(Array.from({ length: 30_000 }, () => 1)) as unknown[]
    expect(items.at(-1)).toEqual({ $leftOut: 30_000 - items.length + 1 })
    const members = clip(
      Object.fromEntries(Array.from({ length: 30_000 }, (_, index) => [`k${index}`, 1])),
    ) as Record<string, unknown>
    expect(members['$leftOut']).toBe(30_000 - Object.keys(members).length + 1)
  })

  test('is not taken for a marker when it has such a name itself', () => {
    expect(clip({ $clipped: 1, $leftOut: { a: 2 } })).toEqual({ $$clipped: 1, $$leftOut: { a: 2 } })
  })

  test('describes values that JSON cannot represent', () => {
    const value = [
      new Map([['a', 1]]),
      new Set([2]),
      new Date(0),
      /x/g,
      10n,
      NaN,
      undefined,
      Uint8Array.of(1, 2),
      new URL('https://a.b/'),
    ]
    expect(clip(value)).toEqual([
      [['a', 1]],
      [2],
      '1970-01-01T00:00:00.000Z',
      '/x/g',
      '10',
      'NaN',
      null,
      { base64: 'AQI=' },
      'https://a.b/',
    ])
    expect(clip(new TypeError('no'))).toMatchObject({ name: 'TypeError', message: 'no' })
    expect(clip(undefined)).toBeUndefined()
  })
})

test('a text is not cut in the middle of a character', () => {
  expect(cutAt('ab😀', 3)).toBe('ab')
  expect(cutText('abcdef', 3)).toBe('abc… (3 more characters)')
})
