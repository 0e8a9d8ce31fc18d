import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { fastest } from '../support/fastest.js'
import { makeWorkspace } from '../support/run-retake.mjs'
import { askRaw } from './support/ask-raw.js'
import { startUi } from './support/start-ui.js'
import { writeTape } from './support/write-tape.js'

const cli = fileURLToPath(new URL('../../packages/cli/bin/retake.mjs', import.meta.url))

let workspace: Awaited<ReturnType<typeof makeWorkspace>>
let tape: string

beforeAll(async () => {
  workspace = await makeWorkspace()
  tape = writeTape(workspace.folder, { id: '20261115-120000-abcd' }, (script) =>
    script.chat([{ role: 'user', content: 'Hello' }], 'Hello yourself'),
  )
})

afterAll(() => workspace.remove())

/** What `retake ui` says when it does not start. */
async function refusal(
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<{ code: number | null; error: string }> {
  const { code, stdout } = await workspace.retake(['ui', '--json', '--no-open', ...args], { env })
  return { code, error: (JSON.parse(stdout) as { error: { code: string } }).error.code }
}

/** Holds a port of the loopback, unless somebody else does; answers which. */
async function hold(port: number): Promise<number> {
  const server = createServer()
  server.listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return port
  }
  onTestFinished(() => {
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** The port of a viewer that was told none. */
async function defaultPort(): Promise<number> {
  const child = spawn(process.execPath, [cli, 'ui', '--json'], {
    cwd: workspace.folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  child.kill()
  await once(child, 'close')
  return (JSON.parse(line) as { port: number }).port
}

describe('where it listens', () => {
  test('a requested port in use is an error; otherwise the next free port is used', async () => {
    const taken = await hold(0)
    expect(await refusal(['--port', String(taken)])).toEqual({ code: 1, error: 'UI_PORT_TAKEN' })
    expect(await refusal(['--port', 'many'])).toEqual({ code: 2, error: 'WRONG_USAGE' })
    expect(await refusal(['--port', '65536'])).toEqual({ code: 2, error: 'WRONG_USAGE' })
    await hold(4600)
    const port = await defaultPort()
    expect(port).toBeGreaterThan(4600)
    expect(port).toBeLessThanOrEqual(4620)
  })

  test('listening beyond the loopback needs a long enough password, which is not an argument', async () => {
    const host = ['--host', '0.0.0.0', '--port', '0']
    expect(await refusal(host)).toEqual({ code: 1, error: 'UI_HOST_NEEDS_PASSWORD' })
    expect((await refusal(['--allow-host', 'viewer.test'])).error).toBe('UI_HOST_NEEDS_PASSWORD')
    expect((await refusal(host, { RETAKE_PASSWORD: 'short' })).error).toBe('UI_PASSWORD_TOO_SHORT')
    expect((await refusal([...host, '--password', 'x'])).error).toBe('WRONG_USAGE')
    const missing = [...host, '--password-file', 'none']
    expect((await refusal(missing)).error).toBe('UI_PASSWORD_UNREADABLE')
    writeFileSync(join(workspace.folder, 'empty'), '\n')
    const empty = [...host, '--password-file', 'empty']
    expect((await refusal(empty)).error).toBe('UI_PASSWORD_TOO_SHORT')
    const elsewhere = ['--host', '192.0.2.1', '--port', '0']
    const password = { RETAKE_PASSWORD: 'long enough' }
    expect((await refusal(elsewhere, password)).error).toBe('UI_HOST_UNKNOWN')
    for (const loopback of ['localhost', '127.0.0.1']) {
      const ui = await startUi(workspace.folder, { args: ['--host', loopback] })
      expect(new URL(ui.url).hostname).toBe('127.0.0.1')
      expect(ui.token).not.toBe('')
    }
  })

  test('allowed host names behind a proxy are answered', async () => {
    const ui = await startUi(workspace.folder, {
      args: ['--host', '0.0.0.0', '--allow-host', 'viewer.test'],
      env: { RETAKE_PASSWORD: 'long enough' },
    })
    const port = Number(new URL(ui.url).port)
    const status = async (host: string, more: Record<string, string> = {}) =>
      (await askRaw(port, '/sign-in', { headers: { host, ...more } })).status
    // The printed address is one that is answered; "every address" is none.
    expect(await status(new URL(ui.url).host)).toBe(401)
    expect(await status(`0.0.0.0:${port}`)).toBe(421)
    expect(await status('viewer.test')).toBe(401)
    expect(await status('viewer.test:8443')).toBe(401)
    expect(await status('viewer.test', { origin: 'https://viewer.test' })).toBe(401)
    expect(await status('viewer.test', { origin: 'https://evil.test' })).toBe(403)
    expect(await status('evil.test')).toBe(421)
    expect(await status('sub.viewer.test')).toBe(421)
  })
})

describe('what it opens', () => {
  const id = '20261115-120000-abcd'

  test('the given run and step', async () => {
    const ui = await startUi(workspace.folder, { args: ['last', '--step', '1'] })
    const { pathname, searchParams } = new URL(ui.url)
    expect(pathname).toBe(`/runs/${id}`)
    expect(searchParams.get('step')).toBe('1')
  })

  test('a tape of another folder, among its neighbours', async () => {
    const other = await makeWorkspace()
    onTestFinished(() => other.remove())
    const ui = await startUi(other.folder, { args: [tape] })
    const { pathname, port } = new URL(ui.url)
    expect(pathname).toBe(`/runs/${id}`)
    const headers = { authorization: `Bearer ${ui.token}` }
    expect((await askRaw(Number(port), `/api${pathname}`, { headers })).status).toBe(200)
  })

  test('an error for a missing run', async () => {
    expect((await refusal(['nothing'])).error).toBe('UNKNOWN_RUN')
    expect((await refusal(['last', '--step', '9'])).error).toBe('NO_SUCH_STEP')
    expect((await refusal(['--step', '1'])).error).toBe('WRONG_USAGE')
    expect((await refusal(['last', 'last'])).error).toBe('WRONG_USAGE')
  })
})

describe('how it ends', () => {
  test.each(['SIGINT', 'SIGTERM'] as const)(
    'immediately on %s, also while streams are read',
    async (signal) => {
      const endMs = async (): Promise<number> => {
        const ui = await startUi(workspace.folder)
        const headers = { authorization: `Bearer ${ui.token}` }
        const request = get(new URL('/api/changes', ui.url), { headers })
        request.on('error', () => {})
        const [response] = (await once(request, 'response')) as [NodeJS.ReadableStream]
        response.on('error', () => {})
        await once(response, 'data')
        const start = performance.now()
        ui.process.kill(signal)
        const [code] = (await once(ui.process, 'close')) as [number]
        expect(code).toBe(0)
        return performance.now() - start
      }
      expect(await fastest(2000, endMs)).toBeLessThan(2000)
    },
  )
})
