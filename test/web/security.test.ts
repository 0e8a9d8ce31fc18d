import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeWorkspace } from '../support/run-retake.mjs'
import { rawRequest } from '../support/raw-http.js'
import { askRaw, type Answer } from './support/ask-raw.js'
import { launchUi, type Ui } from './support/start-ui.js'
import { writeTape } from './support/write-tape.js'

let workspace: Awaited<ReturnType<typeof makeWorkspace>>
let ui: Ui
let port: number
let run: string
/** What a browser that was let in sends along. */
let cookie: string

beforeAll(async () => {
  workspace = await makeWorkspace()
  run = 'hidden-run'
  const tape = writeTape(workspace.folder, { id: run, name: 'demo' }, (script) =>
    script.chat([{ role: 'user', content: 'Hello' }], 'Hello yourself'),
  )
  // Beside the folder of the runs: what must not be reached from it.
  cpSync(tape, join(tape, '../../outside.tape'))
  ui = await launchUi(workspace.folder)
  port = Number(new URL(ui.url).port)
  const { headers } = await askRaw(port, `/?token=${ui.token}`)
  cookie = headers['set-cookie']?.[0]?.split(';')[0] ?? ''
})

afterAll(async () => {
  await ui.stop()
  await workspace.remove()
})

/** A request of somebody who was let in, with more or other headers. */
const ask = (
  path: string,
  headers: Readonly<Record<string, string>> = {},
  rest: { method?: string; body?: string } = {},
): Promise<Answer> => askRaw(port, path, { headers: { cookie, ...headers }, ...rest })

const statuses = (answers: readonly Answer[]): number[] => answers.map(({ status }) => status)

describe('the key', () => {
  test('is needed for pages, assets and API', async () => {
    const asset = await assetPath()
    for (const path of ['/', `/runs/${run}`, asset, '/api/runs', '/api/changes', '/nothing']) {
      const answer = await askRaw(port, path)
      expect(answer.status, path).toBe(401)
      expect(answer.text).not.toContain('demo')
    }
    expect(statuses(await Promise.all(['/', asset, '/api/runs'].map((path) => ask(path))))).toEqual(
      [200, 200, 200],
    )
  })

  test('if missing, leads to a page without scripts that says where to find it', async () => {
    const { text } = await askRaw(port, `/runs/${run}?step=3`)
    expect(text).toContain('Open the address that <code>retake ui</code> printed')
    expect(text).not.toContain('<script')
    expect((await askRaw(port, '/api/runs')).code).toBe('VIEWER_NOT_SIGNED_IN')
  })

  test('in the address becomes a cookie and is removed from the address', async () => {
    const { status, headers } = await askRaw(port, `/runs/${run}?step=3&token=${ui.token}&tab=chat`)
    expect(status).toBe(303)
    expect(headers.location).toBe(`/runs/${run}?step=3&tab=chat`)
    const [set = ''] = headers['set-cookie'] ?? []
    expect(set).toMatch(new RegExp(`^retake_${port}=[\\w-]{32,}; `))
    expect(set.split('; ').slice(1).toSorted()).toEqual(['HttpOnly', 'Path=/', 'SameSite=Strict'])
    expect(set).not.toContain(ui.token)
    expect(ui.token.length).toBeGreaterThanOrEqual(22)
  })

  test('opens nothing if it is wrong', async () => {
    const wrong = `${ui.token.slice(0, -1)}${ui.token.endsWith('A') ? 'B' : 'A'}`
    for (const token of [wrong, '', ui.token.slice(0, -1), `${ui.token}A`]) {
      const answer = await askRaw(port, `/?token=${token}`)
      expect(answer.status, token).toBe(401)
      expect(answer.headers['set-cookie']).toBeUndefined()
      const bearer = await askRaw(port, '/api/runs', {
        headers: { authorization: `Bearer ${token}` },
      })
      expect(bearer.status, token).toBe(401)
    }
    const forged = await askRaw(port, '/api/runs', {
      headers: { cookie: `retake_${port}=${wrong}` },
    })
    expect(forged.status).toBe(401)
    const bearer = { headers: { authorization: `Bearer ${ui.token}` } }
    expect((await askRaw(port, '/api/runs', bearer)).status).toBe(200)
  })

  test('does not redirect to another host, whatever the address contains', async () => {
    for (const path of ['//evil.test/', '//evil.test', '/\\evil.test', '///evil.test/x']) {
      const { headers } = await askRaw(port, `${path}?token=${ui.token}`)
      expect(new URL(headers.location ?? '/', ui.url).host, path).toBe(new URL(ui.url).host)
    }
  })
})

describe('the name of the host', () => {
  test('must be that of the viewer, because other names can be made to resolve here', async () => {
    for (const host of [
      `evil.test:${port}`,
      `127.0.0.1:${port + 1}`,
      '127.0.0.1',
      `localhost.evil.test:${port}`,
      `evil-localhost:${port}`,
      `localhost.:${port}`,
      `0.0.0.0:${port}`,
    ]) {
      expect((await ask('/api/runs', { host })).code, host).toBe('VIEWER_HOST_NOT_ALLOWED')
      expect((await ask(`/?token=${ui.token}`, { host })).status, host).toBe(421)
    }
    for (const host of [
      `127.0.0.1:${port}`,
      `localhost:${port}`,
      `[::1]:${port}`,
      `LOCALHOST:${port}`,
    ])
      expect((await ask('/api/runs', { host })).status, host).toBe(200)
  })

  test('is required', async () => {
    const { text } = await rawRequest(ui.url, `GET /api/runs HTTP/1.0\r\ncookie: ${cookie}\r\n\r\n`)
    expect(text).toMatch(/^HTTP\/1\.1 421 /)
    const { text: answered } = await rawRequest(
      ui.url,
      `GET /api/repository HTTP/1.0\r\nhost: 127.0.0.1:${port}\r\ncookie: ${cookie}\r\n\r\n`,
    )
    expect(answered).toMatch(/^HTTP\/1\.1 200 /)
  })
})

describe('a page of another origin', () => {
  const refused = 'VIEWER_ORIGIN_NOT_ALLOWED'

  test('is refused because of its origin', async () => {
    for (const origin of [
      'https://evil.test',
      'null',
      `http://127.0.0.1:${port + 1}`,
      `http://localhost:${port}`,
      `https://127.0.0.1:${port}`,
      '',
    ])
      expect((await ask('/api/runs', { origin })).code, origin).toBe(refused)
    expect((await ask('/api/runs', { origin: `http://127.0.0.1:${port}` })).status).toBe(200)
    const own = { origin: `http://localhost:${port}`, host: `localhost:${port}` }
    expect((await ask('/api/runs', own)).status).toBe(200)
  })

  test('is refused because of its fetch metadata', async () => {
    for (const site of ['cross-site', 'same-site', 'anything'])
      expect((await ask('/api/runs', { 'sec-fetch-site': site })).code, site).toBe(refused)
    for (const site of ['same-origin', 'none'])
      expect((await ask('/api/runs', { 'sec-fetch-site': site })).status, site).toBe(200)
  })

  test('can open a page in a tab and nothing else', async () => {
    const link = {
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
    }
    expect((await ask(`/runs/${run}`, link)).status).toBe(200)
    expect((await ask('/api/runs', link)).status).toBe(403)
    expect((await ask(await assetPath(), link)).status).toBe(403)
    expect((await ask(`/runs/${run}`, { ...link, 'sec-fetch-dest': 'iframe' })).status).toBe(403)
    expect((await ask(`/runs/${run}`, { ...link, 'sec-fetch-mode': 'no-cors' })).status).toBe(403)
    expect((await ask('/', link, { method: 'POST' })).text).toContain('from another page')
  })

  test('never gets CORS permission', async () => {
    const origin = 'https://evil.test'
    const preflight = { 'access-control-request-method': 'POST', origin }
    for (const headers of [preflight, {}]) {
      const answer = await ask('/api/runs', headers, { method: 'OPTIONS' })
      expect(answer.status).toBe(405)
    }
    const answers = [
      await ask('/api/runs', preflight, { method: 'OPTIONS' }),
      await ask('/api/runs', { origin }),
      await ask('/api/runs', { origin: `http://127.0.0.1:${port}` }),
    ]
    for (const { headers } of answers)
      expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([])
    expect((await ask('/api/runs', {}, { method: 'TRACE' })).status).toBe(405)
  })
})

describe('a change', () => {
  const path = '/api/jobs/none/stop'
  const marked = { 'x-retake': '1' }
  const json = { 'content-type': 'application/json' }

  test('needs a header that no form can send', async () => {
    const post = { method: 'POST', body: '{}' }
    expect((await ask(path, json, post)).code).toBe('VIEWER_CHANGE_NOT_MARKED')
    expect((await ask(path, { ...json, 'x-retake': '0' }, post)).code).toBe(
      'VIEWER_CHANGE_NOT_MARKED',
    )
    for (const method of ['PUT', 'PATCH', 'DELETE'])
      expect((await ask(path, {}, { method })).code, method).toBe('VIEWER_CHANGE_NOT_MARKED')
    expect((await ask(path, { ...json, ...marked }, post)).code).toBe('NO_SUCH_JOB')
  })

  test('must be JSON, which no form can send', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      '',
    ]) {
      const headers = { ...marked, 'content-type': type }
      const answer = await ask(path, headers, { method: 'POST', body: '{}' })
      expect(answer.code, type).toBe('VIEWER_BODY_NOT_JSON')
    }
    const charset = { ...marked, 'content-type': 'application/json; charset=utf-8' }
    expect((await ask(path, charset, { method: 'POST', body: '{}' })).code).toBe('NO_SUCH_JOB')
    // There is nothing in it that could be of another type.
    expect((await ask(path, marked, { method: 'POST' })).code).toBe('NO_SUCH_JOB')
  })

  test('needs a length within the limit, which is checked before the body is read', async () => {
    const headers = { ...marked, ...json }
    const chunked = { ...headers, 'transfer-encoding': 'chunked' }
    expect((await ask(path, chunked, { method: 'POST', body: '{}' })).code).toBe(
      'VIEWER_LENGTH_MISSING',
    )
    const head = Object.entries({
      host: `127.0.0.1:${port}`,
      cookie,
      ...headers,
      'content-length': String(64 * 1024 * 1024 + 1),
    })
    const { text } = await rawRequest(
      ui.url,
      `POST ${path} HTTP/1.1\r\n${head.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`,
      'VIEWER_BODY_TOO_LARGE',
    )
    expect(text).toMatch(/^HTTP\/1\.1 413 /)
  })
})

describe('an address', () => {
  test('leads to nothing outside the built files', async () => {
    for (const path of [
      '/assets/../index.html',
      '/assets/%2e%2e/index.html',
      '/assets/..%2findex.html',
      '/assets/..%2f..%2f..%2fpackage.json',
      '/assets/..%5cindex.html',
      '/assets/%00',
      '/assets/.hidden',
      '/assets/',
      '/assets/a/b.js',
      '/assets//etc/passwd',
    ]) {
      const { status, text } = await ask(path)
      // What a browser would resolve before it asks is an address of the viewer's page.
      const isPage = status === 200 && text.includes('<div id="root">')
      expect(isPage || status === 404, `${path}: ${status}`).toBe(true)
      expect(path.includes('%2f') && status !== 404, path).toBe(false)
    }
    expect((await ask(await assetPath())).headers['content-type']).toMatch(
      /^text\/(javascript|css)/,
    )
  })

  test('leads to no tape outside the folder', async () => {
    for (const id of ['..%2foutside', '..%2Foutside', '%2e%2e%2foutside', '..%5coutside', '.'])
      expect((await ask(`/api/runs/${id}`)).status, id).toBe(404)
    expect((await ask(`/api/runs/${run}`)).status).toBe(200)
  })

  test('that is unknown to the API is not a page', async () => {
    expect((await ask('/api/nothing')).code).toBe('VIEWER_NO_SUCH_ADDRESS')
    expect((await ask('/api')).code).toBe('VIEWER_NO_SUCH_ADDRESS')
    expect((await ask(`/api/runs/${run}/rows?from=x`)).code).toBe('VIEWER_BAD_REQUEST')
    expect((await ask(`/api/runs/${run}/rows?from=1&from=2`)).status).toBe(400)
    expect((await ask(`/api/runs/${run}/rows?from=1`)).status).toBe(200)
  })
})

describe('every answer', () => {
  test('has security headers, refusals included', async () => {
    const answers = await Promise.all([
      ask('/'),
      ask(await assetPath()),
      ask('/api/runs'),
      ask('/api/nothing'),
      ask('/', {}, { method: 'OPTIONS' }),
      askRaw(port, '/'),
      askRaw(port, `/?token=${ui.token}`),
      askRaw(port, '/', { headers: { host: 'evil.test' } }),
    ])
    for (const { headers } of answers)
      expect(headers).toMatchObject({
        'content-security-policy': expect.stringMatching(
          /^default-src 'none'; script-src 'self'; style-src 'self' 'nonce-[\w+/=]{24}'; connect-src 'self'; img-src 'self' data:; font-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'$/,
        ),
        'x-frame-options': 'DENY',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
      })
    expect(answers[2]?.headers['cache-control']).toBe('no-store')
    expect(answers[0]?.headers['cache-control']).toBe('no-store')
  })

  test('has its own nonce, which the page knows', async () => {
    const [first, second] = [await ask('/'), await ask('/')]
    const nonceOf = ({ headers }: Answer) =>
      /nonce-([^']+)/.exec(String(headers['content-security-policy']))?.[1] ?? ''
    expect(nonceOf(first)).not.toBe(nonceOf(second))
    expect(first.text).toContain(`<meta name="csp-nonce" content="${nonceOf(first)}">`)
  })

  test('with bytes of a tape is a download, never a page', async () => {
    expect((await ask(`/api/runs/${run}/steps/1/body/request`)).headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': expect.stringMatching(/^attachment; filename="[\w.-]+"$/),
      'x-content-type-options': 'nosniff',
    })
  })
})

async function assetPath(): Promise<string> {
  return /\/assets\/[\w.-]+\.js/.exec((await ask('/')).text)?.[0] ?? ''
}
