import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TimeScale } from './timeline-view.js'
import {
  bringIntoView,
  keepInside,
  lookAgain,
  viewOn,
  wholeView,
  zoomAt,
  type Look,
} from './timeline-view.js'

const views = fc
  .record({
    length: fc.integer({ min: 10, max: 100_000 }),
    from: fc.integer({ min: -1000, max: 200_000 }),
    span: fc.integer({ min: 1, max: 200_000 }),
  })
  .map(({ length, ...view }) => ({ length, view: keepInside(view, length) }))

test('a view never leaves the timeline', () => {
  fc.assert(
    fc.property(views, ({ view, length }) => {
      expect(view.from).toBeGreaterThanOrEqual(0)
      expect(view.from + view.span).toBeLessThanOrEqual(wholeView(length).span + 0.001)
    }),
  )
})

test('what is under the pointer stays there while one looks closer', () => {
  const before = { from: 200, span: 400 }
  const after = zoomAt(before, 2, { at: 300, length: 1000 })
  expect((300 - after.from) / after.span).toBeCloseTo((300 - before.from) / before.span)
})

test('a moment that was not seen is seen then, and one that was moves nothing', () => {
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

const zoom = (scale: TimeScale, look: Look | undefined, factor: number): Look | undefined =>
  lookAgain(scale, look, (view) =>
    zoomAt(view, factor, { at: view.from + view.span / 3, length: scale.length }),
  )

test('as often further as closer is all of it again, whatever was read in between', () => {
  fc.assert(
    fc.property(scales, scales, fc.integer({ min: 1, max: 6 }), (early, late, times) => {
      let look: Look | undefined
      for (let time = 0; time < times; time++) look = zoom(early, look, 2)
      for (let time = 0; time < times; time++) look = zoom(late, look, 0.5)
      expect(look).toBeUndefined()
    }),
  )
})

test('nothing read yet, then all: half of it is not a closest look at nothing', () => {
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
  const look = lookAgain(early, undefined, () => ({ from: 20, span: 60 }))
  expect(viewOn(late, look)).toEqual({ from: 20, span: 60 })
  const second = lookAgain(early, undefined, () => ({ from: early.toDrawn(9010), span: 50 }))
  expect(viewOn(late, second).from).toBeCloseTo(late.toDrawn(9010))
  expect(viewOn(late, second).span).toBeCloseTo(50)
})

test('several changes between two drawings all count', () => {
  const scale = TimeScale.over(Float64Array.of(0, 1000), 1000)
  const once = zoom(scale, undefined, 4)
  expect(zoom(scale, zoom(scale, undefined, 2), 2)?.view.span).toBeCloseTo(once?.view.span ?? 0)
})
