import { describe, expect, test } from 'vitest'
import { TimeScale } from './timeline-view.js'
import { ticksOf, tickText } from './timeline-view.js'

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

  test('none stands inside of a gap', () => {
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
