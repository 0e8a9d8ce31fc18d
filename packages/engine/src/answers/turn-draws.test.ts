import { expect, test } from 'vitest'
import { TurnDraws } from './turn-draws.js'

const native = (): never => {
  throw new Error('nothing may be drawn from the machine')
}

/** Two lanes that draw an id each, and a third one after both: recorded in the turn of the second. */
function recordedJoin(seed = 1): TurnDraws {
  const draws = new TurnDraws(0, seed)
  draws.add(0, 'Date.now', 1000)
  draws.add(5, 'crypto.randomUUID', 'of the first lane')
  draws.add(9, 'crypto.randomUUID', 'of the second lane')
  draws.add(9, 'crypto.randomUUID', 'after both')
  return draws
}

test('each turn draws what it drew when recorded, whichever comes first', () => {
  const draws = recordedJoin()
  draws.begin(9)
  expect(draws.take('crypto.randomUUID', native)).toBe('of the second lane')
  draws.begin(5)
  expect(draws.take('crypto.randomUUID', native)).toBe('of the first lane')
  // The join comes in the turn of the lane that is last now.
  expect(draws.take('crypto.randomUUID', native)).toBe('after both')
})

test('of what was left over, the last turn of the recording comes first', () => {
  const draws = new TurnDraws(0, 1)
  for (const turn of [3, 7, 5]) draws.add(turn, 'Date.now', turn)
  for (const turn of [3, 7, 5, 9]) draws.begin(turn)
  expect(draws.take('Date.now', native)).toBe(7)
  expect(draws.take('Date.now', native)).toBe(5)
  expect(draws.take('Date.now', native)).toBe(3)
})

test('when nothing is left, a clock stands still and chance follows from the seed', () => {
  const values = (seed: number): unknown[] => {
    const draws = recordedJoin(seed)
    const times = [draws.take('Date.now', native), draws.take('Date.now', native)]
    const kinds = ['Math.random', 'crypto.randomBytes 4', 'crypto.getRandomValues 16']
    draws.begin(20)
    return [...times, ...kinds.map((kind) => draws.take(kind, native))]
  }
  expect(values(1)).toEqual(values(1))
  expect(values(1).slice(0, 2)).toEqual([1000, 1000])
  expect(values(1).slice(2)).not.toEqual(values(2).slice(2))
  expect(Buffer.from(String(values(1)[3]), 'base64')).toHaveLength(4)
})
