import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openProxyTape, parseUpstreams } from '@retake/engine/proxy'
import type { Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { recordThrough, replayFrom } from '../support/proxy-pair.js'
import { rawRequest } from '../support/raw-http.js'

/** Keys that clients send stay off the tape of a proxy, wherever they stand. */

const newKey = (): string => `key-${randomBytes(12).toString('hex')}`

/** Says back what it was asked, as some providers do in their errors. */
const upstream = createServer((request, response) => {
  request.resume()
  response.end(JSON.stringify({ url: request.url, headers: request.headers }))
})
let url: string

beforeAll(async () => {
  await new Promise<void>((listening) => upstream.listen(0, '127.0.0.1', listening))
  url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
})
afterAll(() => upstream.close())

/** Everything that can be read from a tape, as one text. */
const allOf = (tape: Tape): string =>
  [...tape.events(0)]
    .map((event) => JSON.stringify(event) + Buffer.from(tape.body(event.seq)).toString())
    .join('\n') + JSON.stringify(tape.details)

describe('a key', () => {
  test('in a query is hidden in the answer, too', async () => {
    const key = newKey()
    const path = `/v1beta/models/m:generateContent?key=${key}`
    let said = ''
    const tape = await recordThrough([url], async (proxy) => {
      said = await (await fetch(proxy + path, { method: 'POST', body: '{}' })).text()
    })
    expect(said).toContain(key)
    expect(allOf(tape)).not.toContain(key)
    const proxy = await replayFrom(tape, (proxy) =>
      fetch(proxy + path, { method: 'POST', body: '{}' }),
    )
    expect(proxy.misses).toEqual([])
  })

  test.each([
    ['x-portkey-api-key'],
    ['cf-aig-authorization'],
    ['helicone-auth'],
    ['ocp-apim-subscription-key'],
    ['x-litellm-api-key'],
  ])('in %s is hidden', async (name) => {
    const key = newKey()
    const tape = await recordThrough([url], (proxy) =>
      fetch(`${proxy}/v1/models`, { headers: { [name]: `Bearer ${key}` } }),
    )
    expect(allOf(tape)).not.toContain(key)
  })

  test('in a refused request is hidden', async () => {
    const key = newKey()
    const tape = await recordThrough(
      [`a=${url}`, `b=${url}`],
      async (proxy) => {
        await fetch(`${proxy}/nowhere?key=${key}`)
        await fetch(`${proxy}/a/x?key=${key}`, { method: 'POST', body: 'x'.repeat(99) })
        const upgrade = 'connection: upgrade\r\nupgrade: websocket\r\n\r\n'
        await rawRequest(proxy, `GET /ws/live?key=${key} HTTP/1.1\r\nhost: a\r\n${upgrade}`)
      },
      { bodyBytesMax: 50 },
    )
    expect([...tape.events(0)].filter(({ type }) => type === 'note')).toHaveLength(3)
    expect(allOf(tape)).not.toContain(key)
  })
})

test('a password in the address of a provider is hidden', async () => {
  const key = newKey()
  const folder = await mkdtemp(join(tmpdir(), 'retake-proxy-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const tape = join(folder, 'run.tape')
  const [route] = parseUpstreams([`a=http://me:${key}@127.0.0.1:1/base`])
  if (route === undefined) throw new Error('no route')
  openProxyTape({ tape, id: 'r', name: 'r', proxy: { port: 1, routes: [route] } }).close()
  const { details } = openTape(tape)
  expect(details.proxy?.routes).toEqual([
    { name: 'a', upstream: 'http://me:retake-hidden@127.0.0.1:1/base' },
  ])
})
