import { expect, test } from 'vitest'
import { rateOf } from '../../../../../test/support/blame-findings.js'
import { riskPath, riskPoints, riskScale } from './blame-view.js'

test('points stand in the order of the steps, and what was not tried is left out', () => {
  const curve = [
    { upTo: 4, rate: rateOf(3, 3) },
    { upTo: -1, rate: rateOf(0, 3) },
    { upTo: 2, rate: rateOf(0, 0) },
  ]
  expect(riskPoints(curve).map(({ upTo }) => upTo)).toEqual([-1, 4])
})

test('the line rises at a point that was looked at, not on the way to it', () => {
  const scale = riskScale(262, 10)
  const points = riskPoints([
    { upTo: -1, rate: rateOf(0, 3) },
    { upTo: 4, rate: rateOf(3, 3) },
  ])
  const [start, end] = [scale.y(0), scale.y(1)]
  expect(riskPath(points, scale)).toBe(`M48 ${start}H148V${end}`)
  expect(end).toBeLessThan(start)
})

test('a rate outside of 0 and 1 stays on the drawing', () => {
  const scale = riskScale(200, 0)
  expect(scale.y(7)).toBe(scale.y(1))
  expect(scale.x(-1)).toBe(scale.left)
})
