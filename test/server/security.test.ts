import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request as send } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { cookiePrefix } from '../../packages/server/dist/people/accounts.js'
import { mutateRecords } from '../fuzz/mutate.mjs'
import { Seeded } from '../simulation/seeded.mjs'
import {
  type Answer,
  addMember,
  createOrganization,
  type Credentials,
  pushTape,
  startTeam,
  type Team,
  writeRun,
} from './support/api-team.js'

/** Lines of bench/notes/asvs.md that no other test shows, on a server behind a proxy with TLS. */
let team: Team
let owner: Credentials
/** Address of a page or file by its name. */
const routes = new Map<string, string>()

/** Lines that the server writes to its log while `work` runs. */
async function logged(work: () => Promise<unknown>): Promise<string> {
  const write = process.stderr.write.bind(process.stderr)
  let lines = ''
  process.stderr.write = (chunk: string) => {
    lines += chunk
    return true
  }
  try {
    await work()
  } finally {
    process.stderr.write = write
  }
  return lines
}

const ask = async (
  method: string,
  route: string,
  as: Credentials = {},
  body?: string | Uint8Array<ArrayBuffer>,
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

const requestHere: Team['request'] = async (as, method, route, body) => {
  const isBytes = body instanceof Uint8Array
  const { status, text, headers } = await ask(
    method,
    route,
    { accept: 'application/json', 'content-type': 'application/json', ...as },
    body === undefined || isBytes
      ? (body as Uint8Array<ArrayBuffer> | undefined)
      : JSON.stringify(body),
  )
  return { status, text, headers, json: () => JSON.parse(text) as never }
}

const signIn = async (as: Credentials = {}): Promise<Response> => {
  const { accounts } = team.server
  const lines = await logged(() => accounts.sendLink('owner@acme.test', new Headers()))
  return accounts.useLink(/token=(\S+)/.exec(lines)?.[1] ?? '', new Headers(as))
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
  const as = { ...owner, origin: 'https://retake.test' }
  const api = { ...team, request: requestHere }
  await requestHere(as, 'POST', '/api/v1/acme/projects', { slug: 'shop', name: 'Shop' })
  const folder = mkdtempSync(path.join(tmpdir(), 'retake-security-'))
  const pushed = await pushTape(api, as, ['acme', 'shop'], writeRun(folder, 'run-1', 'shoes'))
  if (pushed.status !== 201) throw new Error(pushed.text)
  rmSync(folder, { recursive: true })
  const { files } = (await requestHere(as, 'GET', '/api/v1/acme/projects/shop/runs/run-1')).json<{
    files: { link: string }[]
  }>()
  routes.set('a file', `/api/v1/${files[0]?.link}`)
  const { text } = await ask('GET', '/sign-in')
  routes.set('a style', /href="(\/assets\/[^"]+)"/.exec(text)?.[1] ?? '')
})
afterAll(() => team.close())

test('cookies are only for us, only with TLS, and not for scripts (3.3.1–3.3.4)', async () => {
  const target = await ask('GET', '/sign-in?to=/acme')
  const cookies = [...(await signIn()).headers.getSetCookie(), ...target.headers.getSetCookie()]
  expect(cookies).toHaveLength(2)
  for (const cookie of cookies) {
    expect(cookie).toMatch(/^__Host-retake\./)
    for (const part of ['Secure', 'HttpOnly', 'SameSite=Lax', 'Path=/'])
      expect(cookie.split('; ')).toContain(part)
    expect(cookie, 'for no other host').not.toMatch(/domain=/i)
  }
  // Below a path, browsers refuse the stricter name.
  expect(cookiePrefix('https://retake.test/team')).toBe('__Secure-')
  expect(cookiePrefix('http://localhost:4700')).toBe('')
})

test.each([
  '/',
  '/acme',
  '/sign-in',
  '/acme/missing',
  '/api/v1',
  '/api/v1/acme/projects',
  '/healthz',
  '/metrics',
  '/acme/shop',
  '/acme/shop/runs/run-1',
  'a file',
  'a style',
])('the answer to %s has the headers that protect it (3.4.1–3.4.6, 14.3.2)', async (route) => {
  const { headers, status, text } = await ask('GET', routes.get(route) ?? route, owner)
  expect(status, text).toBeLessThan(500)
  const policy = headers.get('content-security-policy')?.split('; ') ?? []
  for (const part of ["default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"])
    expect(policy).toContain(part)
  expect(policy.join()).not.toMatch(/unsafe|\*|https?:/)
  expect(headers.get('strict-transport-security')).toBe('max-age=31536000')
  expect(headers.get('x-content-type-options')).toBe('nosniff')
  expect(headers.get('referrer-policy')).toBe('same-origin')
  expect(headers.get('cache-control')).toBe(
    route === 'a style' ? 'private, max-age=31536000, immutable' : 'no-store',
  )
  expect(headers.get('access-control-allow-origin'), 'no other origin').toBe(null)
  expect(headers.get('server') ?? headers.get('x-powered-by')).toBe(null)
  expect(headers.get('content-type') ?? 'none').toMatch(
    /charset=utf-8|^application\/(?:json|octet-stream)$|^none$/i,
  )
})

test('a file is never shown as a page, and its name is ours (3.2.1, 5.4.1, 5.4.2)', async () => {
  const { headers, status } = await ask('GET', routes.get('a file') ?? '')
  expect(status).toBe(200)
  expect(headers.get('content-type')).toBe('application/octet-stream')
  expect(headers.get('content-disposition')).toMatch(/^attachment; filename="[0-9a-f]{64}"$/)
})

test('only a whole tape is accepted, with its own id, after its file (2.3.1, 5.2.2)', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'retake-security-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const as = { ...owner, origin: 'https://retake.test' }
  const tape = readFileSync(writeRun(folder, 'run-2', 'hats'))
  const changed = Buffer.from(tape)
  changed.writeUInt8(changed.readUInt8(tape.length >> 1) ^ 1, tape.length >> 1)
  for (const [name, content] of [
    ['cut', tape.subarray(0, tape.length >> 1)],
    ['changed', changed],
    ['renamed', tape],
    ['garbage', Buffer.from('<script>alert(1)</script>')],
    ['zip', Buffer.from('504b0304', 'hex')],
    ['empty', Buffer.alloc(0)],
  ] as const) {
    const file = path.join(folder, `${name}.tape`)
    writeFileSync(file, content)
    const answer = await pushTape({ ...team, request: requestHere }, as, ['acme', 'shop'], file)
    expect([name, answer.status]).toEqual([name, 422])
  }
  const early = { run: 'run-3', files: [{ name: 'run-3.tape', digest: 'b'.repeat(64), bytes: 9 }] }
  const refused = await requestHere(as, 'POST', '/api/v1/acme/projects/shop/runs', early)
  expect(refused.status).toBeGreaterThanOrEqual(400)
  const { text } = await requestHere(as, 'GET', '/api/v1/acme/projects/shop/runs')
  expect((JSON.parse(text) as { runs: unknown[] }).runs).toHaveLength(1)
})

test('members create no organizations, and owners only up to the limit (2.4.1)', async () => {
  const { auth } = team.server.database
  onTestFinished(
    async () => void (await auth.query(`delete from "user" where email like '%@more.test'`)),
  )
  const [organization] = await team.server.database.organizations()
  const acme = { id: organization?.id ?? '', owner }
  const create = (as: Credentials, name: string) =>
    ask('POST', '/organizations', as, new URLSearchParams({ name }).toString())
  for (const role of ['viewer', 'member', 'admin'] as const) {
    const as = await addMember(team, acme, `${role}@more.test`, role)
    const refused = await create(as, `Of ${role}`)
    expect(`${refused.status} ${refused.text}`).toMatch(/^403 [^]*another organization/)
    expect((await ask('GET', '/', as)).text).not.toContain('Create organization')
  }
  expect((await ask('GET', '/', owner)).text).toContain('Create organization')
  const attempts = await Promise.all(
    Array.from({ length: 8 }, (_, index) => create(owner, `More ${index}`)),
  )
  expect(attempts.filter(({ status }) => status === 303)).toHaveLength(2)
  expect(attempts.filter(({ status }) => status === 403)).toHaveLength(6)
  expect(await team.server.database.organizations()).toHaveLength(3)
  expect((await ask('GET', '/', owner)).text).not.toContain('Create organization')
})

test('webhooks and model endpoints in private networks are refused when they are saved (1.3.6)', async () => {
  const base = ['http://127.0.0.1:1', 'http://[::1]', 'http://localhost', 'http://2130706433']
  const model = { provider: 'openai', key: 'x', models: ['gpt-4o'], jobUsd: 1, monthUsd: 1 }
  for (const url of [...base, 'http://169.254.169.254/latest', 'http://10.0.0.8']) {
    const form = new URLSearchParams({ action: 'webhook', url, event: 'fix' }).toString()
    const hook = await ask('POST', '/acme/settings', owner, form)
    expect(`${hook.status} ${hook.text}`, url).toMatch(/^422 [^]*private network/)
    const set = await requestHere(owner, 'PUT', '/api/v1/acme/model', { ...model, baseUrl: url })
    expect(`${set.status} ${set.text}`, url).toMatch(/^422 [^]*private network/)
  }
  expect((await requestHere(owner, 'GET', '/api/v1/acme/model')).text).toBe('{"endpoint":null}')
  expect((await ask('GET', '/acme/settings', owner)).text).not.toContain('127.0.0.1')
})

test('methods that nothing uses are refused (13.4.4)', async () => {
  for (const method of ['TRACE', 'OPTIONS', 'PROPFIND']) {
    const status = await new Promise<number>((resolve, reject) => {
      send({ port: team.server.port, method, path: '/acme' }, (response) => {
        response.resume()
        resolve(response.statusCode ?? 0)
      })
        .on('error', reject)
        .end()
    })
    expect([403, 404], method).toContain(status)
  }
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
  // A command line that waits for its person does not block the sign-on of others.
  const poll = (route: string) =>
    ask('POST', `/api/auth/${route}`, { 'x-forwarded-for': '192.0.2.3' }, '')
  for (let count = 0; count < 12; count++) await poll('device/code')
  const limited = await poll('device/code')
  expect([limited.status, Number(limited.headers.get('retry-after')) > 0]).toEqual([429, true])
  expect((await poll('callback/sso')).status).not.toBe(429)
  // `retake login` polls every two seconds, from several terminals.
  for (let count = 0; count < 90; count++) expect((await poll('device/token')).status).toBe(400)
})

describe('pushes that no client sends', () => {
  const route = '/api/v1/acme/projects/shop'
  const file = { name: 'run-7.tape', digest: 'b'.repeat(64), bytes: 9 }
  const lists: readonly unknown[] = [
    undefined,
    null,
    {},
    'run-7.tape',
    [],
    [null],
    [[]],
    [3],
    Array.from({ length: 5000 }, () => file),
    [file, file],
    ...['../run-7.tape', '/tmp/run-7.tape', 'run-7\0.tape', 'x'.repeat(3000), '', null, {}].map(
      (name) => [{ ...file, name }],
    ),
    ...['../../../etc', 'B'.repeat(64), '', null, ['b'.repeat(64)]].map((digest) => [
      { ...file, digest },
    ]),
    ...[-1, 0.5, 1e300, '9', null, 2 ** 40].map((bytes) => [{ ...file, bytes }]),
  ]
  const as = () => ({ ...owner, origin: 'https://retake.test' })
  const codeOf = (text: string): unknown =>
    (JSON.parse(text) as { error?: { code?: unknown } }).error?.code

  test('a list of files that is none is refused with a code', async () => {
    for (const files of lists)
      for (const [to, body] of [
        ['uploads', { files }],
        ['runs', { run: 'run-7', files }],
      ] as const) {
        const { status, text } = await requestHere(as(), 'POST', `${route}/${to}`, body)
        const name = `${to} ${JSON.stringify(files)?.slice(0, 80)}: ${text}`
        expect([status >= 400 && status < 500, codeOf(text)], name).toEqual([
          true,
          expect.stringMatching(/^(?:REQUEST_INVALID|TOO_LARGE)$/),
        ])
      }
  })

  test('other fields are refused with a code', async () => {
    const files = [file]
    for (const more of [
      { run: null },
      { run: {} },
      { run: '../run-7' },
      { run: 'run-7\0' },
      { run: 'x'.repeat(3000) },
      { tags: 'a' },
      { tags: [null] },
      { note: {} },
    ]) {
      const body = { run: 'run-7', files, ...more }
      const { status, text } = await requestHere(as(), 'POST', `${route}/runs`, body)
      expect([status, codeOf(text)], JSON.stringify(more)).toEqual([422, 'REQUEST_INVALID'])
    }
  })

  test('changed records are accepted, or refused with a code, and nothing is written elsewhere', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'retake-security-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const codes = new Set<unknown>()
    for (let at = 0; at < 16; at++) {
      const random = new Seeded(`push:${at}`)
      const tape = writeRun(folder, `changed-${at}`, 'socks')
      writeFileSync(tape, mutateRecords(random, readFileSync(tape)).bytes)
      const api = { ...team, request: requestHere }
      const { status, text } = await pushTape(api, as(), ['acme', 'shop'], tape)
      expect(status, `${at}: ${text}`).toBeLessThan(500)
      codes.add(status < 300 ? status : codeOf(text))
    }
    expect(codes).toEqual(new Set([201, 'TAPE_REFUSED']))
    expect(readdirSync(path.dirname(team.data))).toEqual(['data'])
    const { text } = await requestHere(as(), 'GET', `${route}/runs?q=socks`)
    for (const { id } of (JSON.parse(text) as { runs: { id: string }[] }).runs)
      expect(id).toMatch(/^changed-\d+$/)
  }, 120_000)
})

describe('requests that nobody expects', () => {
  const api = '/api/v1/acme/projects'
  const odd = ["'", '%00', '%ff', '-1', '1e9', '../..', '%2e%2e%2f', 'x'.repeat(3000), '\u{1f600}']
  test.each([
    ['GET', '/ODD'],
    ['GET', '/acme/ODD'],
    ['GET', `${api}/ODD/runs`],
    ['GET', `${api}/shop/runs?q=ODD&before=ODD`],
    ['GET', `${api}/shop/runs/ODD`],
    ['GET', `${api}/shop/clusters?days=ODD`],
    ['GET', `${api}/shop/jobs?run=ODD`],
    ['GET', `${api}/shop/jobs/ODD`],
    ['GET', `${api}/shop/approvals/ODD?wait=0`],
    ['DELETE', `${api}/shop/filters/ODD`],
    ['PATCH', `${api}/shop/uploads/ODD?offset=ODD&size=ODD`],
    ['DELETE', '/api/v1/acme/keys/ODD'],
    ['GET', '/api/v1/blobs/ODD'],
    ['GET', '/badges/ODD.svg'],
    ['GET', '/invitations/ODD'],
    ['GET', '/unsubscribe?token=ODD'],
    ['GET', '/setup?token=ODD'],
    ['GET', '/acme/shop/runs/ODD/team'],
  ])('%s %s is answered, not an accident (2.2.1, 16.5.3)', async (method, pattern) => {
    for (const [index, each] of odd.entries()) {
      const route = pattern.replaceAll('ODD', each)
      const answer = await ask(method, route, {
        ...owner,
        'x-forwarded-for': `198.51.100.${index}`,
      })
      expect(answer.status, `${method} ${route} ${answer.text}`).toBeLessThan(500)
    }
  })

  test('an address that would add lines to a mail is refused (1.3.11)', async () => {
    for (const email of [
      'a@b.test\r\nbcc: c@d.test',
      'a@b.test, c@d.test',
      '<a@b.test>',
      'a b@c.d',
    ]) {
      const form = new URLSearchParams({ email }).toString()
      expect((await ask('POST', '/sign-in', {}, form)).status, email).toBe(422)
    }
  })

  test('fields that a request should not have are ignored or refused (15.3.3, 15.3.6)', async () => {
    const post = (route: string, body: string) =>
      ask('POST', route, { ...owner, 'content-type': 'application/json' }, body)
    const inherited = await post(api, '{"__proto__":{"slug":"planted","name":"x"}}')
    expect(inherited.status).toBe(422)
    const key = { name: 'ci', org: 'other', hash: 'x', createdBy: 'eve', scopes: ['read'] }
    expect((await post('/api/v1/acme/keys', JSON.stringify(key))).status).toBe(201)
    const { text } = await ask('GET', '/api/v1/acme/keys', owner)
    expect(text).toContain('owner@acme.test')
    expect(text).not.toContain('eve')
  })

  test('a body above the limit is refused, whatever length it announces (2.3.2, 5.2.1)', async () => {
    const body = JSON.stringify({ slug: 'x'.repeat(5 << 20) })
    const { status, text } = await ask(
      'POST',
      api,
      { ...owner, accept: 'application/json', 'content-type': 'application/json' },
      body,
    )
    expect([status, text.includes('TOO_LARGE')]).toEqual([413, true])
  })

  test('an accident is explained by a number in the log, without internals or tokens (16.2.5, 16.5.1)', async () => {
    const { auth } = team.server.database
    await auth.query('alter table invitation rename to hidden')
    onTestFinished(async () => void (await auth.query('alter table hidden rename to invitation')))
    const route = '/invitations/confidential?proof=confidential'
    let answer: Awaited<ReturnType<typeof ask>> | undefined
    const lines = await logged(async () => (answer = await ask('GET', route)))
    expect(answer?.status).toBe(500)
    expect(answer?.text).not.toMatch(/invitation|relation|select|\.js|node_modules/)
    const id = answer?.headers.get('x-request-id') ?? ''
    expect(answer?.text).toContain(`request ${id}`)
    expect(lines).toContain(`id=${id}`)
    expect(lines).toContain('relation')
    expect(lines).not.toContain('confidential')
  })
})

test('the log says who did what, from where, and who was refused (16.2.1, 16.3.1, 16.3.2)', async () => {
  const signedIn = await logged(async () => signIn())
  expect(signedIn).toMatch(/signed in who=owner@acme\.test/)
  const refused = await logged(() => ask('GET', '/api/v1/me', { authorization: 'Bearer rtk_x' }))
  expect(refused).toMatch(
    /warn request id=\w+ method=GET route=\/api\/v1\/me status=401 .*from=127/,
  )
  expect(refused).not.toContain('rtk_x')
  const mistake = await logged(() => ask('GET', '/api/v1/acme/model', { ...owner, origin: 'x' }))
  expect(mistake).toBe('')
  const forbidden = await logged(() => ask('DELETE', '/api/v1/acme', { ...owner, origin: 'x' }))
  expect(forbidden).toMatch(/status=403/)
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

  test('signing in again ends the session before (7.2.4)', async () => {
    const first = cookieOf(await signIn())
    const second = cookieOf(await signIn(first))
    expect([await isSignedIn(first), await isSignedIn(second)]).toEqual([false, true])
  })

  test('a session ends 14 days after its last use (7.3.1)', async () => {
    const session = cookieOf(await signIn())
    const { rows } = await team.server.database.auth.query<{ days: number }>(
      `select extract(epoch from max("expiresAt") - now())::float8 / 86400 as days from session`,
    )
    expect(rows[0]?.days).toBeCloseTo(14, 1)
    await team.server.database.auth.query(`update session set "expiresAt" = now()`)
    expect(await isSignedIn(session)).toBe(false)
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
