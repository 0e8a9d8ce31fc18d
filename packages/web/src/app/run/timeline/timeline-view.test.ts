import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bringIntoView, keepInside, wholeView, zoomAt } from './timeline-view.js'

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
