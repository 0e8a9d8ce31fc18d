import { expect, test } from 'vitest'
import { DrawnValues } from './drawn-values.js'

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

test('ids, times and chance are left out of the comparison, in their usual forms', () => {
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

test('what was not drawn still counts', () => {
  expect(without({ id: first.id, item: 3 })).not.toBe(without({ id: second.id, item: 4 }))
  const stranger = { ...first, id: 'ffffffff-0c1d-4a8e-8a8f-2d5d0d9a7e44' }
  expect(without(first)).not.toBe(without(stranger))
  expect(without({ prompt: 'a refund for order 4711' })).toContain('a refund for order 4711')
})
