import { expect, test } from 'vitest'
import { relativeTime } from './relative-time.js'

const now = Date.UTC(2026, 0, 31, 12)

test('time is told in the largest whole unit', () => {
  expect(relativeTime(now - 5_000, now)).toBe('just now')
  expect(relativeTime(now - 61_000, now)).toBe('1 min ago')
  expect(relativeTime(now - 3 * 3_600_000, now)).toBe('3 h ago')
  expect(relativeTime(now - 27 * 86_400_000, now)).toBe('27 d ago')
})

test('what is long ago, or in the future, is told by its date', () => {
  const old = now - 40 * 86_400_000
  expect(relativeTime(old, now)).toBe(new Date(old).toLocaleDateString())
  expect(relativeTime(now + 3_600_000, now)).toBe(new Date(now + 3_600_000).toLocaleDateString())
})
