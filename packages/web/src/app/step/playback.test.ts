import { expect, test } from 'vitest'
import { advance, frameAt } from './stream-tab.js'

test('a stream is played at its pace, faster, or in about a second', () => {
  expect(advance(100, 16, { speed: '1', endMs: 60_000 })).toBe(116)
  expect(advance(100, 16, { speed: '4', endMs: 60_000 })).toBe(164)
  expect(advance(0, 1000, { speed: 'max', endMs: 60_000 })).toBe(60_000)
})

test('it stops at its end', () => {
  expect(advance(990, 50, { speed: '1', endMs: 1000 })).toBe(1000)
})

test('the frame of a moment is the last there was', () => {
  const frames = [{ at: 10 }, { at: 20 }, { at: 20 }, { at: 30 }]
  expect([0, 10, 19, 20, 99].map((at) => frameAt(frames, at))).toEqual([-1, 0, 0, 2, 3])
})
