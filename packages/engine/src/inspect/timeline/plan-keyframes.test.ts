import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { matchKeyframes, planKeyframes } from './plan-keyframes.js'

/** 100 ms to load, then the same time for each moment. */
const steady = Array.from({ length: 101 }, (_, index) => 100 + index)
const lasts = (input: Parameters<typeof planKeyframes>[0]): number[] =>
  planKeyframes(input).map(({ last }) => last)

describe('positions of keyframes', () => {
  test('are evenly spaced before the user moves', () => {
    expect(lasts({ costs: steady, count: 101, current: -1, limit: 8 })).toEqual([0, 20, 40, 60, 80])
  })

  test('are evenly spaced in time, not in steps', () => {
    // The last ten moments take as long as the ninety before them.
    const costs = steady.map((cost, index) => cost + Math.max(0, index - 90) * 8)
    const spans = lasts({ costs, count: 101, current: -1, limit: 8 })
    expect(spans).toEqual([0, 36, 72, 92, 96])
  })

  test('are also 1, 3 and 9 moments behind the user, the nearest first', () => {
    const spans = lasts({ costs: steady, count: 101, current: 50, limit: 8 })
    expect(spans[0]).toBe(49)
    expect(spans.slice(-2)).toEqual([47, 41])
  })

  test('do not move with the user, except those behind', () => {
    const at = (current: number): number[] =>
      lasts({ costs: steady, count: 101, current, limit: 8 }).slice(1, 6)
    expect(at(50)).toEqual(at(51))
    expect(at(50)).toEqual([0, 20, 40, 60, 80])
  })

  test('are never more than the limit, and never where nothing is reached', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 50 }), { maxLength: 60 }),
        fc.nat({ max: 12 }),
        fc.nat({ max: 70 }),
        fc.boolean(),
        (steps, limit, current, isMeasured) => {
          let cost = 100
          const costs = steps.map((step) => (cost += step))
          const spans = planKeyframes({
            costs: isMeasured ? costs : undefined,
            count: costs.length,
            current: current - 1,
            limit,
          })
          expect(spans.length).toBeLessThanOrEqual(limit)
          for (const { first, last } of spans) {
            expect(first).toBeGreaterThanOrEqual(0)
            expect(first).toBeLessThanOrEqual(last)
            expect(last).toBeLessThan(costs.length)
          }
        },
      ),
    )
  })
})

describe('processes and positions', () => {
  const place = (last: number, first = last) => ({ first, last })
  const match = (spans: readonly ReturnType<typeof place>[], parked: readonly number[]) =>
    matchKeyframes(spans, parked, (index) => index)

  test('a process within its span stays', () => {
    expect(match([place(10, 8), place(3)], [9, 3])).toEqual({ moves: [], spare: [] })
  })

  test('an empty span gets the nearest spare process before it, or a new one', () => {
    expect(match([place(10), place(5), place(2)], [4, 7, 30])).toEqual({
      moves: [{ runner: 7, to: 10 }, { runner: 4, to: 5 }, { to: 2 }],
      spare: [30],
    })
  })

  test('keyframes ahead of the user move with every step', () => {
    expect(match([place(50), place(20)], [49, 20])).toEqual({
      moves: [{ runner: 49, to: 50 }],
      spare: [],
    })
  })
})
