import { expect, test } from 'vitest'
import { RateLimit } from './access.js'

const limitAt = () => {
  const clock = { now: 0 }
  return { clock, limit: new RateLimit(10, () => clock.now) }
}

test('a key has ten attempts, then one every six seconds, and others are not affected', () => {
  const { clock, limit } = limitAt()
  for (let each = 0; each < 10; each++) expect(limit.take('a')).toBe(0)
  clock.now = 2000
  expect(limit.take('a')).toBe(4)
  expect(limit.take('b')).toBe(0)
  clock.now = 6000
  expect(limit.take('a')).toBe(0)
  expect(limit.take('a')).toBe(6)
  clock.now = 1e6
  for (let each = 0; each < 10; each++) expect(limit.take('a')).toBe(0)
  expect(limit.take('a')).toBe(6)
})

test('a right password resets its own attempts, and no others', () => {
  const { limit } = limitAt()
  for (let each = 0; each < 10; each++) {
    limit.take('a')
    limit.take('b')
  }
  limit.forget('a')
  expect(limit.take('a')).toBe(0)
  expect(limit.take('b')).toBeGreaterThan(0)
})
