import { expect, test } from 'vitest'
import { DrawnValues, seededNewDraw, TurnDraws } from './draws.js'

const native = (): never => {
  throw new Error('nothing may be drawn from the machine')
}

/** Two lanes that each draw an id, and a third id after both, recorded in the turn of the second lane. */
function recordedJoin(seed = 1): TurnDraws {
  const draws = new TurnDraws({ firstTurn: 0, draws: [] }, seededNewDraw(seed))
  draws.add(0, 'Date.now', 1000)
  draws.add(5, 'crypto.randomUUID', 'of the first lane')
  draws.add(9, 'crypto.randomUUID', 'of the second lane')
  draws.add(9, 'crypto.randomUUID', 'after both')
  return draws
}

test('each turn draws its recorded values, in any order of turns', () => {
  const draws = recordedJoin()
  draws.begin(9)
  expect(draws.take('crypto.randomUUID', native)).toBe('of the second lane')
  draws.begin(5)
  expect(draws.take('crypto.randomUUID', native)).toBe('of the first lane')
  // The join runs in the turn of the lane that now finishes last.
  expect(draws.take('crypto.randomUUID', native)).toBe('after both')
})

test('of the remaining draws, the last turn of the recording comes first', () => {
  const draws = new TurnDraws({ firstTurn: 0, draws: [] }, seededNewDraw(1))
  for (const turn of [3, 7, 5]) draws.add(turn, 'Date.now', turn)
  for (const turn of [3, 7, 5, 9]) draws.begin(turn)
  expect(draws.take('Date.now', native)).toBe(7)
  expect(draws.take('Date.now', native)).toBe(5)
  expect(draws.take('Date.now', native)).toBe(3)
})

test('when no draws are left, a clock stops and random values come from the seed', () => {
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

const drawn = new DrawnValues()
const first = {
  id: '0b7c1f0e-6a53-4cbb-9d3d-7f4f3f1f6c11',
  at: 1794728587552,
  salt: 0.8548968064133078,
}
const second = {
  id: 'b0d5f6a2-0c1d-4a8e-8a8f-2d5d0d9a7e44',
  at: 1794728587999,
  salt: 0.4580367140006274,
}
for (const { id, at, salt } of [first, second]) {
  drawn.add('crypto.randomUUID', id)
  drawn.add('Date.now', at)
  drawn.add('Math.random', salt)
}
drawn.add('crypto.randomBytes 4', Buffer.from('deadbeef', 'hex').toString('base64'))

const without = (value: unknown): string => drawn.without(Buffer.from(JSON.stringify(value)))

test('ids, times and random values are ignored in their usual forms', () => {
  const forms = ({ id, at, salt }: typeof first): unknown => ({
    id,
    key: `req_${id.replaceAll('-', '')}`,
    at,
    iso: new Date(at).toISOString(),
    seconds: Math.floor(at / 1000),
    salt,
    short: `x-${salt.toString(36).slice(2, 9)}`,
  })
  expect(without(forms(first))).toBe(without(forms(second)))
  expect(without({ trace: 'deadbeef' })).not.toContain('deadbeef')
})

test('differences other than drawn values still count', () => {
  expect(without({ id: first.id, item: 3 })).not.toBe(without({ id: second.id, item: 4 }))
  const stranger = { ...first, id: 'ffffffff-0c1d-4a8e-8a8f-2d5d0d9a7e44' }
  expect(without(first)).not.toBe(without(stranger))
  expect(without({ prompt: 'a refund for order 4711' })).toContain('a refund for order 4711')
})

test('a drawn value is recognised where it was joined with another', () => {
  const drawn = new DrawnValues()
  for (const at of [1794886584621, 1794886584649]) drawn.add('Date.now', at)
  drawn.add('Math.random', 0.35386709192035526)
  const textOf = (at: number) => drawn.without(Buffer.from(`id 0.35386709192035526${at} of 2`))
  expect(textOf(1794886584621)).toBe(textOf(1794886584649))
  expect(textOf(1794886584621)).not.toBe(textOf(1794886584700))
})
