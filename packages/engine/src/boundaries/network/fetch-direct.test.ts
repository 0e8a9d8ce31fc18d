import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { natives } from '../../kernel/natives.js'
import { record } from '../../library/record.js'
import { replay } from '../../library/replay.js'

const dir = mkdtempSync(path.join(tmpdir(), 'retake-direct-'))
/** The value must not be on the tape. */
const COOKIE = '12345678'
const text = 'Thirty days. '.repeat(20)

const answers: Record<string, (response: ServerResponse, request: IncomingMessage) => void> = {
  '/plain': (response) => response.end(text),
  '/headers': (response) =>
    response.writeHead(201, 'Made', [
      ['X-Twice', 'one'],
      ['Set-Cookie', `a=${COOKIE}; Path=/`],
      ['x-twice', 'two'],
      ['set-cookie', `b=${COOKIE}`],
      ['X-Name', 'caf\u00e9'],
    ]) && response.end(text),
  '/empty': (response) => response.end(),
  '/no-content': (response) => response.writeHead(204).end(),
  '/gzip': (response) => response.setHeader('content-encoding', 'gzip').end(gzipSync(text)),
  '/broken-gzip': (response) => response.setHeader('content-encoding', 'gzip').end(text),
  '/missing': (response) => response.writeHead(404).end(text),
  '/moved': (response) => response.writeHead(302, { location: '/echo' }).end('moved'),
  '/moved-with-body': (response) => response.writeHead(307, { location: '/echo' }).end('moved'),
  '/moved-away': (response) => response.writeHead(301, { location: 'ftp://x/' }).end(),
  '/echo': (response, request) => {
    const { method, headers } = request
    response.setHeader('x-got', `${method} ${headers['content-type']} ${headers.authorization}`)
    request.pipe(response)
  },
  '/cut': (response) => {
    response.setHeader('content-length', 1000).write(text)
    setTimeout(() => response.destroy(), 10)
  },
  '/cut-before': (response) => response.destroy(),
  '/early': (response) => {
    response.writeEarlyHints({ link: '</style.css>; rel=preload' })
    response.end(text)
  },
}

/** Each server has its own origin, because Retake remembers facts about an origin. */
async function serve(): Promise<string> {
  const server = createServer((request, response) =>
    answers[request.url ?? '']?.(response, request),
  )
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

afterAll(() => rmSync(dir, { recursive: true, force: true }))

const post = (): RequestInit => ({
  method: 'POST',
  headers: { authorization: 'Bearer none', 'content-type': 'application/json' },
  body: '{"question":"?"}',
})

/** Everything that a program can see of an answer, or of the error in its place. */
async function see(get: () => Promise<Response>): Promise<unknown> {
  const seen: unknown[] = []
  try {
    const response = await get()
    const { status, statusText, ok, redirected, type } = response
    seen.push({ status, statusText, ok, redirected, type, url: response.url })
    seen.push(
      [...response.headers].filter(([name]) => name !== 'date'),
      response.body === null,
    )
    seen.push(await response.text())
  } catch (error) {
    const { name, message, cause } = error as Error & { cause?: Error & { code?: string } }
    seen.push({ name, message, cause: cause?.message, code: cause?.code })
  }
  return seen
}

/** The first request of a kind is sent by native fetch, later ones directly. */
const seeTwice = async (fetch: () => Promise<Response>): Promise<unknown> => [
  await see(fetch),
  await see(fetch),
]

test.each(Object.keys(answers))('a program sees of %s what native fetch shows', async (kind) => {
  for (const init of [undefined, post()]) {
    const url = (await serve()) + kind
    const expected = await seeTwice(() => natives.fetch(url, init))
    const agent = () => seeTwice(() => fetch(url, init))
    const { output, run } = await record({ name: kind, dir, durability: 'process' }, agent)
    expect(output).toEqual(expected)
    const onTape = JSON.stringify(expected).replaceAll(COOKIE, 'x'.repeat(COOKIE.length))
    expect((await replay(run.path, agent)).output).toEqual(JSON.parse(onTape))
  }
})

test('a refused connection looks the same as with native fetch', async () => {
  const closed = createTcpServer().listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const { port } = closed.address() as AddressInfo
  closed.close()
  const url = `http://127.0.0.1:${port}/`
  const expected = await seeTwice(() => natives.fetch(url))
  const { output } = await record({ name: 'refused', dir, durability: 'process' }, () =>
    seeTwice(() => fetch(url)),
  )
  expect(output).toEqual(expected)
})

/** The bytes of requests as received by a server. */
async function sentBy(requests: (url: string) => Promise<unknown>): Promise<string[]> {
  const sent: string[] = []
  const tcp = createTcpServer((socket) => {
    socket.on('data', (bytes) => {
      sent.push(String(bytes))
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}')
    })
  }).listen(0, '127.0.0.1')
  await once(tcp, 'listening')
  const { port } = tcp.address() as AddressInfo
  onTestFinished(() => void tcp.close())
  await requests(`http://127.0.0.1:${port}`)
  return sent.map((text) => text.replaceAll(String(port), 'PORT'))
}

test('a request has the same bytes as with native fetch', async () => {
  const requests: [string, RequestInit | undefined][] = [
    ['/a?b=c', undefined],
    ['/b', post()],
    ['/c', { method: 'PUT', body: new Uint8Array([1, 2, 3]) }],
    ['/d', { method: 'DELETE' }],
    ['/e', { method: 'PATCH', body: 'caf\u00e9', headers: { accept: 'text/plain' } }],
  ]
  const sendAll =
    (fetch: (url: string, init?: RequestInit) => Promise<Response>) => async (to: string) => {
      for (const [where, init] of requests) await see(() => fetch(to + where, init))
    }
  const expected = await sentBy(sendAll((to, init) => natives.fetch(to, init)))
  await record({ name: 'sent', dir, durability: 'process' }, async () => {
    const sending = sendAll((to, init) => fetch(to, init))
    for (let round = 0; round < 2; round += 1) {
      const sent = await sentBy(sending)
      expect(sent.join('')).toBe(expected.join(''))
    }
  })
})

test('an aborted request closes its connection', async () => {
  let gone = 0
  let abort = (): void => {}
  answers['/never'] = (response) => {
    response.on('close', () => (gone += 1))
    setTimeout(abort, 20)
  }
  answers['/slow'] = (response) => {
    response.write('a')
    response.on('close', () => (gone += 1))
    setTimeout(abort, 20)
  }
  const url = await serve()
  await record({ name: 'aborted', dir, durability: 'process' }, async () => {
    await see(() => fetch(`${url}/plain`))
    for (const kind of ['/never', '/slow', '/moved-to-never']) {
      const controller = new AbortController()
      abort = () => controller.abort()
      const asked = fetch(url + kind, { signal: controller.signal })
      const read = asked.then((response) => response.text())
      await expect(read).rejects.toThrow('aborted')
    }
    const { body } = await fetch(`${url}/slow`)
    await body?.cancel()
  })
  await expect.poll(() => gone).toBe(4)
})

answers['/moved-to-never'] = (response) =>
  response.writeHead(302, { location: '/never' }).end('moved')
