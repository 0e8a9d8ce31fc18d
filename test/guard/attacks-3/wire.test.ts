import http2 from 'node:http2'
import http, { createServer } from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { guard, type GuardRun } from '@retake/guard'
import axios from 'axios'
import got from 'got'
import * as undici from 'undici'
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest'

/** Method, target and host of each request that a server answered, and the method it would obey. */
const seen: string[] = []
const seenBy =
  (name: string) =>
  (request: http.IncomingMessage | http2.Http2ServerRequest, response: http.ServerResponse) => {
    const { method, url, headers, trailers } = request as http.IncomingMessage
    const fields = Object.entries({ ...headers, ...(request.complete ? trailers : {}) })
    // Servers with CGI variables, such as PHP and WSGI, cannot tell `_` from `-`.
    const override = fields.find(([key]) =>
      key.replaceAll('_', '-').startsWith('x-http-method'),
    )?.[1]
    const host = headers.host ?? ''
    const authority = headers[':authority'] ?? ''
    seen.push(`${name} ${String(override ?? method)} ${url} ${host} ${String(authority)}`)
    if (url?.startsWith('/to?') === true)
      response.writeHead(307, { location: decodeURIComponent(url.slice(4)) }).end()
    else response.end('ok')
  }

const servers = {
  open: createServer({ insecureHTTPParser: true }, seenBy('open')),
  hidden: createServer(seenBy('hidden')),
  h2: http2.createServer(seenBy('h2') as never),
}
for (const each of Object.values(servers)) each.on('clientError', (_e, s) => s.destroy())
const port = (name: keyof typeof servers): number => (servers[name].address() as AddressInfo).port

beforeAll(async () => {
  for (const each of Object.values(servers))
    await new Promise<void>((done) => void each.listen(0, '127.0.0.1', () => done()))
})
afterAll(() => {
  for (const each of Object.values(servers)) each.close()
  servers.open.closeAllConnections()
  servers.hidden.closeAllConnections()
})
afterEach(() => void seen.splice(0))

type Kind = 'get' | 'hosts'

function guarded(kind: Kind): GuardRun {
  const addresses = [`127.0.0.1:${port('open')}`, `127.0.0.1:${port('h2')}`]
  const run = guard({
    name: 'wire',
    dir: '/tmp/retake-wire-unused',
    durability: 'process',
    policy: {
      name: 'net',
      network: { allow: [], addresses, ...(kind === 'get' && { methods: ['GET', 'HEAD'] }) },
    },
  })
  onTestFinished(() => void run.end())
  addTools(run)
  return run
}

interface Options {
  readonly url?: string
  readonly session?: object
  readonly headers?: unknown
  readonly text?: string | readonly string[]
  readonly [key: string]: unknown
}

/** Honest tools that pass on what the model gives them. */
const TOOLS: Readonly<Record<string, (options: Options) => unknown>> = {
  fetch: async ({ url = '', ...init }) => (await fetch(url, init as RequestInit)).text(),
  undici: async ({ url = '', ...options }) =>
    (await undici.request(url, options as object)).body.text(),
  axios: async (options) => (await axios({ timeout: 500, ...options } as object)).data as unknown,
  got: ({ url = '', ...options }) =>
    got(url, { retry: { limit: 0 }, timeout: { request: 500 }, ...(options as object) }).text(),
  http: ({ url, trailers, header, body, ...options }) =>
    new Promise((resolve, reject) => {
      const request =
        url === undefined ? http.request(options as object) : http.request(url, options as object)
      request.on('error', reject)
      request.on('response', (response) => resolve(response.resume().statusCode))
      request.on('upgrade', (_response, socket) => resolve(socket.destroy()))
      request.setTimeout(300, () => request.destroy(new Error('no answer')))
      if (Array.isArray(header)) request.setHeader(String(header[0]), String(header[1]))
      if (typeof body === 'string') request.write(body)
      if (trailers !== undefined) request.addTrailers(trailers as http.OutgoingHttpHeaders)
      request.end()
    }),
  http2: ({ url = '', session = {}, headers }) =>
    new Promise((resolve, reject) => {
      const opened = http2.connect(url, session)
      opened.on('error', reject)
      let stream: http2.ClientHttp2Stream
      try {
        stream = opened.request(headers as http2.OutgoingHttpHeaders)
      } catch (error) {
        opened.destroy()
        throw error
      }
      stream.on('error', reject)
      stream.on('response', (answer) => {
        resolve(answer[':status'])
        opened.destroy()
      })
      stream.end()
      setTimeout(() => opened.destroy(), 300).unref()
    }),
  socket: ({ text = '', ...options }) =>
    new Promise((resolve, reject) => {
      const socket = net.connect(options as unknown as net.NetConnectOpts)
      socket.on('error', reject)
      socket.on('close', resolve)
      socket.on('connect', () => {
        for (const each of [text].flat()) socket.write(each, 'latin1')
        setTimeout(() => socket.end(), 30)
      })
      socket.resume()
    }),
}

function addTools(run: GuardRun): void {
  for (const [name, work] of Object.entries(TOOLS))
    run.tool(name, work as (args: unknown) => unknown, { effects: ['read', 'network'] })
}

interface Case {
  readonly kind: Kind
  readonly tool: string
  readonly attack: () => object
  readonly twin?: () => object
}

const hidden = (): string => `http://127.0.0.1:${port('hidden')}/`
const open = (path = '/'): string => `http://127.0.0.1:${port('open')}${path}`
const h2 = (): string => `http://127.0.0.1:${port('h2')}`
const own = (): string => `127.0.0.1:${port('open')}`
const at = (): object => ({ host: '127.0.0.1', port: port('open') })

const OVERRIDES = [
  'X_HTTP_Method_Override',
  'X-HTTP_Method',
  'x_method_override',
  'X-Http-Method-Override',
]

/** Hand-written requests for another virtual host, which the server executes. */
const HANDMADE: Readonly<Record<string, string>> = {
  'HTTP/2.0 in the request line': 'GET /evil HTTP/2.0\r\nHost: evil\r\n\r\n',
  'HTTP/0.9 in the request line': 'GET /evil HTTP/0.9\r\nHost: evil\r\n\r\n',
  'RTSP/1.0 in the request line': 'GET /evil RTSP/1.0\r\nHost: evil\r\n\r\n',
  'RTSP by another method': 'OPTIONS /evil RTSP/1.0\r\nHost: evil\r\n\r\n',
  'ICE/1.0 in the request line': 'SOURCE /evil ICE/1.0\r\nHost: evil\r\n\r\n',
  'several spaces': 'GET  /evil  HTTP/1.1\r\nHost: evil\r\n\r\n',
  'a lower-case protocol': 'GET /evil http/1.1\r\nHost: evil\r\n\r\n',
  'a space at the end': 'GET /evil HTTP/1.1 \r\nHost: evil\r\n\r\n',
  'a header of single line feeds': 'GET /evil HTTP/1.1\nHost: evil\n\n',
  'a byte order mark': '\xef\xbb\xbfGET /evil HTTP/1.1\r\nHost: evil\r\n\r\n',
  'a space before the method': ' GET /evil HTTP/1.1\r\nHost: evil\r\n\r\n',
  'a vertical tab': 'GET\x0b/evil HTTP/1.1\r\nHost: evil\r\n\r\n',
  'user data in the target': 'GET http://OWN@evil/evil HTTP/1.1\r\nHost: OWN\r\n\r\n',
  'a backslash in the target': 'GET http://OWN\\@evil/evil HTTP/1.1\r\nHost: OWN\r\n\r\n',
  'a target without slashes': 'GET http:evil/evil HTTP/1.1\r\nHost: OWN\r\n\r\n',
  'a target of another scheme': 'GET gopher://evil/evil HTTP/1.1\r\nHost: OWN\r\n\r\n',
  'a host behind an absolute target': 'GET http://OWN/ HTTP/1.1\r\nHost: evil\r\n\r\n',
  'a folded host': 'GET / HTTP/1.1\r\nHost:\r\n evil\r\n\r\n',
  'a host with user data': 'GET / HTTP/1.1\r\nHost: OWN@evil\r\n\r\n',
  'a host with a path': 'GET / HTTP/1.1\r\nHost: evil/OWN\r\n\r\n',
  'a host before the own one': 'GET / HTTP/1.1\r\nHost: evil\r\nHost: OWN\r\n\r\n',
  'a host after a line of other bytes': 'hello there\r\nGET /evil HTTP/1.1\r\nHost: evil\r\n\r\n',
  'a chunk with an extension':
    'POST / HTTP/1.1\r\nHost: OWN\r\nTransfer-Encoding: chunked\r\n\r\n1;a=\n\r\nx\r\n0\r\n\r\nGET /evil HTTP/1.1\r\nHost: evil\r\n\r\n',
  'a chunk size with a prefix':
    'POST / HTTP/1.1\r\nHost: OWN\r\nTransfer-Encoding: chunked\r\n\r\n0x0\r\n\r\nGET /evil HTTP/1.1\r\nHost: evil\r\n\r\n',
  'a chunk size with a sign':
    'POST / HTTP/1.1\r\nHost: OWN\r\nTransfer-Encoding: chunked\r\n\r\n+0\r\n\r\nGET /evil HTTP/1.1\r\nHost: evil\r\n\r\n',
  'an upgrade before it':
    'GET / HTTP/1.1\r\nHost: OWN\r\nUpgrade: none\r\n\r\nGET /evil HTTP/2.0\r\nHost: evil\r\n\r\n',
  'an answer in between': 'HTTP/1.1 200 OK\r\n\r\nGET /evil HTTP/1.1\r\nHost: evil\r\n\r\n',
}

const byHand =
  (text: string): (() => object) =>
  () => ({
    ...at(),
    text: text.replaceAll('OWN', own()),
  })
const handTwin = byHand('GET /a HTTP/1.1\r\nHost: OWN\r\nUser-Agent: x\r\n\r\n')

const CASES: Readonly<Record<string, Case>> = {
  ...Object.fromEntries(
    OVERRIDES.flatMap((name) =>
      (['fetch', 'undici', 'axios', 'got', 'http'] as const).map((tool) => [
        `names another method in ${name} with ${tool}`,
        {
          kind: 'get',
          tool,
          attack: () => ({ url: open(), headers: { [name]: 'DELETE' } }),
          twin: () => ({ url: open(), headers: { [name]: 'get' } }),
        },
      ]),
    ),
  ),
  ...Object.fromEntries(
    ['x-http-method-override', 'X-HTTP-Method', 'x_http_method_override'].map((name) => [
      `names another method in ${name} over HTTP/2`,
      {
        kind: 'get',
        tool: 'http2',
        attack: () => ({ url: h2(), headers: { ':path': '/', [name]: 'DELETE' } }),
        twin: () => ({ url: h2(), headers: { ':path': '/', [name]: 'GET' } }),
      },
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(HANDMADE).map(([name, text], index) => [
      `writes a request by hand with ${name}`,
      {
        kind: 'hosts',
        tool: 'socket',
        attack: byHand(text),
        ...(index === 0 && { twin: handTwin }),
      },
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(HANDMADE).map(([name, text]) => [
      `writes a request by hand in single bytes with ${name}`,
      {
        kind: 'hosts',
        tool: 'socket',
        attack: () => ({ ...at(), text: text.replaceAll('OWN', own()).split('') }),
      },
    ]),
  ),
  ...Object.fromEntries(
    (
      [
        ['names another host beside the authority of HTTP/2', { host: 'evil' }],
        ['names another host, capitalised, over HTTP/2', { Host: 'evil' }],
        ['names another host in a list over HTTP/2', { host: ['evil'] }],
        ['names another authority, capitalised, over HTTP/2', { ':Authority': 'evil' }],
        ['names both, the host another, over HTTP/2', { ':authority': 'OWN', host: 'evil' }],
        ['names both, the authority another, over HTTP/2', { ':authority': 'evil', host: 'OWN' }],
      ] as const
    ).map(([name, headers]) => [
      name,
      {
        kind: 'hosts',
        tool: 'http2',
        attack: () => ({
          url: h2(),
          headers: JSON.parse(JSON.stringify(headers).replaceAll('OWN', h2().slice(7))) as unknown,
        }),
        twin: () => ({ url: h2(), headers: { host: h2().slice(7) } }),
      },
    ]),
  ),
  ...Object.fromEntries(
    (
      [
        ['a capitalised method', { ':Method': 'DELETE' }],
        ['a method in a list', { ':method': ['DELETE'] }],
        ['CONNECT', { ':method': 'CONNECT', ':authority': 'evil:80' }],
        [
          'a list with a decoy',
          ['x-a', ':method', 'GET', 'x-b', ':method', 'DELETE', ':path', '/'],
        ],
      ] as const
    ).map(([name, headers]) => [
      `sends ${name} over HTTP/2`,
      {
        kind: 'get',
        tool: 'http2',
        attack: () => ({ url: h2(), headers }),
        twin: () => ({ url: h2(), headers: { ':method': 'HEAD' } }),
      },
    ]),
  ),
  'connects an HTTP/2 session to another port by its options': {
    kind: 'hosts',
    tool: 'http2',
    attack: () => ({ url: h2(), session: { port: port('hidden') }, headers: { ':path': '/' } }),
  },
  'connects an HTTP/2 session to another host by its options': {
    kind: 'hosts',
    tool: 'http2',
    attack: () => ({ url: h2(), session: { host: '127.0.0.2' }, headers: { ':path': '/' } }),
  },
  ...Object.fromEntries(
    (
      [
        [
          'a port in hexadecimal',
          () => ({ port: `0x${port('open').toString(16)}`, method: 'DELETE' }),
        ],
        ['a port with spaces', () => ({ port: ` ${port('open')} `, method: 'DELETE' })],
        ['a port with a fraction of zero', () => ({ port: `${port('open')}.0`, method: 'DELETE' })],
        ['a port in scientific notation', () => ({ port: `${port('open')}e0`, method: 'DELETE' })],
        ['a method with white space', () => ({ port: port('open'), method: ' DELETE' })],
        ['a lower-case method', () => ({ port: port('open'), method: 'delete' })],
        ['no host header', () => ({ port: port('open'), setHost: false, method: 'DELETE' })],
        [
          'a lenient parser',
          () => ({ port: port('open'), insecureHTTPParser: true, method: 'PUT' }),
        ],
        [
          'the body of another request, with Connection: content-length',
          () => ({
            port: port('open'),
            path: '/evil',
            headers: { connection: 'keep-alive, content-length', 'content-length': 3 },
            body: 'abc',
          }),
        ],
        [
          'a method in a trailer',
          () => ({
            port: port('open'),
            headers: { 'transfer-encoding': 'chunked', trailer: 'x-http-method-override' },
            body: 'a',
            trailers: { 'x-http-method-override': 'DELETE' },
          }),
        ],
        [
          'a method in a late header',
          () => ({ port: port('open'), header: ['x-http-method', 'PUT'] }),
        ],
        [
          'an upgrade in a late header',
          () => ({ port: port('open'), header: ['upgrade', 'h2c'], method: 'PUT' }),
        ],
      ] as const
    ).map(([name, options]) => [
      `sends with http ${name}`,
      {
        kind: 'get',
        tool: 'http',
        attack: () => ({ host: '127.0.0.1', ...options() }),
        twin: () => ({ ...at(), port: String(port('open')), headers: { connection: 'close' } }),
      },
    ]),
  ),
  ...Object.fromEntries(
    (
      [
        ['another port', () => ({ url: open(), port: port('hidden') })],
        ['another port as text', () => ({ url: open(), port: `0x${port('hidden').toString(16)}` })],
        ['another address', () => ({ url: open(), hostname: '127.0.0.2' })],
        ['the whole network as the host', () => ({ host: '0', port: port('hidden') })],
        ['a list as the host', () => ({ host: ['127.0.0.1'], port: port('hidden') })],
        ['a default port', () => ({ host: '127.0.0.1', defaultPort: port('hidden') })],
        ['a late host', () => ({ ...at(), header: ['Host', 'evil'] })],
        ['a host in a list', () => ({ ...at(), headers: { host: ['evil'] } })],
        ['a host in upper case', () => ({ ...at(), headers: { HOST: 'evil' } })],
        ['an absolute path', () => ({ ...at(), path: 'http://evil/' })],
        ['a socket', () => ({ socketPath: '/run/docker.sock' })],
        ['a mapped address', () => ({ host: '::ffff:7f00:1', port: port('hidden') })],
        ['an address in octal', () => ({ host: '0177.1', port: port('hidden') })],
        ['an address in circled digits', () => ({ host: '①②⑦.⓪.⓪.①', port: port('hidden') })],
        ['a name below localhost', () => ({ host: 'a.localhost', port: port('hidden') })],
        ['a final dot', () => ({ host: 'localhost.', port: port('hidden') })],
      ] as const
    ).map(([name, options]) => [
      `goes elsewhere with http by ${name}`,
      { kind: 'hosts', tool: 'http', attack: options, twin: () => ({ url: open() }) },
    ]),
  ),
  ...Object.fromEntries(
    (
      [
        ['a list', () => ({ host: ['127.0.0.1'], port: port('hidden') })],
        ['a list in a list', () => ({ host: [['127.0.0.1']], port: port('hidden') })],
        ['a port as text', () => ({ host: '127.0.0.1', port: `0x${port('hidden').toString(16)}` })],
        ['an empty host', () => ({ host: '', port: port('hidden') })],
        ['no host', () => ({ port: port('hidden') })],
        ['a host of null', () => ({ host: null, port: port('hidden') })],
        ['a zone', () => ({ host: '::1%lo', port: port('hidden') })],
      ] as const
    ).map(([name, options]) => [
      `goes elsewhere with a socket by ${name}`,
      {
        kind: 'hosts',
        tool: 'socket',
        attack: () => ({ ...options(), text: `GET /evil HTTP/1.1\r\nHost: ${own()}\r\n\r\n` }),
        twin: handTwin,
      },
    ]),
  ),
  ...Object.fromEntries(
    (['fetch', 'axios', 'got'] as const).flatMap((tool) =>
      [
        ['another port', () => hidden()],
        ['another scheme of the same address', () => hidden().replace('127.0.0.1', '2130706433')],
        ['user data', () => `http://${own()}@127.0.0.1:${port('hidden')}/`],
        ['backslashes', () => `\\\\127.0.0.1:${port('hidden')}\\`],
        ['no scheme', () => `//127.0.0.1:${port('hidden')}/`],
        ['a tab in the scheme', () => `ht\ttp://127.0.0.1:${port('hidden')}/`],
      ].map(([name, to]) => [
        `is redirected by ${tool} to ${String(name)}`,
        {
          kind: 'hosts',
          tool,
          attack: () => ({ url: open(`/to?${encodeURIComponent((to as () => string)())}`) }),
          twin: () => ({ url: open(`/to?${encodeURIComponent('/next')}`) }),
        },
      ]),
    ),
  ),
  ...Object.fromEntries(
    (
      [
        [
          'axios',
          'a proxy',
          () => ({ url: open(), proxy: { host: '127.0.0.1', port: port('hidden') } }),
        ],
        ['axios', 'a base', () => ({ baseURL: open(), url: hidden() })],
        ['axios', 'a socket', () => ({ url: open(), socketPath: '/run/docker.sock' })],
        ['axios', 'a host header', () => ({ url: open(), headers: { Host: 'evil' } })],
        [
          'got',
          'a socket',
          () => ({ url: 'http://unix:/run/docker.sock:/', enableUnixSockets: true }),
        ],
        ['got', 'a host header', () => ({ url: open(), headers: { host: 'evil' } })],
        ['undici', 'a host header', () => ({ url: open(), headers: { host: 'evil' } })],
        ['undici', 'an origin', () => ({ url: open(), origin: hidden() })],
        ['undici', 'a path', () => ({ url: open(), path: '//evil/', headers: ['Host', 'evil'] })],
        ['fetch', 'a host header', () => ({ url: open(), headers: { host: 'evil' } })],
      ] as const
    ).map(([tool, name, options]) => [
      `goes elsewhere with ${tool} by ${name}`,
      { kind: 'hosts', tool, attack: options, twin: () => ({ url: open() }) },
    ]),
  ),
}

const isForbidden = (kind: Kind, request: string): boolean => {
  if (request.startsWith('hidden') || request.includes('evil')) return true
  return kind === 'get' && !/^\S+ (?:GET|HEAD|get) /.test(request)
}

async function requestsOf(kind: Kind, tool: string, args: object): Promise<string[]> {
  const run = guarded(kind)
  await run.call(tool, args)
  await new Promise((done) => setTimeout(done, 5))
  return seen.splice(0)
}

test.for(Object.entries(CASES))('a model %s: nothing forbidden arrives', async ([, each]) => {
  const requests = await requestsOf(each.kind, each.tool, each.attack())
  expect(requests.filter((request) => isForbidden(each.kind, request))).toEqual([])
})

const TWINS = Object.entries(CASES).filter(([, { twin }]) => twin !== undefined)
test.for(TWINS)('a model %s: the benign twin arrives', async ([, { kind, tool, twin }]) => {
  expect((await requestsOf(kind, tool, twin?.() ?? {})).length).toBeGreaterThan(0)
})
