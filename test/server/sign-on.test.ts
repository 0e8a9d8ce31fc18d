import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
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
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { skipTest, soakOnly } from '../support/soak.js'
import { createOrganization, startTeam } from './support/api-team.js'

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Follows redirects like a browser, with cookies by port, until `stop` or a page that has no form. */
async function browse(start: string, login: string): Promise<Map<string, string>> {
  const jars = new Map<string, Map<string, string>>()
  let next: { url: string; init: RequestInit } | undefined = { url: start, init: {} }
  let jar = new Map<string, string>()
  for (let step = 0; next !== undefined && step < 20; step++) {
    const { url, init }: { url: string; init: RequestInit } = next
    const { port } = new URL(url)
    jar = jars.get(port) ?? new Map<string, string>()
    jars.set(port, jar)
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, {
      ...init,
      redirect: 'manual',
      headers: { ...(init.headers as Record<string, string>), accept: 'text/html', cookie },
    })
    for (const each of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (each.split(';')[0] ?? '').split(/=(.*)/s)
      jar.set(name, value)
    }
    const text = await response.text()
    const location = response.headers.get('location')
    const action = /<form[^>]* action="([^"]+\/interaction\/[^"]+)"/.exec(text)?.[1]
    const prompt = /name="prompt" value="(\w+)"/.exec(text)?.[1] ?? ''
    if (location !== null) next = { url: new URL(location, url).href, init: {} }
    else if (action !== undefined)
      next = {
        url: new URL(action, url).href,
        init: {
          method: 'POST',
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          body: new URLSearchParams({ prompt, login, password: 'any' }).toString(),
        },
      }
    else next = undefined
  }
  return jar
}

test('a real OpenID Connect provider signs a person in', async () => {
  soakOnly()
  // Not installed with this repository: `npm i --no-save oidc-provider`.
  const name = 'oidc-provider'
  const found = (await import(/* @vite-ignore */ name).catch(() => undefined)) as
    | { Provider: new (issuer: string, settings: unknown) => { listen(port: number): Server } }
    | undefined
  if (found === undefined) return skipTest('the package oidc-provider is not installed')
  const [providerPort, port] = [await freePort(), await freePort()]
  const issuer = `http://localhost:${providerPort}`
  const client = { client_id: 'retake', client_secret: 'x'.repeat(32) }
  const provider = new found.Provider(issuer, {
    clients: [
      {
        ...client,
        redirect_uris: [`http://localhost:${port}/api/auth/callback/sso`],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    conformIdTokenClaims: false,
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    cookies: { keys: ['any'] },
    findAccount: (_: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@acme.test`, email_verified: true, name: id }),
    }),
  }).listen(providerPort)
  const team = await startTeam({
    RETAKE_URL: `http://localhost:${port}`,
    RETAKE_PORT: String(port),
    RETAKE_OIDC_ISSUER: issuer,
    RETAKE_OIDC_CLIENT_ID: client.client_id,
    RETAKE_OIDC_CLIENT_SECRET: client.client_secret,
  })
  try {
    await createOrganization(team, 'acme')
    const jar = await browse(`${team.server.url}/sign-in/sso`, 'owner')
    const cookie = [...jar].map(([key, value]) => `${key}=${value}`).join('; ')
    const me = await team.request({ cookie }, 'GET', '/api/v1/me')
    expect(me.json()).toMatchObject({ person: { email: 'owner@acme.test' } })
  } finally {
    await team.close()
    provider.close()
    provider.closeAllConnections()
  }
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

test('OpenSMTPD delivers the link that signs a person in', async () => {
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
  const team = await startTeam({
    RETAKE_SMTP_URL: `smtp://127.0.0.1:${port}`,
    RETAKE_MAIL_FROM: 'retake@acme.test',
  })
  try {
    await createOrganization(team, 'acme')
    await team.server.accounts.sendLink('owner@acme.test', new Headers())
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
    const token = /confirm\?token=([\w-]+)/.exec(text)?.[1] ?? ''
    const signedIn = await team.server.accounts.useLink(token, new Headers())
    expect(signedIn.headers.getSetCookie().join()).toContain('session_token')
    await expect(team.server.accounts.useLink(token, new Headers())).rejects.toMatchObject({
      code: 'LINK_INVALID',
    })
  } finally {
    await team.close()
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
