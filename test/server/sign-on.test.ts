import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { createHmac, createSign, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import type { Server } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import Provider from 'oidc-provider'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { signOnProblem } from '../../packages/server/dist/people/sign-on.js'
import { skipTest, soakOnly } from '../support/soak.js'
import { failedRequests, openPage } from '../web/support/browser.js'
import { startTeamServer, type TeamServer, Visitor } from './support/team-server.js'
import { freePort } from '../support/free-port.mjs'

/** People at the provider. */
const CLAIMS: Readonly<Record<string, { readonly email: string; readonly verified: boolean }>> = {
  owner: { email: 'owner@acme.test', verified: true },
  thief: { email: 'owner@acme.test', verified: false },
  stranger: { email: 'stranger@elsewhere.test', verified: true },
}

/** A real provider with forms that accept any password. */
async function startProvider(port: number, redirectUri: string): Promise<Server> {
  const provider = new Provider(`http://localhost:${port}`, {
    clients: [
      {
        ...CLIENT,
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    conformIdTokenClaims: false,
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    cookies: { keys: ['any'] },
    jwks: {
      keys: [{ ...SIGNING.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'own' }],
    },
    findAccount: (_: unknown, id: string) => ({
      accountId: id,
      claims: () => ({
        sub: id,
        email: CLAIMS[id]?.email,
        email_verified: CLAIMS[id]?.verified,
        name: id,
      }),
    }),
  })
  provider.use(async (context, next) => {
    await next()
    const answer = context.body as { id_token?: string } | undefined
    if (answer?.id_token !== undefined) answer.id_token = changeToken(answer.id_token)
  })
  const server = provider.listen(port)
  await once(server, 'listening')
  return server
}

const rsaKey = (): KeyObject => generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
const SIGNING = rsaKey()
/** Changes the ID token that the provider issues. */
let changeToken = (token: string): string => token

const jsonPart = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** The same token with other claims, signed with a key of our choice. */
function issue(
  token: string,
  changes: object,
  { key = SIGNING, header = {} }: { readonly key?: KeyObject; readonly header?: object } = {},
): string {
  const [head, claims] = token
    .split('.')
    .slice(0, 2)
    .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()) as object)
  const content = `${jsonPart({ ...head, ...header })}.${jsonPart({ ...claims, ...changes })}`
  return `${content}.${createSign('RSA-SHA256').update(content).sign(key, 'base64url')}`
}

const CLIENT = { client_id: 'retake', client_secret: 'x'.repeat(32) }

/** Signs in at the provider; returns the address that leads back. */
async function signInAtProvider(visitor: Visitor, start: string, login: string): Promise<string> {
  let url = start
  let answer = await visitor.get(url)
  for (let step = 0; step < 20 && !url.includes('/callback/'); step++) {
    const location = answer.headers.get('location')
    const form = /<form[^>]* action="([^"]+\/interaction\/[^"]+)"/.exec(answer.text)?.[1]
    const prompt = /name="prompt" value="(\w+)"/.exec(answer.text)?.[1] ?? ''
    url = new URL(location ?? form ?? '', url).href
    if (url.includes('/callback/')) return url
    answer =
      location === null
        ? await visitor.post(url, { prompt, login, password: 'any' })
        : await visitor.get(url)
  }
  throw new Error(`the provider did not return: ${url} ${answer.status} ${answer.text}`)
}

let server: TeamServer
let owner: Visitor
let providerPort: number

beforeAll(async () => {
  providerPort = await freePort()
  server = await startTeamServer({
    RETAKE_OIDC_ISSUER: `http://localhost:${providerPort}`,
    RETAKE_OIDC_CLIENT_ID: CLIENT.client_id,
    RETAKE_OIDC_CLIENT_SECRET: CLIENT.client_secret,
    RETAKE_TRUST_PROXY: 'on',
  })
  owner = new Visitor(server)
  const token = new URL(server.setupLink ?? '').searchParams.get('token') ?? ''
  const form = { token, email: 'owner@acme.test', name: 'Owner', organization: 'Acme' }
  await owner.post('/setup', form)
})
afterAll(() => server.remove())

describe('single sign-on with a real OpenID Connect provider', () => {
  let provider: Server
  const start = (): string => `${server.url}/sign-in/sso`
  const isSignedIn = async (visitor: Visitor): Promise<boolean> =>
    (await visitor.get('')).status === 200

  afterAll(() => {
    provider.close()
    provider.closeAllConnections()
  })

  test('a provider that did not answer when the server started works when it does', async () => {
    const before = await new Visitor(server).get('/sign-in/sso')
    expect(before.status).toBe(503)
    expect(before.text).toContain('Single sign-on is not working at the moment')
    provider = await startProvider(providerPort, `${server.url}/api/auth/callback/sso`)
    const visitor = new Visitor(server)
    const back = await signInAtProvider(visitor, start(), 'owner')
    const answer = await visitor.get(back)
    expect(answer.headers.get('location')).toBe(server.url)
    const page = await visitor.get('')
    expect(page.text).toContain('owner@acme.test')
    expect(page.text).toContain('Acme')

    // The same answer of the provider again, by the same browser and by another one.
    for (const again of [visitor, new Visitor(server)]) {
      const replayed = await again.get(back)
      expect(replayed.to).toMatch(/\/sign-in\?error=/)
      expect(replayed.headers.getSetCookie().join()).not.toContain('session_token=')
    }
  })

  test('the answer that another person got signs nobody in', async () => {
    const back = await signInAtProvider(new Visitor(server), start(), 'owner')
    const other = new Visitor(server)
    expect((await other.get(back)).to).toMatch(/\/sign-in\?error=/)
    expect(await isSignedIn(other)).toBe(false)
  })

  test('the answer of another issuer is refused', async () => {
    const visitor = new Visitor(server)
    const back = new URL(await signInAtProvider(visitor, start(), 'owner'))
    back.searchParams.set('iss', 'https://other.example')
    expect((await visitor.get(back.href)).to).toContain('/sign-in?error=issuer_mismatch')
    expect(await isSignedIn(visitor)).toBe(false)
    const problem = await signOnProblem(new URL(`http://127.0.0.1:${providerPort}`))
    expect(problem).toContain(`reports its issuer as http://localhost:${providerPort}`)
  })

  test.each<[what: string, change: (token: string) => string]>([
    [
      'claims that its signature does not cover',
      (token) => {
        const [, , signature = ''] = token.split('.')
        return issue(token, { sub: 'stranger' }).replace(/[^.]*$/, signature)
      },
    ],
    [
      'no signature',
      (token) => issue(token, {}, { header: { alg: 'none' } }).replace(/[^.]*$/, ''),
    ],
    ['the signature of another key', (token) => issue(token, {}, { key: rsaKey() })],
    ['another audience', (token) => issue(token, { aud: 'other' })],
    ['another issuer', (token) => issue(token, { iss: 'https://other.example' })],
    ['the nonce of another sign-on', (token) => issue(token, { nonce: 'other' })],
    ['an end that has passed', (token) => issue(token, { exp: 1_600_000_000 })],
  ])('an ID token with %s is refused', async (_, change) => {
    const visitor = new Visitor(server)
    const back = await signInAtProvider(visitor, start(), 'owner')
    changeToken = change
    onTestFinished(() => void (changeToken = (token) => token))
    expect((await visitor.get(back)).to).toMatch(/\/sign-in\?error=/)
    expect(await isSignedIn(visitor)).toBe(false)
  })

  test('an ID token that the provider signed again signs in: the others are refused for a reason', async () => {
    const visitor = new Visitor(server)
    const back = await signInAtProvider(visitor, start(), 'owner')
    changeToken = (token) => issue(token, {})
    onTestFinished(() => void (changeToken = (token) => token))
    await visitor.get(back)
    expect(await isSignedIn(visitor)).toBe(true)
  })

  test.each([
    ['an address that the provider has not verified', 'thief'],
    ['somebody who was not invited', 'stranger'],
  ])('%s gets no session and no account', async (_, login) => {
    const visitor = new Visitor(server)
    const back = await signInAtProvider(visitor, start(), login)
    const answer = await visitor.get(back)
    expect(answer.to).toMatch(/\/sign-in\?error=/)
    expect(await isSignedIn(visitor)).toBe(false)
    const page = await visitor.get(answer.headers.get('location') ?? '')
    expect(page.text).toContain('Single sign-on failed')
    const { rows } = await server.database.auth.query<{ count: string }>(
      `select count(*) from "user" union all select count(*) from account`,
    )
    expect(rows.map(({ count }) => Number(count))).toEqual([1, 1])
  })
})

describe('signing in a command line', () => {
  const post = async (route: string, body: Readonly<Record<string, string>>) => {
    const response = await fetch(`${server.url}/api/auth/device/${route}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const answer = (await response.json()) as Readonly<Record<string, string>>
    return { status: response.status, answer }
  }
  const isPerson = async (token: string): Promise<boolean> => {
    const headers = { authorization: `Bearer ${token}` }
    return (await fetch(`${server.url}/api/v1/me`, { headers })).ok
  }

  test('its token works after the code was approved, and only with its signature', async () => {
    const start = () => post('code', { client_id: 'retake' })
    const grantOf = ({ answer }: Awaited<ReturnType<typeof start>>) => ({
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: answer['device_code'] ?? '',
      client_id: 'retake',
    })
    const waiting = await post('token', grantOf(await start()))
    expect(waiting.answer).toMatchObject({ error: 'authorization_pending' })
    const started = await start()
    const grant = grantOf(started)
    const approved = await owner.post('/device', { code: started.answer['user_code'] ?? '' })
    expect(approved.status, approved.text).toBe(200)
    const { access_token: token = '' } = (await post('token', grant)).answer
    expect(await isPerson(token)).toBe(true)
    expect((await post('token', grant)).status, 'the code again').toBe(400)

    // Nor do codes in the database: they lack a signature.
    const pending = await start()
    await owner.post('/device', { code: pending.answer['user_code'] ?? '' })
    const stored = await server.database.auth.query<{ deviceCode: string }>(
      'select "deviceCode" from "deviceCode"',
    )
    const [code = ''] = (pending.answer['device_code'] ?? '').split('.')
    expect(stored.rows.map(({ deviceCode }) => deviceCode)).toContain(code)
    for (const stolen of [code, `${code}.`, `${code}.forged`])
      expect((await post('token', { ...grant, device_code: stolen })).status).toBe(400)
    expect((await post('token', grantOf(pending))).status).toBe(200)

    // Rows of the database alone sign nobody in.
    const { rows } = await server.database.auth.query<{ token: string }>(
      'select token from session',
    )
    expect(rows.map((row) => row.token)).toContain(token.split('.')[0])
    for (const row of rows) expect(await isPerson(row.token)).toBe(false)
    const forged = createHmac('sha256', 'another secret').update(token.split('.')[0] ?? '')
    expect(await isPerson(`${token.split('.')[0]}.${forged.digest('base64')}`)).toBe(false)
  })
})

/** OpenSMTPD that delivers every mail into one maildir. */
async function startMailServer(folder: string): Promise<{ child: ChildProcess; port: number }> {
  const port = await freePort()
  const mails = path.join(folder, 'mails')
  mkdirSync(mails)
  chmodSync(mails, 0o777)
  const users = path.join(folder, 'users')
  writeFileSync(users, '@ nobody\n')
  const file = path.join(folder, 'smtpd.conf')
  writeFileSync(
    file,
    [
      `table users file:${users}`,
      `listen on 127.0.0.1 port ${port}`,
      `action "store" maildir "${mails}" virtual <users>`,
      'match from any for any action "store"',
      '',
    ].join('\n'),
  )
  const child = spawn('smtpd', ['-d', '-f', file], { stdio: ['ignore', 'ignore', 'pipe'] })
  let log = ''
  child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()))
  await expect.poll(() => log, { timeout: 20_000 }).toMatch(/smtp in|startup|info: OpenSMTPD/i)
  return { child, port }
}

test('OpenSMTPD delivers the link, and a browser clicks through it', async () => {
  soakOnly()
  try {
    execFileSync('smtpd', ['-h'], { stdio: 'ignore' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return skipTest('no OpenSMTPD')
  }
  if (process.getuid?.() !== 0) return skipTest('OpenSMTPD needs root')
  const folder = mkdtempSync(path.join(tmpdir(), 'retake-mail-'))
  chmodSync(folder, 0o755)
  const { child, port } = await startMailServer(folder)
  const mailing = await startTeamServer({
    RETAKE_SMTP_URL: `smtp://127.0.0.1:${port}`,
    RETAKE_MAIL_FROM: 'retake@acme.test',
  })
  try {
    await mailing.accounts.createOwner(
      { email: 'owner@acme.test', name: 'Owner', organization: 'Acme', slug: 'acme' },
      new Headers(),
    )
    const page = await openPage({}, { expected: failedRequests })
    await page.goto(`${mailing.url}/acme/members`)
    await page.getByLabel('Your email').fill('owner@acme.test')
    await page.keyboard.press('Enter')
    await page.getByText('Check your email').first().waitFor()
    const delivered = path.join(folder, 'mails', 'new')
    const mail = (): string => {
      const file = readdirSync(delivered, { withFileTypes: true }).find((each) => each.isFile())
      return file === undefined ? '' : readFileSync(path.join(delivered, file.name), 'utf8')
    }
    await expect.poll(() => attempt(mail), { timeout: 20_000 }).toContain('sign-in/confirm')
    // Long lines of a mail are folded.
    const text = mail()
      .replaceAll(/=\r?\n/g, '')
      .replaceAll('=3D', '=')
    const link = /http:\S+confirm\?token=[\w-]+/.exec(text)?.[0] ?? ''
    // A program that scans mails opens the link first.
    expect((await new Visitor(mailing).get(link)).status).toBe(200)
    await page.goto(link)
    await page.getByRole('button', { name: 'Sign in on this device' }).click()
    await page.waitForURL(`${mailing.url}/acme/members`)
    await page.getByText('owner@acme.test').first().waitFor()

    const thief = await openPage({}, { expected: failedRequests })
    await thief.goto(link)
    await thief.getByRole('button', { name: 'Sign in on this device' }).click()
    await thief.getByRole('heading', { name: 'This link is not valid.' }).waitFor()
  } finally {
    await mailing.remove()
    child.kill('SIGTERM')
    rmSync(folder, { recursive: true, force: true })
  }
})

function attempt(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}
