import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { align, type Pair } from './align.js'
import { lazySketch, sketchOf, type Alignable } from './align.js'
import { hashText } from '../format/values/hash-text.js'

const item = (text: string, family = 'step'): Alignable => ({
  digest: hashText(family + text),
  family,
  sketch: lazySketch(() => text),
})
const items = (...texts: readonly string[]): Alignable[] => texts.map((text) => item(text))
const swapped = (pairs: readonly Pair[]): Pair[] =>
  pairs.map(({ a, b }) => ({ ...(b !== undefined && { a: b }), ...(a !== undefined && { b: a }) }))
const sorted = (pairs: readonly Pair[]): string[] =>
  pairs.map(({ a, b }) => `${a ?? '-'} ${b ?? '-'}`).toSorted()

/** Sequences of things of three families that share words, as steps do. */
const sequence = fc
  .array(
    fc.record({
      family: fc.constantFrom('model', 'tool', 'http'),
      words: fc.array(fc.constantFrom('refund', 'order', 'policy', 'ship', 'day'), {
        maxLength: 4,
      }),
    }),
    { maxLength: 14 },
  )
  .map((all) => all.map(({ family, words }) => item(words.join(' '), family)))

describe('laws', () => {
  test('a sequence is aligned with itself in place', () => {
    fc.assert(
      fc.property(sequence, (a) => {
        expect(align(a, a)).toEqual(a.map((_, place) => ({ a: place, b: place })))
      }),
    )
  })

  test('everything is in one pair, in order, and only families are paired', () => {
    fc.assert(
      fc.property(sequence, sequence, (a, b) => {
        const pairs = align(a, b)
        const places = (side: 'a' | 'b'): number[] =>
          pairs.map((pair) => pair[side]).filter((place) => place !== undefined)
        expect(places('a')).toEqual(a.map((_, place) => place))
        expect(places('b')).toEqual(b.map((_, place) => place))
        for (const pair of pairs) {
          if (pair.a === undefined || pair.b === undefined) continue
          expect(a[pair.a]?.family).toBe(b[pair.b]?.family)
        }
      }),
    )
  })

  test('it is symmetric', () => {
    fc.assert(
      fc.property(sequence, sequence, (a, b) => {
        expect(sorted(align(b, a))).toEqual(sorted(swapped(align(a, b))))
      }),
    )
  })

  test('an insertion or deletion is found at any position', () => {
    const distinct = fc.uniqueArray(fc.stringMatching(/^[a-z]{6,9}( [a-z]{6,9}){1,3}$/), {
      minLength: 1,
      maxLength: 20,
    })
    fc.assert(
      fc.property(distinct, fc.nat(), fc.boolean(), (texts, at, isPutIn) => {
        const place = at % texts.length
        const long = items(...texts)
        const short = long.toSpliced(place, 1)
        const pairs = isPutIn ? align(short, long) : align(long, short)
        const alone = pairs.filter((pair) => pair.a === undefined || pair.b === undefined)
        expect(alone).toEqual([isPutIn ? { b: place } : { a: place }])
      }),
    )
  })
})

test('two versions of a thing are paired though things were put in around them', () => {
  const a = items('look up order 1182', 'refund order 1182 of 249 euro', 'write to customer')
  const b = items(
    'look up order 1182',
    'search policy refund window',
    'refund order 1182 of 199 euro',
    'write to the customer',
  )
  expect(align(a, b)).toEqual([{ a: 0, b: 0 }, { b: 1 }, { a: 1, b: 2 }, { a: 2, b: 3 }])
})

test('2,000 steps against 2,000 others take seconds at most', () => {
  const run = (seed: number): Alignable[] =>
    Array.from({ length: 2000 }, (_, index) => {
      const words = Array.from({ length: 30 }, (_, word) => `w${(index * 7 + word * seed) % 997}`)
      const sketch = sketchOf(words.join(' '))
      return { digest: index + seed * 10_000, family: `tool ${index % 3}`, sketch: () => sketch }
    })
  const started = performance.now()
  const pairs = align(run(1), run(2))
  expect(pairs.filter(({ a }) => a !== undefined)).toHaveLength(2000)
  expect(performance.now() - started).toBeLessThan(10_000)
})

test('beyond the limit it looks near the diagonal only, and still pairs everything once', () => {
  const long = Array.from({ length: 9000 }, (_, index) => item(`step ${index}`))
  const other = long.toSpliced(10, 1).toSpliced(8000, 0, item('new'), item('newer'))
  const pairs = align(long, other)
  expect(pairs.filter((pair) => pair.b === undefined)).toEqual([{ a: 10 }])
  expect(pairs.filter((pair) => pair.a === undefined)).toEqual([{ b: 8000 }, { b: 8001 }])
})
