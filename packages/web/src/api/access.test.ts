import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { createAccess, RateLimit, signIn, SIGN_IN_PATH } from './access.js'
import type { GuardEnv } from './responses.js'

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

test('passwords are limited for each address and in total', async () => {
  const access = createAccess({ port: 1, hosts: [], allowHosts: [], password: 'right' })
  const app = new Hono<GuardEnv>().all(SIGN_IN_PATH, signIn(access))
  const refusals = async (addresses: readonly string[]): Promise<number> => {
    const answers = await Promise.all(
      addresses.map(async (remoteAddress) =>
        app.request(
          SIGN_IN_PATH,
          { method: 'POST', body: 'password=wrong', headers: { 'content-length': '14' } },
          { incoming: { socket: { remoteAddress } } },
        ),
      ),
    )
    return answers.filter((answer) => answer.headers.has('retry-after')).length
  }
  expect(await refusals(Array.from({ length: 11 }, () => '10.0.0.1'))).toBe(1)
  expect(await refusals(Array.from({ length: 200 }, (_, n) => `10.0.1.${n}`))).toBeGreaterThan(50)
})
