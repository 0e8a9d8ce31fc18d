import { expect, test } from 'vitest'
import { GuessLimit } from './access.js'

const limitAt = () => {
  const clock = { now: 0 }
  return { clock, guesses: new GuessLimit(() => clock.now) }
}

test('one address has ten attempts a minute, and others are not affected', () => {
  const { clock, guesses } = limitAt()
  for (let each = 0; each < 10; each++) expect(guesses.take('a')).toBe(0)
  clock.now = 15_000
  expect(guesses.take('a')).toBe(45)
  expect(guesses.take('b')).toBe(0)
  clock.now = 60_000
  expect(guesses.take('a')).toBe(0)
})

test('a hundred tries a minute from all addresses together', () => {
  const { guesses } = limitAt()
  for (let each = 0; each < 100; each++) expect(guesses.take(`host ${each}`)).toBe(0)
  expect(guesses.take('another')).toBe(60)
})

test('a right password takes its own tries back, and no others', () => {
  const { guesses } = limitAt()
  for (let each = 0; each < 10; each++) {
    guesses.take('a')
    guesses.take('b')
  }
  guesses.forgive('a')
  expect(guesses.take('a')).toBe(0)
  expect(guesses.take('b')).toBeGreaterThan(0)
})
