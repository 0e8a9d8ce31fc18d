import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import OpenAI, { toFile } from 'openai'
import { readRun } from '@retake/tape'
import type { Tape } from '@retake/tape'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fastest } from '../support/fastest.js'
import { type Provider, startProvider } from '../support/loopback-provider.mjs'
import { recordThrough, replayFrom } from '../support/proxy-pair.js'
import { makeWorkspace } from '../support/run-retake.mjs'
import { rawRequest, rawServer } from '../support/raw-http.js'
import { soakOnly } from '../support/soak.js'

let provider: Provider
beforeAll(async () => {
  provider = await startProvider({ maxLatencyMs: 4 })
})
afterAll(() => provider.close())

const ask = (path: string, headers = '') =>
  `GET ${path} HTTP/1.1\r\nhost: proxy\r\nconnection: close\r\n${headers}\r\n`
const post = (path: string, body: string) =>
  `POST ${path} HTTP/1.1\r\nhost: proxy\r\nconnection: close\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`

/** What clients see when the exchange is recorded and when it is replayed. */
async function both<T>(upstream: string, client: (url: string) => Promise<T>) {
  let recorded: T | undefined
  let replayed: T | undefined
  const tape = await recordThrough([upstream], async (url) => (recorded = await client(url)))
  const proxy = await replayFrom(tape, async (url) => (replayed = await client(url)))
  return { tape, recorded: recorded as T, replayed: replayed as T, proxy }
}

/** Lets the proxy, which shares our loop, process everything that has arrived, and more until `isDone`. */
async function heard(isDone = (): boolean => true): Promise<void> {
  do {
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  } while (!isDone())
}

const partsOf = (tape: Tape): string[] =>
  [...tape.events()].flatMap((event) => {
    if (event.type === 'response') return [`response ${event.status}`]
    if (event.type === 'request' || event.type === 'note') return [event.type]
    if (event.type !== 'deliver') return []
    return [event.error ? `error ${event.error.code ?? event.error.message}` : event.part]
  })

const fakeKey = ['sk', '1234567890', 'test'].join('-')

describe('exchanges', () => {
  test('the openai SDK gets the same answers from the tape, whole and streamed', async () => {
    const { recorded, replayed, proxy, tape } = await both(provider.url, async (url) => {
      const client = new OpenAI({
        apiKey: fakeKey,
        baseURL: `${url}/v1`,
        maxRetries: 0,
      })
      const messages = [{ role: 'user', content: 'Where is my order?' }] as const
      const whole = await client.chat.completions.create({
        model: 'gpt-4o',
        messages: [...messages],
      })
      const stream = await client.chat.completions.create({
        model: 'gpt-4o',
        messages: [...messages],
        stream: true,
        // A key in the body stays off the tape as well.
        user: String(client.apiKey),
      })
      const pieces: unknown[] = []
      for await (const piece of stream) pieces.push(piece)
      return { whole, pieces }
    })
    expect(replayed).toEqual(recorded)
    expect(recorded.pieces.length).toBeGreaterThan(2)
    expect(proxy.misses).toEqual([])
    const steps = readRun(tape).recordedSteps
    expect(steps.map(({ kind, state, model }) => ({ kind, state, model }))).toEqual([
      { kind: 'model', state: 'done', model: expect.stringContaining('gpt-4o') },
      { kind: 'model', state: 'done', model: expect.stringContaining('gpt-4o') },
    ])
    expect(readFileSync(tape.path, 'latin1')).not.toContain(fakeKey)
  })

  test('status, headers and chunk boundaries are served as recorded', async () => {
    const pieces = ['one', 'two and a bit', 'three']
    const upstream = await rawServer(async (socket) => {
      socket.write(
        'HTTP/1.1 207 Odd But Fine\r\nX-Twice: a\r\nX-Twice: b\r\ntransfer-encoding: chunked\r\ndate: then\r\n\r\n',
      )
      for (const piece of pieces) {
        socket.write(`${piece.length.toString(16)}\r\n${piece}\r\n`)
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      socket.end('0\r\n\r\n')
    })
    const { recorded, replayed, tape } = await both(upstream, (url) => rawRequest(url, ask('/x')))
    expect(recorded.text).toMatch(/^HTTP\/1.1 207 Odd But Fine\r\n/)
    expect(recorded.text).toContain('x-twice: a\r\nx-twice: b\r\n')
    expect(recorded.text).toContain(
      '\r\n\r\n3\r\none\r\nd\r\ntwo and a bit\r\n5\r\nthree\r\n0\r\n\r\n',
    )
    expect(replayed).toEqual(recorded)
    expect(partsOf(tape)).toEqual(['request', 'response 207', 'chunk', 'chunk', 'chunk', 'end'])
  })

  test('compressed answers pass unchanged and are readable on the tape', async () => {
    const get = async (url: string) => (await fetch(`${url}/gzip`)).text()
    const { recorded, replayed, tape } = await both(provider.url, get)
    expect(replayed).toBe(recorded)
    const [step] = readRun(tape, { gunzip: (await import('node:zlib')).gunzipSync }).recordedSteps
    expect(step?.exchange()?.response?.text).toBe(recorded)
  })

  test('identical requests get their answers in the recorded order, each once', async () => {
    const get = async (url: string) => (await fetch(`${url}/echo`)).text()
    const three = async (url: string) => [await get(url), await get(url), await get(url)]
    const { recorded, replayed, tape } = await both(provider.url, three)
    expect(new Set(recorded).size).toBe(3)
    expect(replayed).toEqual(recorded)
    const proxy = await replayFrom(tape, async (url) => {
      await three(url)
      const fourth = await fetch(`${url}/echo`)
      expect(fourth.status).toBe(502)
      expect(await fourth.text()).toContain('recorded 3 times')
    })
    expect(proxy.misses).toHaveLength(1)
  })

  test('an unrecorded request gets 502 with the difference and is not forwarded', async () => {
    const send = (url: string, content: string) =>
      fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content }] }),
      })
    const tape = await recordThrough([provider.url], async (url) =>
      (await send(url, 'before')).text(),
    )
    const asked = provider.counts().requests
    const proxy = await replayFrom(tape, async (url) => {
      const missed = await send(url, 'after')
      expect(missed.status).toBe(502)
      const { error } = (await missed.json()) as { error: Record<string, unknown> }
      expect(error['code']).toBe('PROXY_MISS')
      expect(error['message']).toContain('body.messages[0].content was "before", is "after"')
      expect(error['nearest']).toMatchObject({
        differences: [{ field: 'body.messages[0].content', recorded: 'before', current: 'after' }],
      })
      expect((await send(url, 'before')).status).toBe(200)
    })
    expect(proxy.misses.map(({ kind }) => kind)).toEqual(['different'])
    expect(provider.counts().requests).toBe(asked)
  })

  test('a meaningful header is compared, a volatile one is not', async () => {
    const get = (url: string, headers: Record<string, string>) =>
      fetch(`${url}/echo`, { headers }).then(({ status }) => status)
    const tape = await recordThrough([provider.url], (url) =>
      get(url, { 'anthropic-version': '1', 'user-agent': 'a', 'idempotency-key': 'a' }),
    )
    await replayFrom(tape, async (url) => {
      expect(await get(url, { 'anthropic-version': '2', 'user-agent': 'a' })).toBe(502)
      const other = { 'anthropic-version': '1', 'user-agent': 'b', 'idempotency-key': 'b' }
      expect(await get(url, other)).toBe(200)
    })
  })

  test('a replay at the recorded pace takes the recorded time', async () => {
    const upstream = await rawServer((socket) => {
      setTimeout(() => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'), 150)
    })
    const get = async (url: string) => (await fetch(url)).text()
    const tape = await recordThrough([upstream], get)
    const took = async (paced: boolean) => {
      const started = performance.now()
      await replayFrom(tape, get, { paced })
      return performance.now() - started
    }
    expect(await took(true)).toBeGreaterThan(140)
    expect(await fastest(140, () => took(false))).toBeLessThan(140)
  })
})

describe('routes', () => {
  test('several providers share a port: by prefix, by host, by a unique path', async () => {
    const other = await startProvider({ maxLatencyMs: 0 })
    const upstreams = [`openai=${provider.url}`, `anthropic=${other.url}`]
    const host = new URL(other.url).host
    const body = JSON.stringify({ model: 'claude', max_tokens: 9, messages: [] })
    const work = async (url: string) => [
      await rawRequest(url, ask('/anthropic/echo?by=prefix')),
      await rawRequest(url, ask('/openai/echo?by=prefix')),
      await rawRequest(url, ask('/echo?by=host').replace('host: proxy', `host: ${host}`)),
      await rawRequest(url, post('/v1/messages', body)),
      await rawRequest(url, ask('/nobody/knows')),
    ]
    let recorded: Awaited<ReturnType<typeof work>> = []
    const tape = await recordThrough(upstreams, async (url) => (recorded = await work(url)))
    await other.close()
    const urls = [...tape.events()].flatMap((event) =>
      event.type === 'request' ? [event.url] : [],
    )
    expect(urls).toEqual([
      `${other.url}/echo?by=prefix`,
      `${provider.url}/echo?by=prefix`,
      `${other.url}/echo?by=host`,
      `${other.url}/v1/messages`,
    ])
    expect(recorded.at(-1)?.text).toMatch(
      /^HTTP\/1.1 502 [^]*PROXY_NO_ROUTE[^]*forwards \/openai\/[^]*\/anthropic/,
    )
    await replayFrom(tape, async (url) => {
      const replayed = await work(url)
      expect(replayed).toEqual(recorded)
    })
  })

  test('a redirect of a provider leads back to its route, one to another host does not', async () => {
    const server = createServer(({ url = '' }, response) => {
      const locations: Record<string, string> = {
        '/v1/path': '/v1/new?a=1',
        '/v1/whole': `http://127.0.0.1:${port}/v1/new?a=2`,
        '/v1/relative': 'new?a=3',
        '/v1/other': 'http://other.invalid/v1/new',
        '/v1/outside': '/v2/new',
      }
      const location = locations[url]
      if (location) response.writeHead(307, { location }).end()
      else response.end(url)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const work = async (url: string) => {
      const seen: unknown[] = []
      for (const path of ['path', 'whole', 'relative'])
        seen.push(await (await fetch(`${url}/openai/${path}`)).text())
      for (const path of ['other', 'outside']) {
        const { headers } = await fetch(`${url}/openai/${path}`, { redirect: 'manual' })
        seen.push(headers.get('location'))
      }
      return seen
    }
    const expected = [
      '/v1/new?a=1',
      '/v1/new?a=2',
      '/v1/new?a=3',
      'http://other.invalid/v1/new',
      '/v2/new',
    ]
    const upstreams = [`openai=http://127.0.0.1:${port}/v1`, `anthropic=${provider.url}`]
    const tape = await recordThrough(upstreams, async (url) =>
      expect(await work(url)).toEqual(expected),
    )
    server.close()
    await replayFrom(tape, async (url) => expect(await work(url)).toEqual(expected))
  })
})

describe('matchers', () => {
  test('forms sent by the openai SDK match although their boundary is new each time', async () => {
    const upstream = await rawServer((socket) => {
      setTimeout(() => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'), 20)
    })
    const { proxy } = await both(upstream, async (url) => {
      const client = new OpenAI({ apiKey: 'none', baseURL: url, maxRetries: 0 })
      await client.files.create({
        file: await toFile(Buffer.from('a line'), 'a.txt'),
        purpose: 'evals',
      })
    })
    expect(proxy.misses).toEqual([])
  })

  test('dates, ids and key order may differ if their matchers are named', async () => {
    const send = (url: string, body: string) =>
      fetch(`${url}/echo`, { method: 'POST', body }).then(({ status }) => status)
    const before = '{"at":"2026-11-15T08:00:00Z","id":"6f1c9e1a-0000-4000-8000-000000000001","n":1}'
    const after = '{"n":1,"id":"6f1c9e1a-0000-4000-8000-000000000002","at":"2027-01-01T09:00:00Z"}'
    const tape = await recordThrough([provider.url], (url) => send(url, before))
    await replayFrom(tape, async (url) => expect(await send(url, after)).toBe(502))
    const matchers = ['dates', 'uuids', 'json-order']
    await replayFrom(tape, async (url) => expect(await send(url, after)).toBe(200), { matchers })
  })

  test('a file can be a matcher; an invalid one is refused', async () => {
    const { folder, remove } = await makeWorkspace()
    const file = join(folder, 'matcher.mjs')
    writeFileSync(
      file,
      "export default (request) => ({ ...request, url: request.url.replace(/session=\\w+/, '') })",
    )
    const get = (url: string, session: string) =>
      fetch(`${url}/echo?session=${session}`).then(({ status }) => status)
    const tape = await recordThrough([provider.url], (url) => get(url, 'a'))
    await replayFrom(tape, async (url) => expect(await get(url, 'b')).toBe(200), {
      matchers: [file],
    })
    const refused = (name: string) =>
      replayFrom(tape, async () => {}, { matchers: [name] }).catch(
        (error: unknown) => (error as { code: string }).code,
      )
    expect(await refused('date')).toBe('UNKNOWN_MATCHER')
    expect(await refused(join(folder, 'none.mjs'))).toBe('MATCHER_UNUSABLE')
    await remove()
  })
})

describe('failures are recorded and replayed identically', () => {
  const cases: Readonly<Record<string, { bytes: string; reset?: boolean; parts: RegExp }>> = {
    'a connection that is reset before the answer': {
      bytes: '',
      reset: true,
      parts: /error ECONNRESET$/,
    },
    'a connection that ends without an answer': { bytes: '', parts: /error ECONNRESET$/ },
    'an answer that is no HTTP': { bytes: 'hello there\r\n\r\n', parts: /error HPE_INVALID/ },
    'an answer that breaks off': {
      bytes: 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nonly this',
      parts: /response 200 chunk error/,
    },
    'an answer that is reset right behind its head': {
      bytes: 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n',
      reset: true,
      parts: /response 200 error ECONNRESET$/,
    },
    'a head whose first chunk is broken': {
      bytes: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n',
      parts: /response 200 error HPE_INVALID_CHUNK_SIZE$/,
    },
    'a chunk with a wrong length': {
      bytes: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nfour\r\nzz\r\nnot hex\r\n',
      parts: /response 200 chunk error HPE_INVALID_CHUNK_SIZE$/,
    },
    'a stream that is reset': {
      bytes: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nfour\r\n',
      reset: true,
      parts: /response 200 chunk error/,
    },
    'server-sent events that are malformed': {
      bytes:
        'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: {"broken\n\nevnt: x\ndata',
      parts: /response 200 chunk end$/,
    },
    'JSON that is malformed': {
      bytes:
        'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{"a": [1,',
      parts: /response 200 chunk end$/,
    },
    'a status without a text, and an answer in HTTP/1.0': {
      bytes: 'HTTP/1.0 299 \r\n\r\nold',
      parts: /response 299 chunk end$/,
    },
    'a status that cannot be passed on': {
      bytes: 'HTTP/1.1 099 What\r\ncontent-length: 2\r\n\r\nok',
      parts: /^request error ERR_HTTP_INVALID_STATUS_CODE$/,
    },
    'a length that is no number': {
      bytes: 'HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\nok',
      parts: /^request error HPE_INVALID_CONTENT_LENGTH$/,
    },
    'a head that is too large': {
      bytes: `HTTP/1.1 200 OK\r\nx-large: ${'x'.repeat(200_000)}\r\n\r\n`,
      parts: /^request error HPE_HEADER_OVERFLOW$/,
    },
    'more bytes than announced': {
      bytes: 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok and more',
      parts: /response 200 chunk/,
    },
    'a hint before the answer': {
      bytes:
        'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok',
      parts: /^request response 200 chunk end$/,
    },
    'trailers behind a stream': {
      bytes:
        'HTTP/1.1 200 OK\r\ntrailer: x-sum\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nx-sum: 1\r\n\r\n',
      parts: /^request response 200 chunk end$/,
    },
    'a stream that ends without its last chunk': {
      bytes:
        'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n8\r\ndata: a\n\r\n',
      parts: /response 200 chunk error/,
    },
    'gzip that is cut off': {
      bytes:
        'HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\n\x1f\x8b\x08\x00',
      parts: /response 200 chunk end$/,
    },
    'an answer without a body': {
      bytes: 'HTTP/1.1 204 No Content\r\n\r\n',
      parts: /response 204 end$/,
    },
  }
  for (const [name, { bytes, reset = false, parts }] of Object.entries(cases)) {
    test(`replays ${name}`, async () => {
      const upstream = await rawServer((socket) => {
        socket.write(bytes, 'latin1')
        setTimeout(() => (reset ? socket.resetAndDestroy() : socket.end()), 30)
      })
      const client = (url: string) => rawRequest(url, post('/v1/chat/completions', '{"model":"x"}'))
      const { recorded, replayed, tape, proxy } = await both(upstream, client)
      expect(replayed).toEqual(recorded)
      expect(partsOf(tape).join(' ')).toMatch(parts)
      expect(proxy.misses).toEqual([])
      expect(readRun(tape).steps).toHaveLength(1)
      expect(tape.verify().ok).toBe(true)
    })
  }

  test('an upstream that is down gives 502 with the reason, recorded and replayed', async () => {
    const client = async (url: string) => {
      const answer = await fetch(`${url}/v1/models`)
      return { status: answer.status, body: await answer.json() }
    }
    const { recorded, replayed } = await both('http://127.0.0.1:9', client)
    expect(recorded).toMatchObject({ status: 502, body: { error: { code: 'UPSTREAM_FAILED' } } })
    expect(JSON.stringify(recorded)).toContain('ECONNREFUSED')
    expect(replayed).toEqual(recorded)
  })

  test('a client that leaves mid-stream, and one that gives up on a stall', async () => {
    let arrived = 0
    let closed = 0
    const upstream = await rawServer((socket, head) => {
      arrived += 1
      socket.once('close', () => (closed += 1))
      if (head.startsWith('GET /stream'))
        socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nfirst\r\n')
    })
    const client = async (url: string) => {
      const isRecording = arrived === 0
      const left = await rawRequest(url, ask('/stream'), 'first')
      const patience = new AbortController()
      const stalled = fetch(`${url}/stall`, { signal: patience.signal }).catch(
        (error: unknown) => (error as Error).name,
      )
      await heard(() => !isRecording || arrived === 2)
      patience.abort(new DOMException('too slow', 'TimeoutError'))
      expect(await stalled).toBe('TimeoutError')
      // The proxy records that a client has left when it closes its connection to the server.
      await heard(() => !isRecording || closed === 2)
      return [left, await stalled]
    }
    const { recorded, replayed, tape } = await both(upstream, client)
    expect(recorded[1]).toBe('TimeoutError')
    expect(replayed).toEqual(recorded)
    const errors = [...tape.events()].flatMap((event) =>
      event.type === 'deliver' && event.error ? [event.error] : [],
    )
    const left = { code: 'ABORT_ERR', message: 'The client closed the connection.' }
    expect(errors).toEqual([expect.objectContaining(left), expect.objectContaining(left)])
    expect(readRun(tape).steps.map(({ state }) => state)).toEqual(['aborted', 'aborted'])
  })

  test('a body of 60 MB passes both ways', async () => {
    soakOnly()
    const large = Buffer.alloc(60 * 1024 * 1024, 'abcdefghij')
    const upstream = await rawServer((socket, head) => {
      let got = head.length - head.indexOf('\r\n\r\n') - 4
      const finish = () => {
        if (got < large.length) return
        socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${large.length}\r\n\r\n`)
        socket.end(large)
      }
      socket.on('data', (chunk: Buffer) => {
        got += chunk.length
        finish()
      })
    })
    const { recorded, replayed } = await both(upstream, async (url) => {
      const answer = await fetch(`${url}/upload`, { method: 'POST', body: large })
      return Buffer.from(await answer.arrayBuffer()).equals(large)
    })
    expect([recorded, replayed]).toEqual([true, true])
  })

  test('a body over the limit is refused with 413, and nothing is sent', async () => {
    const asked = provider.counts().requests
    const tape = await recordThrough(
      [provider.url],
      async (url) => {
        const answer = await fetch(`${url}/echo`, { method: 'POST', body: 'x'.repeat(2000) })
        expect(answer.status).toBe(413)
        expect(await answer.text()).toContain('PROXY_BODY_TOO_LARGE')
      },
      { bodyBytesMax: 1000 },
    )
    expect(provider.counts().requests).toBe(asked)
    expect(partsOf(tape)).toEqual(['note'])
  })

  test('a tape that can no longer be written stops requests before they leave', async () => {
    const asked = provider.counts().requests
    let answers: string[] = []
    const failed = recordThrough([provider.url], async (url, writer) => {
      await (await fetch(`${url}/echo`)).text()
      writer.close()
      answers = [
        await (await fetch(`${url}/echo`)).text(),
        await (await fetch(`${url}/echo`)).text(),
      ]
    })
    await expect(failed).rejects.toMatchObject({ code: 'TAPE_CLOSED' })
    expect(answers).toEqual(
      [0, 1].map(() => expect.stringContaining('PROXY_NOT_RECORDING') as string),
    )
    expect(provider.counts().requests).toBe(asked + 1)
  })

  test.each(['buffer', 'flush'] as const)(
    'a client sees no chunk that is not on the tape: %s fails in the middle of a stream',
    async (method) => {
      let goOn: () => void = () => {}
      const upstream = await rawServer((socket) => {
        socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nfirst\r\n')
        goOn = () => socket.end('6\r\nsecond\r\n0\r\n\r\n')
      })
      let seen = ''
      const recording = recordThrough([upstream], async (url, writer) => {
        const { hostname, port } = new URL(url)
        const socket = connect(Number(port), hostname)
        const closed = new Promise((resolve) => socket.on('close', resolve))
        socket.on('error', () => {})
        socket.on('data', (bytes: Buffer) => {
          seen += bytes.toString()
          if (!seen.includes('first')) return
          writer[method] = () => {
            throw new Error('the disk is full')
          }
          goOn()
        })
        socket.write(ask('/x'))
        await closed
        writer.close()
      })
      await expect(recording).rejects.toThrow(/closed|full/)
      expect(seen).toContain('first')
      expect(seen).not.toContain('second')
    },
  )

  test('a client that disconnects during its request causes no upstream request', async () => {
    const asked = provider.counts().requests
    const client = async (url: string) => {
      const { hostname, port } = new URL(url)
      const socket = connect(Number(port), hostname)
      await once(socket, 'connect')
      const head = 'POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n'
      await new Promise((sent) => socket.write(`${head}only this`, sent))
      await heard()
      socket.destroy()
      await heard()
    }
    const { tape, proxy } = await both(provider.url, client)
    expect(provider.counts().requests).toBe(asked)
    expect(partsOf(tape)).toEqual(['note'])
    expect(proxy.misses).toEqual([])
  })

  test('clients that use 100-continue, HEAD, pipelining or an HTTP/2 upgrade', async () => {
    const two = ask('/echo?first').replace('connection: close\r\n', '') + ask('/echo?second')
    const offer =
      'connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n'
    const client = async (url: string) => [
      await rawRequest(
        url,
        post('/echo', 'body').replace('\r\n\r\n', '\r\nexpect: 100-continue\r\n\r\n'),
      ),
      await rawRequest(url, ask('/echo?head').replace('GET', 'HEAD')),
      await rawRequest(url, two),
      await rawRequest(url, ask('/echo?offer', offer)),
    ]
    const { recorded, replayed, tape, proxy } = await both(provider.url, client)
    expect(recorded.map(({ text }) => text.slice(0, 12))).toEqual([
      'HTTP/1.1 100',
      'HTTP/1.1 200',
      'HTTP/1.1 200',
      'HTTP/1.1 200',
    ])
    expect(recorded[2]?.text.match(/HTTP\/1.1 200/g)).toHaveLength(2)
    expect(recorded[2]?.text).toMatch(/first[^]*second/)
    expect(replayed).toEqual(recorded)
    expect(proxy.misses).toEqual([])
    expect(partsOf(tape).filter((part) => part === 'request')).toHaveLength(5)
  })

  test('clients that speak HTTP/1.0 or nonsense, or request a tunnel', async () => {
    const client = async (url: string) => [
      await rawRequest(url, 'GET /echo HTTP/1.0\r\n\r\n'),
      await rawRequest(
        url,
        'POST /echo HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n',
      ),
      await rawRequest(url, 'this is not HTTP\r\n\r\n'),
      await rawRequest(url, 'CONNECT api.openai.com:443 HTTP/1.1\r\nhost: x\r\n\r\n'),
      await rawRequest(url, ask('/ws', 'connection: upgrade\r\nupgrade: websocket\r\n')),
    ]
    const { recorded, replayed, tape, proxy } = await both(provider.url, client)
    expect(proxy.misses).toEqual([])
    expect(recorded.map(({ text }) => text.slice(0, 12))).toEqual([
      'HTTP/1.1 200',
      'HTTP/1.1 400',
      'HTTP/1.1 400',
      'HTTP/1.1 502',
      'HTTP/1.1 501',
    ])
    expect(recorded[0]?.text).not.toContain('transfer-encoding: chunked')
    expect(replayed).toEqual(recorded)
    expect(partsOf(tape).filter((part) => part === 'request')).toHaveLength(1)
  })
})

test('two hundred concurrent clients each get their own stream', async () => {
  soakOnly()
  const upstream = await startEchoStream()
  const client = async (url: string, number: number) => {
    const answer = await fetch(`${url}/stream`, { method: 'POST', body: `client ${number};` })
    return answer.text()
  }
  const all = (url: string) =>
    Promise.all(Array.from({ length: 200 }, (_, number) => client(url, number)))
  const { recorded, replayed, proxy } = await both(upstream, all)
  const expected = Array.from({ length: 200 }, (_, number) => `client ${number};`.repeat(5))
  expect(recorded).toEqual(expected)
  expect(replayed).toEqual(expected)
  expect(proxy.misses).toEqual([])
})

/** Says what it was sent five times, in pieces that come while others are answered. */
async function startEchoStream(): Promise<string> {
  const { createServer } = await import('node:http')
  const { onTestFinished } = await import('vitest')
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    const answer = async () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (let time = 0; time < 5; time++) {
        response.write(body)
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 10))
      }
      response.end()
    }
    request.on('end', () => void answer())
  })
  await new Promise<void>((resolve) =>
    server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 }, resolve),
  )
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`
}
