import { request as send } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type Answer,
  createOrganization,
  type Credentials,
  startTeam,
  type Team,
} from './support/api-team.js'

/** Lines of docs/security.md that no other test shows, on a server behind a proxy with TLS. */
let team: Team
let owner: Credentials

const ask = async (
  method: string,
  route: string,
  as: Credentials = {},
  body?: string,
): Promise<Pick<Answer, 'status' | 'text' | 'headers'>> => {
  const response = await fetch(`http://127.0.0.1:${team.server.port}${route}`, {
    method,
    redirect: 'manual',
    headers: {
      accept: 'text/html',
      ...(method !== 'GET' && { origin: 'https://retake.test' }),
      ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
      ...as,
    },
    ...(body !== undefined && { body }),
  })
  return { status: response.status, text: await response.text(), headers: response.headers }
}

const signIn = async (): Promise<Response> => {
  const { accounts } = team.server
  const links: string[] = []
  const write = process.stderr.write.bind(process.stderr)
  process.stderr.write = (chunk: string) => {
    links.push(...(/token=(\S+)/.exec(chunk)?.slice(1) ?? []))
    return true
  }
  try {
    await accounts.sendLink('owner@acme.test', new Headers())
  } finally {
    process.stderr.write = write
  }
  return accounts.useLink(links[0] ?? '', new Headers())
}

const cookieOf = (response: Response): Credentials => ({
  cookie: response.headers
    .getSetCookie()
    .map((each) => each.split(';')[0])
    .join('; '),
})

beforeAll(async () => {
  team = await startTeam({ RETAKE_URL: 'https://retake.test', RETAKE_TRUST_PROXY: 'on' })
  owner = (await createOrganization(team, 'acme')).owner
})
afterAll(() => team.close())

test('cookies are only for us, only with TLS, and not for scripts (3.3.1, 3.3.2, 3.3.4)', async () => {
  const cookies = (await signIn()).headers.getSetCookie()
  expect(cookies.length).toBeGreaterThan(0)
  for (const cookie of cookies) {
    expect(cookie).toMatch(/^__Secure-retake\./)
    for (const part of ['Secure', 'HttpOnly', 'SameSite=Lax', 'Path=/'])
      expect(cookie.split('; ')).toContain(part)
    expect(cookie, 'for no other host').not.toMatch(/domain=/i)
  }
})

test.each([
  '/',
  '/acme',
  '/sign-in',
  '/acme/missing',
  '/api/v1',
  '/api/v1/acme/projects',
  '/healthz',
])('the answer to %s has the headers that protect it (3.4.1–3.4.6, 14.3.2)', async (route) => {
  const { headers, status, text } = await ask('GET', route, owner)
  expect(status, text).toBeLessThan(500)
  expect(headers.get('content-security-policy')).toMatch(
    /^default-src 'none'; .*base-uri 'none'; frame-ancestors 'none'$/,
  )
  expect(headers.get('strict-transport-security')).toBe('max-age=31536000')
  expect(headers.get('x-content-type-options')).toBe('nosniff')
  expect(headers.get('referrer-policy')).toBe('same-origin')
  expect(headers.get('cache-control')).toBe('no-store')
  expect(headers.get('access-control-allow-origin'), 'no other origin').toBe(null)
  expect(headers.get('server') ?? headers.get('x-powered-by')).toBe(null)
  expect(headers.get('content-type') ?? 'none').toMatch(/charset=utf-8|^application\/json|^none$/i)
})

test('a redirect after signing in leads only to our own pages (3.7.2)', async () => {
  for (const to of ['https://evil.test/', '//evil.test', '/\\evil.test', 'javascript:alert(1)']) {
    const { headers } = await ask('GET', `/sign-in?to=${encodeURIComponent(to)}`, owner)
    expect(headers.get('location'), to).toBe('/')
  }
})

test('attempts to sign in are limited by address, and one person does not block another (6.3.1)', async () => {
  const attempt = async (address: string): Promise<number> =>
    (await ask('POST', '/sign-in/confirm', { 'x-forwarded-for': address }, 'token=wrong')).status
  const statuses: number[] = []
  for (let count = 0; count < 12; count++) statuses.push(await attempt('192.0.2.1'))
  expect(statuses.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 403))
  expect(statuses.slice(10)).toEqual([429, 429])
  expect(await attempt('192.0.2.2')).toBe(403)
})

describe('sessions', () => {
  const isSignedIn = async (as: Credentials): Promise<boolean> =>
    (await ask('GET', '/api/v1/me', as)).status === 200

  test('signing out ends one session, or all of a person (7.4.1, 7.4.5)', async () => {
    const [first, second, third] = [
      cookieOf(await signIn()),
      cookieOf(await signIn()),
      cookieOf(await signIn()),
    ]
    await ask('POST', '/sign-out', first, '')
    expect([await isSignedIn(first), await isSignedIn(second)]).toEqual([false, true])
    await ask('POST', '/sign-out', second, 'sessions=all')
    for (const each of [second, third, owner]) expect(await isSignedIn(each)).toBe(false)
    const { rows } = await team.server.database.auth.query('select from session')
    expect(rows.length).toBe(0)
  })

  test('a session ends after 90 days, even if it is used (7.3.2)', async () => {
    const session = cookieOf(await signIn())
    expect(await isSignedIn(session)).toBe(true)
    await team.server.database.auth.query(
      `update session set "createdAt" = now() - interval '91 days'`,
    )
    expect(await isSignedIn(session)).toBe(false)
  })
})

test('a request that announces two lengths is refused (4.2.1)', async () => {
  const status = await new Promise<number>((resolve, reject) => {
    const headers = ['content-length', '5', 'transfer-encoding', 'chunked']
    send({ port: team.server.port, method: 'POST', path: '/sign-in', headers }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
      .on('error', reject)
      .end('0\r\n\r\n')
  })
  expect(status).toBe(400)
})
