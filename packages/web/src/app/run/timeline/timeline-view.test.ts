import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  bringIntoView,
  clampView,
  type TimelineLook,
  lookAfterChange,
  ticksOf,
  tickText,
  TimeScale,
  viewOn,
  wholeView,
  zoomAt,
} from './timeline-view.js'

const textsOf = (scale: TimeScale, width = 1000, apart = 80): string[] =>
  ticksOf(scale, { from: 0, to: scale.length, pixelsPerMs: width / scale.length, apart }).map(
    ({ text }) => text,
  )

describe('times on the axis', () => {
  test('they are round and as dense as fits', () => {
    expect(textsOf(TimeScale.over(Float64Array.of(0, 1200), 1200))).toEqual([
      '0',
      '100 ms',
      '200 ms',
      '300 ms',
      '400 ms',
      '500 ms',
      '600 ms',
      '700 ms',
      '800 ms',
      '900 ms',
      '1.0 s',
      '1.1 s',
      '1.2 s',
    ])
  })

  test('none is inside a gap', () => {
    const scale = TimeScale.over(Float64Array.of(0, 1000, 7_200_000, 7_201_000), 7_201_000)
    const [gap] = scale.gaps
    const ticks = ticksOf(scale, {
      from: 0,
      to: scale.length,
      pixelsPerMs: 1000 / scale.length,
      apart: 80,
    })
    expect(ticks.filter(({ drawn }) => drawn > gap!.drawnFrom && drawn < gap!.drawnTo)).toEqual([])
    expect(ticks.some(({ time }) => time >= 7_200_000)).toBe(true)
  })

  test('two are never closer than asked for', () => {
    const scale = TimeScale.over(
      Float64Array.from({ length: 100 }, (_, index) => (index >> 1) * 9000 + (index % 2) * 700),
      500_000,
    )
    const ticks = ticksOf(scale, { from: 0, to: scale.length, pixelsPerMs: 0.02, apart: 80 })
    const distances = ticks.slice(1).map((tick, index) => (tick.drawn - ticks[index]!.drawn) * 0.02)
    expect(distances.length).toBeGreaterThan(3)
    expect(Math.min(...distances)).toBeGreaterThanOrEqual(71.9)
  })

  test.for([
    [250, 50, '250 ms'],
    [1250, 50, '1.25 s'],
    [30_000, 1000, '30 s'],
    [90_000, 1000, '1:30'],
    [90_500, 500, '1:30.5'],
    [3_690_000, 30_000, '1:01:30'],
    [7_200_000, 3_600_000, '2 h 00'],
    [300_000, 60_000, '5 min'],
    [172_800_000, 86_400_000, '2 d'],
  ] as const)('%d ms every %d ms is %s', ([time, step, text]) => {
    expect(tickText(time, step)).toBe(text)
  })
})

const views = fc
  .record({
    length: fc.integer({ min: 10, max: 100_000 }),
    from: fc.integer({ min: -1000, max: 200_000 }),
    span: fc.integer({ min: 1, max: 200_000 }),
  })
  .map(({ length, ...view }) => ({ length, view: clampView(view, length) }))

test('a view never leaves the timeline', () => {
  fc.assert(
    fc.property(views, ({ view, length }) => {
      expect(view.from).toBeGreaterThanOrEqual(0)
      expect(view.from + view.span).toBeLessThanOrEqual(wholeView(length).span + 0.001)
    }),
  )
})

test('the point under the pointer stays there while zooming in', () => {
  const before = { from: 200, span: 400 }
  const after = zoomAt(before, 2, { at: 300, length: 1000 })
  expect((300 - after.from) / after.span).toBeCloseTo((300 - before.from) / before.span)
})

test('an invisible moment becomes visible, and a visible one moves nothing', () => {
  fc.assert(
    fc.property(views, fc.nat(100), ({ view, length }, percent) => {
      const at = (length * percent) / 100
      const moved = bringIntoView(view, at, length)
      expect(at).toBeGreaterThanOrEqual(moved.from - 0.001)
      expect(at).toBeLessThanOrEqual(moved.from + moved.span + 0.001)
    }),
  )
  const view = { from: 100, span: 200 }
  expect(bringIntoView(view, 150, 1000)).toBe(view)
})

const scales = fc
  .record({
    pauses: fc.array(fc.integer({ min: 1, max: 50_000 }), { maxLength: 8 }),
    rest: fc.integer({ min: 0, max: 100_000 }),
  })
  .map(({ pauses, rest }) => {
    let end = 0
    const busy = pauses.flatMap((pause) => [(end += pause), (end += 100)])
    return TimeScale.over(Float64Array.from(busy), end + rest)
  })

const zoom = (
  scale: TimeScale,
  look: TimelineLook | undefined,
  factor: number,
): TimelineLook | undefined =>
  lookAfterChange(scale, look, (view) =>
    zoomAt(view, factor, { at: view.from + view.span / 3, length: scale.length }),
  )

test('zooming out as often as in shows everything again, whatever was loaded in between', () => {
  fc.assert(
    fc.property(scales, scales, fc.integer({ min: 1, max: 6 }), (early, late, times) => {
      let look: TimelineLook | undefined
      for (let time = 0; time < times; time++) look = zoom(early, look, 2)
      for (let time = 0; time < times; time++) look = zoom(late, look, 0.5)
      expect(look).toBeUndefined()
    }),
  )
})

test('zooming before anything is loaded is not the maximum zoom afterwards', () => {
  const [early, late] = [
    TimeScale.over(new Float64Array(), 5000),
    TimeScale.over(Float64Array.of(0, 5000), 5000),
  ]
  const look = zoom(early, undefined, 2)
  expect(look).toBeDefined()
  expect(viewOn(late, look).span).toBeGreaterThan(2000)
})

test('rows that are read later leave the same times in view', () => {
  const early = TimeScale.over(Float64Array.of(0, 100, 9000, 9100), 9100)
  const late = TimeScale.over(Float64Array.of(0, 100, 4000, 8000, 9000, 9100), 20_000)
  const look = lookAfterChange(early, undefined, () => ({ from: 20, span: 60 }))
  expect(viewOn(late, look)).toEqual({ from: 20, span: 60 })
  const second = lookAfterChange(early, undefined, () => ({ from: early.toDrawn(9010), span: 50 }))
  expect(viewOn(late, second).from).toBeCloseTo(late.toDrawn(9010))
  expect(viewOn(late, second).span).toBeCloseTo(50)
})

test('several changes between two drawings all count', () => {
  const scale = TimeScale.over(Float64Array.of(0, 1000), 1000)
  const once = zoom(scale, undefined, 4)
  expect(zoom(scale, zoom(scale, undefined, 2), 2)?.view.span).toBeCloseTo(once?.view.span ?? 0)
})
