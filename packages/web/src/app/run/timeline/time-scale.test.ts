import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { mergeSpans, type TimeSpan, type Spans, TimeScale } from './timeline-view.js'

const flat = (...list: readonly TimeSpan[]): Spans => Float64Array.from(list.flat())
const pairs = (spans: Spans): TimeSpan[] =>
  Array.from({ length: spans.length / 2 }, (_, index) => [spans[2 * index]!, spans[2 * index + 1]!])

const spans = fc
  .array(fc.tuple(fc.integer({ min: 0, max: 50_000 }), fc.integer({ min: 0, max: 3000 })), {
    maxLength: 30,
  })
  .map((given) => {
    const starts = Float64Array.from(given, ([pause]) => pause).toSorted()
    const ends = Float64Array.from(given, ([, length], index) => (starts[index] ?? 0) + length)
    return mergeSpans(starts, ends, given.length)
  })
const scales = fc
  .tuple(spans, fc.integer({ min: 0, max: 100_000 }))
  .map(([busy, end]) => TimeScale.over(busy, end))

describe('the scale of time', () => {
  test('a later moment is drawn later', () => {
    fc.assert(
      fc.property(
        scales,
        fc.nat(100_000),
        fc.integer({ min: 1, max: 5000 }),
        (scale, at, later) => {
          expect(scale.toDrawn(at + later)).toBeGreaterThan(scale.toDrawn(at))
        },
      ),
    )
  })

  test('a drawn position maps back to its time', () => {
    fc.assert(
      fc.property(scales, fc.nat(100_000), (scale, at) => {
        expect(scale.toTime(scale.toDrawn(at))).toBeCloseTo(at, 4)
      }),
    )
  })

  test('many times are drawn where each would be alone', () => {
    fc.assert(
      fc.property(scales, fc.array(fc.nat(100_000)), (scale, times) => {
        const drawn = new Float64Array(times.length)
        scale.drawAll(Float64Array.from(times), drawn, times.length)
        expect([...drawn]).toEqual(times.map((time) => scale.toDrawn(time)))
      }),
    )
  })

  test('a gap is drawn shorter, never longer, and work keeps its length', () => {
    fc.assert(
      fc.property(spans, (busy) => {
        const scale = TimeScale.over(busy, 0)
        expect(scale.length).toBeLessThanOrEqual(scale.end + 0.001)
        for (const { from, to, drawnFrom, drawnTo } of scale.gaps)
          expect(drawnTo - drawnFrom).toBeLessThan(to - from)
        for (const [from, to] of pairs(busy))
          expect(scale.toDrawn(to) - scale.toDrawn(from)).toBeCloseTo(to - from, 4)
      }),
    )
  })

  test('two hours of waiting between two calls become a small mark', () => {
    const hours = 2 * 3_600_000
    const scale = TimeScale.over(flat([0, 1000], [hours, hours + 1000]), hours + 1000)
    expect(scale.gaps.map(({ from, to }): TimeSpan => [from, to])).toEqual([[1000, hours]])
    expect(scale.length).toBeLessThan(2200)
  })

  test('many long pauses between short calls take no more than half of the work', () => {
    const busy = Array.from({ length: 1000 }, (_, index): TimeSpan => [
      index * 60_000,
      index * 60_000 + 1000,
    ])
    expect(TimeScale.over(flat(...busy), 0).length).toBeLessThanOrEqual(1_500_001)
  })

  test('work without a pause is drawn to scale', () => {
    expect(TimeScale.over(flat([0, 900]), 910).gaps).toEqual([])
  })
})

test('touching and nested spans are one, in any order', () => {
  const merge = (...list: TimeSpan[]) =>
    pairs(
      mergeSpans(
        Float64Array.from(list, ([from]) => from),
        Float64Array.from(list, ([, to]) => to),
        list.length,
      ),
    )
  expect(merge([5, 9], [0, 3], [1, 2], [3, 4], [20, 20])).toEqual([
    [0, 4],
    [5, 9],
    [20, 20],
  ])
})
