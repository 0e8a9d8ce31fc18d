// oxlint-disable vitest/no-standalone-expect -- `attack` makes tests of them.
import http, { createServer, type IncomingMessage } from 'node:http'
import http2 from 'node:http2'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { type GuardResult, guard, type GuardRun, presets } from '@retake/guard'
import axios from 'axios'
import got from 'got'
import { HttpsProxyAgent } from 'https-proxy-agent'
import * as undici from 'undici'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { attack } from '../attacks-2/world.js'

/** Method, path, host and body of each request that the server executed. */
const executed: string[] = []
let port = 0
let proxyPort = 0

const server = createServer({ insecureHTTPParser: true }, (request, response) => {
  if (request.url === '/early') response.end('answer')
  else void answer(request, response)
})

async function answer(request: IncomingMessage, response: http.ServerResponse): Promise<void> {
  const body = await bodyOf(request)
  executed.push(`${request.method} ${request.url} ${request.headers.host ?? ''} ${body}`.trim())
  response.end('answer')
}
server.on('clientError', (_error, socket) => socket.destroy())

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = ''
  try {
    for await (const chunk of request) body += String(chunk)
  } catch {
    // A client that is refused closes its connection within a body.
  }
  return body
}

/** Forwards what follows a CONNECT, and remembers what it was asked for. */
const proxied: string[] = []
const proxy = createTcpServer((socket: Socket) => {
  socket.on('error', () => {})
  socket.once('data', (head) => {
    proxied.push(head.toString('latin1').split('\r\n')[0] ?? '')
    const onward = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      socket.pipe(onward).pipe(socket)
    })
    onward.on('error', () => {})
  })
})

beforeAll(async () => {
  for (const each of [server, proxy]) {
    each.listen(0, '127.0.0.1')
    await new Promise((done) => each.once('listening', done))
  }
  port = (server.address() as AddressInfo).port
  proxyPort = (proxy.address() as AddressInfo).port
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
  proxy.close()
})

const HIDDEN = 'DELETE /users/1 HTTP/1.1\r\nHost: internal-admin\r\nContent-Length: 0\r\n\r\n'

function guarded(kind: 'get' | 'hosts' | 'readOnly' = 'get'): GuardRun {
  const addresses = [`127.0.0.1:${port}`, `127.0.0.1:${proxyPort}`]
  const run = guard({
    name: 'smuggling',
    dir: '/tmp/retake-smuggling-unused',
    durability: 'process',
    policy:
      kind === 'readOnly'
        ? presets.readOnly({ addresses })
        : {
            name: 'net',
            network: { allow: [], addresses, ...(kind === 'get' && { methods: ['GET', 'HEAD'] }) },
          },
  })
  onTestFinished(() => void run.end())
  return run
}

type Work = () => unknown

async function callIn(run: GuardRun, work: Work): Promise<GuardResult> {
  run.tool('work', () => work(), { effects: ['read', 'network'] })
  return run.call('work', {})
}

/** What the server executed because of the work. */
async function executedBy(run: GuardRun, work: Work): Promise<readonly string[]> {
  const before = executed.length
  await callIn(run, work)
  await new Promise((done) => setTimeout(done, 60))
  return executed.slice(before)
}

async function expectNotSmuggled(run: GuardRun, work: Work): Promise<void> {
  const seen = await executedBy(run, work)
  expect(seen.filter(isSmuggled)).toEqual([])
}

/** True for a request whose method, path or host is the hidden one; a body may contain anything. */
const isSmuggled = (request: string): boolean =>
  /^(?:DELETE|\S+ \S*(?:hidden|users)|\S+ \S+ internal-admin)/.test(request)

interface Sent {
  readonly method?: string
  readonly path?: string
  readonly headers?: http.OutgoingHttpHeaders | readonly string[]
  readonly agent?: http.Agent
  readonly body?: readonly (string | Buffer)[]
  readonly prepare?: (request: http.ClientRequest) => void
}

const send = ({ method = 'GET', path = '/', headers, agent, body = [], prepare }: Sent): unknown =>
  new Promise((resolve, reject) => {
    const request = http.request({
      host: '127.0.0.1',
      port,
      method,
      path,
      ...(headers && { headers: headers as http.OutgoingHttpHeaders }),
      ...(agent && { agent }),
    })
    request.on('response', (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode))
    })
    request.on('upgrade', (_response, socket) => resolve(socket.destroy() && 'upgraded'))
    request.on('error', reject)
    request.setTimeout(400, () => request.destroy(new Error('no answer')))
    prepare?.(request)
    for (const chunk of body) request.write(chunk)
    request.end()
  })

const keepAlive = (): http.Agent => {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => agent.destroy())
  return agent
}

/** Variants of one request that carries another behind it. */
const CARRIERS: Readonly<Record<string, () => Sent>> = {
  'a body without a length': () => ({ body: [HIDDEN] }),
  'a body without a length on HEAD': () => ({ method: 'HEAD', body: [HIDDEN] }),
  'a body as one buffer': () => ({ body: [Buffer.from(HIDDEN)] }),
  'a body in single characters': () => ({ body: HIDDEN.split('') }),
  'a length that is too small': () => ({
    headers: { 'content-length': '3' },
    body: [`abc${HIDDEN}`],
  }),
  'a length of zero': () => ({ headers: { 'Content-Length': 0 }, body: [HIDDEN] }),
  'a body that begins with line breaks': () => ({ body: [`\r\n\r\n${HIDDEN}`] }),
  'a hidden request of an allowed method for another host': () => ({
    body: ['GET /hidden HTTP/1.1\r\nHost: internal-admin\r\n\r\n'],
  }),
  'a hidden request of an allowed method for the same host': () => ({
    body: [`GET /hidden HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`],
  }),
  'a length and chunks': () => ({
    headers: { 'content-length': '5', 'transfer-encoding': 'chunked' },
    body: [HIDDEN],
  }),
  'two lengths': () => ({
    headers: ['Host', `127.0.0.1:${port}`, 'Content-Length', '0', 'Content-Length', '74'],
    body: [HIDDEN],
  }),
  'two lengths in one header': () => ({ headers: { 'content-length': '0, 74' }, body: [HIDDEN] }),
  'a length with a sign': () => ({ headers: { 'content-length': '+0' }, body: [HIDDEN] }),
  'an encoding that is not quite chunked': () => ({
    headers: { 'transfer-encoding': 'xchunked' },
    body: [`0\r\n\r\n${HIDDEN}`],
  }),
  'an encoding with a tab': () => ({
    headers: { 'transfer-encoding': 'identity,\tchunked' },
    body: [`0\r\n\r\n${HIDDEN}`],
  }),
  'an expectation': () => ({ headers: { expect: '100-continue' }, body: [HIDDEN] }),
  'an upgrade that the server ignores': () => ({
    headers: { connection: 'upgrade', upgrade: 'none' },
    body: [HIDDEN],
  }),
  'bytes behind the request': () => ({
    prepare: (request) =>
      request.on('socket', (socket) => setTimeout(() => socket.write(HIDDEN), 5)),
  }),
  'bytes before the request': () => ({
    prepare: (request) => request.on('socket', (socket) => socket.write(HIDDEN)),
  }),
  'a path that is changed later': () => ({
    prepare: (request) => {
      request.path = `/ HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\nDELETE /users/1`
    },
  }),
  'a method that is changed later': () => ({
    path: '/users/1',
    prepare: (request) => void (request.method = 'DELETE'),
  }),
  'a header that names another method': () => ({
    path: '/hidden',
    headers: { 'x-http-method-override': 'DELETE' },
  }),
}

describe('one request carries another', () => {
  for (const kind of ['get', 'hosts', 'readOnly'] as const)
    for (const [name, sent] of Object.entries(CARRIERS)) {
      const isAboutMethods = name.startsWith('a method') || name.startsWith('a header')
      if (kind === 'hosts' && isAboutMethods) continue
      // oxlint-disable-next-line vitest/expect-expect -- `expectNotSmuggled` expects
      test(`${name} is refused under ${kind}`, () =>
        expectNotSmuggled(guarded(kind), () => send(sent())))
    }

  test('the refusal is on the call', async () => {
    const { status, error } = await callIn(guarded(), () => send({ body: [HIDDEN] }))
    expect({ status, code: (error as { code?: unknown }).code }).toEqual({
      status: 'denied',
      code: 'REQUEST_FRAMING',
    })
  })

  attack('a body that a library sends', {
    attack: async () => {
      const url = `http://127.0.0.1:${port}/`
      const tries: readonly Work[] = [
        () => axios.get(url, { data: `abc${HIDDEN}`, headers: { 'Content-Length': '3' } }),
        () => axios.get(url, { data: HIDDEN, headers: { 'content-length': 0 } }),
        () => got(url, { method: 'GET', allowGetBody: true, body: HIDDEN, retry: { limit: 0 } }),
        () =>
          got(url, {
            method: 'GET',
            allowGetBody: true,
            body: `abc${HIDDEN}`,
            headers: { 'content-length': '3' },
            retry: { limit: 0 },
            timeout: { request: 400 },
          }),
        () =>
          undici.request(url, { method: 'GET', body: HIDDEN, headers: { 'content-length': '0' } }),
        () =>
          undici.stream(
            url,
            { method: 'GET', body: HIDDEN, headers: { 'content-length': '3' } },
            () => new PassThrough(),
          ),
        () =>
          new undici.Client(`http://127.0.0.1:${port}`, { strictContentLength: false }).request({
            method: 'GET',
            path: '/',
            body: `abc${HIDDEN}`,
            headers: { 'content-length': '3' },
          }),
        () => fetch(url, { headers: { 'content-length': '3', 'transfer-encoding': 'x' } }),
      ]
      for (const kind of ['get', 'hosts'] as const)
        for (const work of tries) await expectNotSmuggled(guarded(kind), work)
    },
    twin: async () => {
      const url = `http://127.0.0.1:${port}/search?q=1`
      const query = JSON.stringify({ query: { match: 'ä' } })
      const tries: readonly Work[] = [
        () => axios.get(url, { data: query }),
        () =>
          got(url, { method: 'GET', allowGetBody: true, json: { query: { match: 'ä' } } }).text(),
        async () => (await undici.request(url, { method: 'GET', body: query })).body.text(),
        () =>
          send({
            path: '/search?q=1',
            headers: { 'content-length': Buffer.byteLength(query) },
            body: [query.slice(0, 5), query.slice(5)],
          }),
      ]
      for (const work of tries)
        expect(await executedBy(guarded(), work)).toEqual([
          `GET /search?q=1 127.0.0.1:${port} ${query}`,
        ])
    },
  })

  attack('a request that is shorter than its length, and takes in the next one', {
    attack: async () => {
      const desynchronize = async (): Promise<void> => {
        const agent = keepAlive()
        const body = `${'x'.repeat(20)}${HIDDEN}`
        const headers = { 'content-length': body.length }
        const head = `POST / HTTP/1.1\r\ncontent-length: ${body.length}\r\nHost: 127.0.0.1:${port}\r\nConnection: keep-alive\r\n\r\n`
        const swallowed = { 'content-length': 1 + head.length + 20 }
        await send({ method: 'POST', path: '/early', headers: swallowed, agent, body: ['a'] })
        await send({ method: 'POST', headers, agent, body: [body] })
      }
      const before = executed.length
      await desynchronize()
      expect(executed.slice(before).filter(isSmuggled)).toEqual(['DELETE /users/1 internal-admin'])
      await expectNotSmuggled(guarded('hosts'), desynchronize)
    },
    twin: async () => {
      const agent = keepAlive()
      const seen = await executedBy(guarded('hosts'), async () => {
        for (const text of ['one', 'two', 'three'])
          await send({
            method: 'POST',
            headers: { 'content-length': text.length },
            agent,
            body: [text],
          })
        for (const text of ['four', 'five'])
          await send({ method: 'POST', agent, body: [text, text] })
        await send({ agent })
      })
      expect(seen.map((each) => each.replace(` 127.0.0.1:${port}`, ''))).toEqual([
        'POST / one',
        'POST / two',
        'POST / three',
        'POST / fourfour',
        'POST / fivefive',
        'GET /',
      ])
    },
  })

  attack('a request in the trailers', {
    attack: async () => {
      await expectNotSmuggled(guarded('hosts'), () =>
        send({
          method: 'POST',
          headers: { trailer: 'x-a', 'transfer-encoding': 'chunked' },
          body: ['a'],
          prepare: (request) =>
            request.addTrailers({ 'content-length': '80', host: 'internal-admin' }),
        }),
      )
    },
    twin: async () => {
      const seen = await executedBy(guarded('hosts'), () =>
        send({
          method: 'POST',
          headers: { trailer: 'x-a', 'transfer-encoding': 'chunked' },
          body: ['a'],
          prepare: (request) => request.addTrailers({ 'x-a': '80' }),
        }),
      )
      expect(seen).toEqual([`POST / 127.0.0.1:${port} a`])
    },
  })
})

describe('bytes that no HTTP client frames', () => {
  const raw = (text: readonly string[], to = port): unknown =>
    new Promise((resolve, reject) => {
      const socket = connect(to, '127.0.0.1')
      socket.on('error', reject)
      socket.on('close', resolve)
      socket.on('connect', () => {
        for (const each of text) socket.write(each, 'latin1')
        setTimeout(() => socket.end(), 40)
      })
      socket.resume()
    })

  attack('HTTP by hand, for another host of the same address', {
    attack: async () => {
      const head = 'GET /hidden HTTP/1.1\r\nHost: internal-admin\r\n\r\n'
      for (const text of [
        [head],
        head.split(''),
        [`\r\n${head}`],
        [head.replaceAll('\r\n', '\n')],
        [`GET / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n${head}`],
        [`GET / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nHost: internal-admin\r\n\r\n`],
        [`GET / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n x: y\r\n\r\n${HIDDEN}`],
        [`POST / HTTP/1.1\r\nHost : 127.0.0.1:${port}\r\nContent-Length: 0\r\n\r\n${HIDDEN}`],
        [
          `POST / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${HIDDEN}`,
        ],
        [`GET http://internal-admin/ HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`],
      ])
        await expectNotSmuggled(guarded('hosts'), () => raw(text))
    },
    twin: async () => {
      const head = `GET /a HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`
      for (const text of [[head], head.split('')])
        expect(await executedBy(guarded('hosts'), () => raw(text))).toEqual([
          `GET /a 127.0.0.1:${port}`,
        ])
    },
  })

  attack('a connection that a callback of a request opens', {
    attack: () =>
      expectNotSmuggled(
        guarded(),
        () =>
          new Promise((resolve, reject) => {
            const request = http.get(`http://127.0.0.1:${port}/`, (response) => {
              response.resume()
              Promise.resolve(raw([HIDDEN.replace('internal-admin', `127.0.0.1:${port}`)])).then(
                resolve,
                reject,
              )
            })
            request.on('error', reject)
          }),
      ),
  })

  attack('an agent for proxies that asks for another host', {
    attack: async () => {
      const before = proxied.length
      await callIn(guarded('hosts'), () =>
        raw(['CONNECT internal-admin:80 HTTP/1.1\r\nHost: internal-admin:80\r\n\r\n'], proxyPort),
      )
      await new Promise((done) => setTimeout(done, 60))
      expect(proxied.slice(before).filter((line) => line.includes('internal'))).toEqual([])
    },
    twin: async () => {
      const agent = new HttpsProxyAgent(`http://127.0.0.1:${proxyPort}`) as unknown as http.Agent
      expect(await executedBy(guarded('hosts'), () => send({ path: '/b', agent }))).toEqual([
        `GET /b 127.0.0.1:${port}`,
      ])
    },
  })

  // oxlint-disable-next-line vitest/expect-expect -- `expectNotSmuggled` expects
  test('a request behind a tunnel is judged, too', async () => {
    const agent = new HttpsProxyAgent(`http://127.0.0.1:${proxyPort}`) as unknown as http.Agent
    await expectNotSmuggled(guarded('hosts'), () => send({ agent, body: [HIDDEN] }))
  })
})

test('HTTP/2 has frames, and the server refuses a wrong length', async () => {
  const seen: string[] = []
  const h2 = http2.createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`)
    response.end()
  })
  h2.on('sessionError', () => {})
  h2.listen(0, '127.0.0.1')
  await new Promise((done) => h2.once('listening', done))
  onTestFinished(() => void h2.close())
  const { port: at } = h2.address() as AddressInfo
  const run = guard({
    name: 'h2',
    dir: '/tmp/retake-smuggling-unused',
    durability: 'process',
    policy: { name: 'net', network: { addresses: [`127.0.0.1:${at}`], methods: ['GET'] } },
  })
  onTestFinished(() => void run.end())
  await callIn(run, async () => {
    const session = http2.connect(`http://127.0.0.1:${at}`)
    session.on('error', () => {})
    const stream = session.request({ ':path': '/one', 'content-length': '3' }, { endStream: false })
    stream.on('error', () => {})
    stream.end(`abc${HIDDEN}`)
    await new Promise((done) => stream.once('close', done).resume())
    session.destroy()
  })
  expect(seen.filter((each) => each.includes('DELETE'))).toEqual([])
})

test('a WebSocket still works where every method is allowed', async () => {
  const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  sockets.on('connection', (socket) => socket.on('message', (data) => socket.send(data)))
  await new Promise((done) => sockets.once('listening', done))
  onTestFinished(() => sockets.close())
  const { port: at } = sockets.address() as AddressInfo
  const run = guard({
    name: 'ws',
    dir: '/tmp/retake-smuggling-unused',
    durability: 'process',
    policy: { name: 'net', network: { addresses: [`127.0.0.1:${at}`] } },
  })
  onTestFinished(() => void run.end())
  const { output } = await callIn(
    run,
    () =>
      new Promise((resolve, reject) => {
        const socket = new WebSocket(`ws://127.0.0.1:${at}/`)
        socket.on('error', reject)
        socket.on('open', () => socket.send(HIDDEN))
        socket.on('message', (data: Buffer) => {
          resolve(data.toString())
          socket.close()
        })
      }),
  )
  expect(output).toBe(HIDDEN)
})
