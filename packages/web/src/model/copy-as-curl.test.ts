import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { RunScript } from '../../test-support/run-script.js'
import { copyAsCurl } from './copy-as-curl.js'
import type { StepDetail } from './run-source.js'

const hasCurl = (() => {
  try {
    execFileSync('curl', ['--version'], { stdio: 'ignore' })
    return process.platform !== 'win32'
  } catch {
    return false
  }
})()

interface Received {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

let received: Received | undefined
const server = createServer((request, response) => {
  const pieces: Buffer[] = []
  request.on('data', (piece: Buffer) => pieces.push(piece))
  request.on('end', () => {
    const { method, url, headers } = request
    received = { method, url, headers, body: Buffer.concat(pieces) }
    response.end('ok')
  })
})
let folder = ''
let origin = ''
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'retake-curl-'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.close()
  rmSync(folder, { recursive: true, force: true })
})

async function runShell(command: string, env: Record<string, string> = {}): Promise<Received> {
  received = undefined
  const script = path.join(folder, 'copied.sh')
  writeFileSync(script, command)
  await promisify(execFile)('sh', [script], {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', ...env },
  })
  if (received === undefined) throw new Error('nothing was sent')
  return received
}

const step = (
  url: string,
  body: string | Uint8Array,
  headers: readonly (readonly [string, string])[] = [],
  method = 'POST',
): StepDetail => {
  const run = new RunScript()
  run.add({ type: 'request', seam: 'fetch', method, url, headers }, body)
  const detail = run.model().step('1')
  if (detail === undefined) throw new Error('no step')
  return detail
}

describe.skipIf(!hasCurl)('a request as a command', () => {
  test('sends what was sent, whatever is in it', async () => {
    const value = fc.string({
      unit: fc.constantFrom(...Array.from('ab \'"`$\\!#&;()[]{}*?~%=,:@')),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: fc.constantFrom(...Array.from('a\'"`$\\!\n\r\t@%{}é😀-')) }),
        value,
        async (body, header) => {
          const line = header.trim()
          const detail = step(`${origin}/a/../b?q=[1]{2}'x`, body, [
            ['content-type', 'text/plain'],
            ['x-note', line],
          ])
          const sent = await runShell(copyAsCurl(detail) ?? '')
          expect(sent.body.toString()).toBe(body)
          expect(sent.headers['x-note']).toBe(line)
          expect(sent.headers['content-type']).toBe('text/plain')
          expect(sent.url).toBe("/a/../b?q=[1]{2}'x")
        },
      ),
      { numRuns: 15 },
    )
  })

  test('is exact for a body that starts like a file, and adds no header to it', async () => {
    const sent = await runShell(copyAsCurl(step(`${origin}/x`, '@/etc/hosts')) ?? '')
    expect(sent.body.toString()).toBe('@/etc/hosts')
    expect(sent.headers['content-type']).toBeUndefined()
    const put = await runShell(copyAsCurl(step(`${origin}/x`, '', [], 'PUT')) ?? '')
    expect([put.method, put.body.length]).toEqual(['PUT', 0])
  })

  test('reads a long body from a file, not an argument', async () => {
    const text = `it's ${'long '.repeat(100_000)}`
    const detail = step(`${origin}/x`, text)
    expect(detail.request?.body.clipped).toBe(true)
    const sent = await runShell(copyAsCurl(detail, text) ?? '')
    expect(sent.body.toString()).toBe(text)
  })

  test('says what to download for a binary or missing body', async () => {
    const bytes = Uint8Array.of(0xff, 0, 0x27, 0x0a)
    const command = copyAsCurl(step(`${origin}/x`, bytes)) ?? ''
    expect(command).toContain('# First download the request body of step 1 as step-1-request.bin.')
    writeFileSync(path.join(folder, 'step-1-request.bin'), bytes)
    expect([...(await runShell(command)).body]).toEqual([...bytes])
    expect(copyAsCurl(step(`${origin}/x`, 'x'.repeat(300_000)))).toContain('# First download')
    expect(copyAsCurl(step(`${origin}/x`, 'a\0b'))).toContain('# First download')
  })

  test('says that an address or a header is truncated', () => {
    const note = '# An address or a header was too long'
    expect(copyAsCurl(step(`${origin}/${'x'.repeat(40_000)}`, 'a'))).toContain(note)
    expect(copyAsCurl(step(origin, 'a', [['x-long', 'y'.repeat(40_000)]]))).toContain(note)
    expect(copyAsCurl(step(origin, 'a', [['x-short', 'y']]))).not.toContain(note)
  })

  test('has variables where secrets were', async () => {
    const body = JSON.stringify({ model: 'gpt-4o', messages: [] })
    const chat = step(`${origin}/v1/chat/completions`, body, [['authorization', 'retake-hidden']])
    expect(chat.provider).toBe('openai')
    const key = ['made', 'up', 'at', 'run', 'time'].join('-')
    const sent = await runShell(copyAsCurl(chat) ?? '', { OPENAI_API_KEY: key })
    expect(sent.headers.authorization).toBe(`Bearer ${key}`)
    const other = step(`${origin}/x?key=retake-hidden-MAPS_KEYxxxxxx&b=1`, '', [
      ['x-shop-token', 'retake-hidden'],
      ['x-b', 'Token sk-retake-hidden-SHOP_KEYxx!'],
    ])
    const command = copyAsCurl(other) ?? ''
    expect(command).not.toContain('retake-hidden')
    const env = { X_SHOP_TOKEN: 'one', SHOP_KEY: 'two', MAPS_KEY: 'three' }
    const reported = await runShell(command, env)
    expect(reported.headers['x-shop-token']).toBe('one')
    expect(reported.headers['x-b']).toBe('Token two!')
    expect(reported.url).toBe('/x?key=three&b=1')
  })
})

test('a step without a request has no command', () => {
  const run = new RunScript()
  run.tool('look', {}, 1)
  const detail = run.model().step('1')
  expect(detail && copyAsCurl(detail)).toBeUndefined()
})
