/**
 * Ways to reach what a network scope does not allow. Each attack is a tool that tries it,
 * with arguments that the guard does not see unless `isHidden` is false; its twin does the
 * same where it may. `reaches: false`: from here the attack could not arrive anyway.
 */
import { AsyncResource } from 'node:async_hooks'
import dgram from 'node:dgram'
import dns from 'node:dns'
import http from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import net from 'node:net'
import tls from 'node:tls'
import axios from 'axios'
import got from 'got'
import nodeFetch from 'node-fetch'
import * as undici from 'undici'
import WebSocketOfWs from 'ws'

const PRIVATE = 'ADDRESS_PRIVATE'
const METADATA = 'ADDRESS_METADATA'
const HOST = 'HOST_NOT_ALLOWED'

// ── tools ────────────────────────────────────────────────────────────────────

const fetchText = async (url, init) => (await fetch(url, init)).text()

const httpText = (options, body) =>
  new Promise((resolve, reject) => {
    const client = (options.protocol ?? String(options)).startsWith('https') ? https : http
    const request = client.request(options, (response) => {
      let text = ''
      response.on('data', (part) => (text += part)).on('end', () => resolve(text))
      response.on('error', reject)
    })
    request.on('error', reject).end(body)
  })

/** Sends some bytes and waits for the first that come back. */
const rawText = (options, bytes = 'hello\n') =>
  new Promise((resolve, reject) => {
    const socket = net.connect(options, () => socket.write(bytes))
    socket.on('error', reject).on('close', () => reject(new Error('closed')))
    socket.once('data', (data) => {
      resolve(String(data))
      socket.destroy()
    })
  })

const h2Text = (session, headers = {}) =>
  new Promise((resolve, reject) => {
    session.on('error', reject)
    const stream = session.request({ ':path': '/', ...headers })
    let text = ''
    stream.on('error', reject).on('data', (part) => (text += part))
    stream.on('end', () => resolve(text)).end()
  })

const udpText = (port, host, how = 'send') =>
  new Promise((resolve, reject) => {
    const socket = dgram.createSocket('udp4')
    socket.on('error', reject).on('message', (message) => {
      resolve(String(message))
      socket.close()
    })
    const sent = (error) => error && reject(error)
    if (how === 'send') socket.send('hello', port, host, sent)
    else socket.connect(port, host, (error) => (error ? reject(error) : socket.send('hello', sent)))
    setTimeout(() => reject(new Error('no answer')), 500).unref()
  })

/** Sends with exactly these arguments after the message. */
const udpWith = (args, socket = dgram.createSocket('udp4')) =>
  new Promise((resolve, reject) => {
    socket.on('error', reject).on('message', (message) => {
      resolve(String(message))
      socket.close()
    })
    const sent = (error) => error && reject(error)
    socket.send('hello', ...args.map((each) => (each === 'callback' ? sent : each)))
    setTimeout(() => reject(new Error('no answer')), 500).unref()
  })

const webSocketText = (WebSocket, url) =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(url)
    socket.addEventListener('message', ({ data }) => {
      resolve(String(data))
      socket.close()
    })
    socket.addEventListener('error', (event) => reject(event.error ?? new Error('failed')))
  })

const clients = {
  fetch: fetchText,
  'http.get': (url) => httpText(url),
  'undici.request': async (url) => (await undici.request(url)).body.text(),
  'undici.fetch': async (url) => (await undici.fetch(url)).text(),
  axios: async (url) => (await axios.get(url)).data,
  got: (url) => got(url, { retry: { limit: 0 } }).text(),
  'node-fetch': async (url) => (await nodeFetch(url)).text(),
}

/** As older proxy agents of npm work: not a subclass of `http.Agent`. */
const handmadeProxy = (proxy) => ({
  addRequest(request, { host, port }) {
    const socket = net.connect({ host: '127.0.0.1', port: proxy })
    socket.once('error', (error) => request.onSocket(null, error))
    socket.once('data', () => request.onSocket(socket))
    socket.write(`CONNECT ${host}:${port} HTTP/1.1\r\nhost: ${host}:${port}\r\n\r\n`)
  },
})

const url =
  (host, key = 'secret') =>
  (world) =>
    `http://${host}:${world[key]}/`
const allowedUrl = url('127.0.0.1', 'allowed')
const twinFetch = { args: allowedUrl, isHidden: false }

// ── spellings of addresses ───────────────────────────────────────────────────

/** Each is another way to write this machine. */
const LOOPBACK = [
  '127.0.0.1',
  'localhost',
  'LocalHost',
  'localhost.',
  '127.0.0.1.',
  '127.1',
  '127.0.1',
  '127.0.0.2',
  '127.255.255.254',
  '2130706433',
  '0x7f000001',
  '0X7F.1',
  '0x7f.0x0.0x0.0x1',
  '0177.0.0.1',
  '0177.0x0.0.1',
  '017700000001',
  '0.0.0.0',
  '0',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[0000:0000:0000:0000:0000:0000:0000:0001]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[::FFFF:7f00:1]',
  '１２７.０.０.１',
  '①②⑦.⓪.⓪.①',
  '127。0。0。1',
  '%31%32%37.0.0.1',
  '127%2e0%2e0%2e1',
]

/** Nothing listens there for us: they must be refused before a packet leaves. */
const ELSEWHERE = [
  ['169.254.169.254', METADATA],
  ['[::ffff:169.254.169.254]', METADATA],
  ['2852039166', METADATA],
  ['0xA9FEA9FE', METADATA],
  ['169.254.170.2', METADATA],
  ['100.100.100.200', METADATA],
  ['168.63.129.16', METADATA],
  ['[fd00:ec2::254]', METADATA],
  ['metadata.google.internal', METADATA],
  ['METADATA.google.internal.', METADATA],
  ['metadata', METADATA],
  ['instance-data', METADATA],
  ['10.0.0.1', PRIVATE],
  ['172.16.0.1', PRIVATE],
  ['172.31.255.255', PRIVATE],
  ['192.168.1.1', PRIVATE],
  ['169.254.1.1', PRIVATE],
  ['100.64.0.1', PRIVATE],
  ['0.1.2.3', PRIVATE],
  ['192.0.2.1', PRIVATE],
  ['198.18.0.1', PRIVATE],
  ['203.0.113.7', PRIVATE],
  ['224.0.0.1', PRIVATE],
  ['240.0.0.1', PRIVATE],
  ['255.255.255.255', PRIVATE],
  ['[fe80::1]', PRIVATE],
  ['[fc00::1]', PRIVATE],
  ['[fd12:3456::1]', PRIVATE],
  ['[ff02::1]', PRIVATE],
  ['[2001:db8::1]', PRIVATE],
  ['[::127.0.0.1]', PRIVATE],
  ['[::ffff:0:127.0.0.1]', PRIVATE],
  ['[64:ff9b::7f00:1]', PRIVATE],
  ['[64:ff9b::10.0.0.1]', PRIVATE],
  ['[64:ff9b:1::1]', PRIVATE],
  ['[2002:7f00:1::]', PRIVATE],
  ['[2002:c0a8:101::1]', PRIVATE],
  ['[2001:0:7f00:1::]', PRIVATE],
  ['[2001:0:4136:e378:8000:63bf:80ff:fffe]', PRIVATE],
]

const spellings = [
  ...LOOPBACK.flatMap((host) => [
    {
      name: `fetch of ${host}`,
      // Not every resolver knows the name with a dot.
      reaches: host !== 'localhost.',
      args: url(host),
      tool: fetchText,
      code: PRIVATE,
      twin: twinFetch,
    },
    {
      name: `an argument that names ${host}`,
      reaches: host !== 'localhost.',
      args: url(host),
      tool: fetchText,
      isHidden: false,
      code: PRIVATE,
      attempts: 0,
      twin: twinFetch,
    },
  ]),
  ...ELSEWHERE.map(([host, code]) => ({
    name: `fetch of ${host}`,
    reaches: false,
    args: () => `http://${host}/latest/meta-data/`,
    tool: fetchText,
    code,
    twin: twinFetch,
  })),
  // As resolvers read them, without any URL.
  ...[
    '127.1',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '0',
    'localhost',
    '::1',
    '::ffff:127.0.0.1',
  ].map((host) => ({
    name: `a socket to ${host}`,
    args: ({ secretRaw, secret }) => ({
      host,
      port: host.includes(':') || host === '0' ? secret : secretRaw,
    }),
    tool: (options) => rawText(options),
    code: PRIVATE,
    twin: { args: ({ allowedRaw }) => ({ host: '127.0.0.1', port: allowedRaw }) },
  })),
  {
    name: 'an address with a zone',
    reaches: false,
    args: () => ({ host: 'fe80::1%lo', port: 80 }),
    tool: (options) => rawText(options),
    code: PRIVATE,
    twin: { args: ({ allowedRaw }) => ({ host: '127.0.0.1', port: allowedRaw }) },
  },
  ...[
    ['one slash', (port) => `http:/127.0.0.1:${port}/`],
    ['no slash', (port) => `http:127.0.0.1:${port}/`],
    ['backslashes', (port) => `http:\\\\127.0.0.1:${port}\\`],
    ['spaces around it', (port) => `  http://127.0.0.1:${port}/ `],
    ['a tab in the middle', (port) => `ht\ttp://127.0.0.1:${port}/`],
    ['a line break in the middle', (port) => `http://127.0.0.1\n:${port}/`],
    ['upper case', (port) => `HTTP://127.0.0.1:${port}/`],
    ['a fragment like a host', (port) => `http://127.0.0.1:${port}#@example.com/`],
  ].flatMap(([what, spell]) => [
    {
      name: `a URL with ${what}`,
      args: ({ secret }) => spell(secret),
      tool: fetchText,
      code: PRIVATE,
      twin: { args: ({ allowed }) => spell(allowed) },
    },
    {
      name: `an argument with ${what}`,
      args: ({ secret }) => spell(secret),
      tool: fetchText,
      isHidden: false,
      code: PRIVATE,
      attempts: 0,
      twin: { args: ({ allowed }) => spell(allowed) },
    },
  ]),
  ...[
    ['an allowed host as user', (port) => `http://api.example.com@127.0.0.1:${port}/`],
    ['an allowed host as password', (port) => `http://api:example.com@127.0.0.1:${port}/`],
    ['an allowed host before a backslash', (port) => `http://127.0.0.1:${port}\\@api.example.com/`],
  ].map(([what, spell]) => ({
    name: `a URL with ${what}`,
    args: ({ secret }) => spell(secret),
    policy: ({ listed }) => ({
      name: 'x',
      network: { allow: ['api.example.com'], addresses: listed },
    }),
    tool: (text) => httpText(text),
    code: PRIVATE,
    twin: { args: ({ allowed }) => spell(allowed) },
  })),
]

// ── every client ─────────────────────────────────────────────────────────────

const others = Object.entries(clients).flatMap(([name, client]) => [
  {
    name: `${name} to a private address`,
    args: url('127.0.0.1'),
    tool: client,
    code: PRIVATE,
    twin: { args: allowedUrl },
  },
  {
    name: `${name} to a name that means a private address`,
    args: url('localhost'),
    tool: client,
    code: PRIVATE,
    twin: { args: url('localhost', 'allowed') },
  },
  {
    name: `${name} follows a redirect to a private address`,
    args: ({ allowed, secret }) => `http://127.0.0.1:${allowed}/?to=http://127.0.0.1:${secret}/`,
    tool: name === 'http.get' || name === 'undici.request' ? followed(client) : client,
    code: PRIVATE,
    twin: { args: ({ allowed }) => `http://127.0.0.1:${allowed}/?to=/there` },
  },
  {
    name: `${name} to a metadata address`,
    reaches: false,
    args: () => 'http://169.254.169.254/latest/meta-data/iam/',
    tool: client,
    code: METADATA,
    twin: { args: allowedUrl },
  },
])

/** For clients that leave redirects to their users. */
function followed(client) {
  return async (first) => {
    const { searchParams } = new URL(first)
    await client(first)
    return client(new URL(searchParams.get('to'), first).href)
  }
}

const sockets = [
  {
    name: 'net.connect',
    args: ({ secretRaw }) => ({ host: '127.0.0.1', port: secretRaw }),
    tool: (options) => rawText(options),
    code: PRIVATE,
    twin: { args: ({ allowedRaw }) => ({ host: '127.0.0.1', port: allowedRaw }) },
  },
  {
    name: 'net.connect without a host',
    args: ({ secretRaw }) => ({ port: secretRaw }),
    tool: (options) => rawText(options),
    code: PRIVATE,
    twin: { args: ({ allowedRaw }) => ({ port: allowedRaw }) },
  },
  {
    name: 'tls.connect',
    args: ({ secretRaw }) => ({ host: '127.0.0.1', port: secretRaw }),
    tool: (options, { psk }) =>
      new Promise((resolve, reject) => {
        const socket = tls.connect({ ...options, ...psk }, () => socket.end(resolve('secured')))
        socket.on('error', reject)
      }),
    code: PRIVATE,
    twin: { args: ({ allowedTls }) => ({ host: '127.0.0.1', port: allowedTls }) },
  },
  {
    name: 'https to a private address',
    args: ({ secret }) => ({ protocol: 'https:', host: '127.0.0.1', port: secret }),
    tool: (options, { psk }) => httpText({ ...options, ...psk }),
    code: PRIVATE,
    twin: {
      args: ({ allowedTls }) => ({ protocol: 'https:', host: '127.0.0.1', port: allowedTls }),
    },
  },
  {
    name: 'a local socket',
    args: ({ secretPath }) => ({ socketPath: secretPath }),
    tool: (options) => httpText(options),
    code: 'LOCAL_SOCKET_NOT_ALLOWED',
    twin: { args: ({ allowedPath }) => ({ socketPath: allowedPath }) },
  },
  {
    name: 'a local socket by a path with dots',
    args: ({ secretPath, folder }) => ({
      path: `${folder}/../${secretPath.split('/').slice(-2).join('/')}`,
    }),
    tool: (options) => rawText(options, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n'),
    code: 'LOCAL_SOCKET_NOT_ALLOWED',
    twin: {
      args: ({ allowedPath, folder }) => ({
        path: `${folder}/../${allowedPath.split('/').slice(-2).join('/')}`,
      }),
    },
  },
  {
    name: 'http2.connect',
    args: ({ secretH2 }) => `http://127.0.0.1:${secretH2}`,
    tool: async (authority) => {
      const session = http2.connect(authority)
      return h2Text(session).finally(() => session.destroy())
    },
    code: PRIVATE,
    twin: { args: ({ allowedH2 }) => `http://127.0.0.1:${allowedH2}` },
  },
  {
    name: 'an HTTP/2 session from before the call',
    before: async ({ secretH2 }) => openSession(secretH2),
    tool: (_, { ready }) => h2Text(ready.session),
    code: PRIVATE,
    twin: { before: async ({ allowedH2 }) => openSession(allowedH2) },
  },
  {
    name: 'tls.connect over a socket from before the call',
    before: async ({ secretRaw }) => openSocket(secretRaw),
    tool: (_, { ready, psk }) =>
      new Promise((resolve, reject) => {
        const socket = tls.connect({ socket: ready.socket, ...psk }, () =>
          socket.end(resolve('secured')),
        )
        socket.on('error', reject)
      }),
    code: PRIVATE,
    twin: { before: async ({ allowedTls }) => openSocket(allowedTls) },
  },
  {
    name: 'a socket handed to http.request',
    before: async ({ secret }) => openSocket(secret),
    tool: (_, { ready: { socket } }) =>
      httpText({ host: 'public.test', createConnection: () => socket, agent: undefined }),
    code: PRIVATE,
    twin: { before: async ({ allowed }) => openSocket(allowed) },
  },
  {
    name: 'a datagram',
    args: ({ secretUdp }) => secretUdp,
    tool: (port) => udpText(port, '127.0.0.1'),
    code: PRIVATE,
    twin: { args: ({ allowedUdp }) => allowedUdp },
  },
  // Forms of `send` that differ in how many arguments there seem to be.
  ...Object.entries({
    'and undefined at the end': (port) => [port, '127.0.0.1', undefined],
    'and more undefined at the end': (port) => [port, '127.0.0.1', undefined, undefined, undefined],
    'and null for the rest': (port) => [port, '127.0.0.1', null, null, 'callback'],
    'with offset and length': (port) => [0, 5, port, '127.0.0.1', 'callback'],
    'with offset and length, and undefined': (port) => [0, 5, port, '127.0.0.1', undefined],
    'without an address': (port) => [port, 'callback'],
    'with an empty address': (port) => [port, '', 'callback'],
    'with the port as text': (port) => [String(port), '127.0.0.1', 'callback'],
  }).map(([name, args]) => ({
    name: `a datagram ${name}`,
    args: ({ secretUdp }) => secretUdp,
    tool: (port) => udpWith(args(port)),
    code: PRIVATE,
    twin: { args: ({ allowedUdp }) => allowedUdp },
  })),
  {
    name: 'a datagram to a name',
    args: ({ secretUdp }) => secretUdp,
    tool: (port) => udpText(port, 'localhost'),
    code: PRIVATE,
    twin: { args: ({ allowedUdp }) => allowedUdp },
  },
  {
    name: 'a connected datagram socket',
    args: ({ secretUdp }) => secretUdp,
    tool: (port) => udpText(port, '127.0.0.1', 'connect'),
    code: PRIVATE,
    twin: { args: ({ allowedUdp }) => allowedUdp },
  },
  {
    name: 'ws',
    args: ({ secret }) => `ws://127.0.0.1:${secret}/`,
    tool: (text) => webSocketText(WebSocketOfWs, text),
    code: PRIVATE,
    twin: { args: ({ allowed }) => `ws://127.0.0.1:${allowed}/` },
  },
  {
    name: 'the WebSocket of undici',
    args: ({ secret }) => `ws://127.0.0.1:${secret}/`,
    tool: (text) => webSocketText(undici.WebSocket, text),
    status: 'failed',
    blocked: PRIVATE,
    twin: { args: ({ allowed }) => `ws://127.0.0.1:${allowed}/` },
  },
  ...(globalThis.WebSocket === undefined
    ? []
    : [
        {
          name: 'the global WebSocket',
          args: ({ secret }) => `ws://127.0.0.1:${secret}/`,
          tool: (text) => webSocketText(globalThis.WebSocket, text),
          status: 'failed',
          blocked: PRIVATE,
          twin: { args: ({ allowed }) => `ws://127.0.0.1:${allowed}/` },
        },
      ]),
  {
    name: 'a server inside the tool',
    reaches: false,
    tool: () =>
      new Promise((resolve, reject) => {
        const server = http.createServer().on('error', reject)
        server.listen(0, '127.0.0.1', () => server.close(() => resolve('listened')))
      }),
    code: 'LISTEN_NOT_ALLOWED',
    twin: { policy: () => ({ name: 'free' }) },
  },
  {
    name: 'a bound datagram socket inside the tool',
    reaches: false,
    tool: () =>
      new Promise((resolve) => {
        const socket = dgram.createSocket('udp4')
        socket.bind(0, '127.0.0.1', () => socket.close(() => resolve('bound')))
      }),
    code: 'LISTEN_NOT_ALLOWED',
    twin: { policy: () => ({ name: 'free' }) },
  },
]

function openSocket(port) {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1', () =>
      resolve({ socket, end: () => socket.destroy() }),
    )
    socket.on('error', reject)
  })
}

async function openSession(port) {
  const session = http2.connect(`http://127.0.0.1:${port}`)
  session.on('error', () => {})
  await h2Text(session)
  return { session, end: () => session.destroy() }
}

// ── allow lists ──────────────────────────────────────────────────────────────

/** Every name means the allowed server: only the list decides. */
const home = (_name, options, answered) =>
  options.all
    ? answered(null, [{ address: '127.0.0.1', family: 4 }])
    : answered(null, '127.0.0.1', 4)
const listing =
  (...allow) =>
  ({ listed, allowed }) => ({
    name: 'listed',
    network: { allow: allow.map((text) => text.replace('PORT', allowed)), addresses: listed },
  })
const asked = (host, more = {}) =>
  function args({ allowed }) {
    return { host, port: allowed, lookup: home, ...more }
  }

const lists = [
  ['a host that is not listed', 'evil.test', 'api.example.com', ['api.example.com']],
  ['a name that ends like a listed one', 'evilexample.com', 'www.example.com', ['*.example.com']],
  [
    'a name that begins like a listed one',
    'api.example.com.evil.test',
    'api.example.com',
    ['api.example.com'],
  ],
  ['the name above a wildcard', 'example.com', 'a.b.example.com', ['*.example.com']],
  ['a name below a listed one', 'x.api.example.com', 'API.Example.COM.', ['api.example.com']],
  [
    'another port',
    'api.example.com',
    'www.example.com',
    ['api.example.com:1', 'www.example.com:PORT'],
  ],
  ['an empty list', 'api.example.com', '127.0.0.1', []],
  ['a number that is a name', '10.example.org', '10.example.com', ['10.example.com']],
].map(([what, bad, good, allow]) => ({
  name: `an allow list against ${what}`,
  reaches: false,
  policy: listing(...allow),
  args: asked(bad),
  tool: (options) => httpText(options),
  code: HOST,
  twin: { args: asked(good) },
}))

const names = [
  ...lists,
  {
    name: 'an allow list against a name in another script',
    reaches: false,
    policy: listing('api.example.com', 'bücher.example'),
    args: ({ allowedRaw }) => ({ host: 'аpi.example.com', port: allowedRaw, lookup: home }),
    tool: (options) => rawText(options),
    code: HOST,
    twin: {
      args: ({ allowedRaw }) => ({ host: 'xn--bcher-kva.EXAMPLE', port: allowedRaw, lookup: home }),
    },
  },
  {
    name: 'an allow list that names a private host',
    policy: ({ secret, listed }) => ({
      name: 'listed',
      network: { allow: [`127.0.0.1:${secret}`, 'localhost'], addresses: listed },
    }),
    args: url('127.0.0.1'),
    tool: fetchText,
    code: PRIVATE,
    twin: { args: allowedUrl },
  },
  {
    name: 'a metadata service in a listed block',
    reaches: false,
    policy: ({ listed }) => ({ name: 'x', network: { addresses: [...listed, '169.254.0.0/16'] } }),
    args: () => 'http://169.254.169.254/',
    tool: fetchText,
    code: METADATA,
    twin: twinFetch,
  },
  {
    name: 'a look-up that carries data in its name',
    reaches: false,
    policy: ({ listed }) => ({ name: 'x', network: { allow: ['localhost'], addresses: listed } }),
    args: () => 'c2VjcmV0.evil.test',
    tool: (name) => dns.promises.lookup(name),
    code: 'LOOKUP_NOT_ALLOWED',
    twin: { args: () => 'localhost' },
  },
  ...['resolve4', 'resolveTxt', 'resolve'].map((method) => ({
    name: `dns.${method} of a name that is not listed`,
    reaches: false,
    policy: ({ listed }) => ({
      name: 'x',
      network: { allow: ['*.example.test'], addresses: listed },
    }),
    before: async ({ dns: server }) => resolverOf(server),
    args: () => 'c2VjcmV0.example.org',
    tool: (name, { ready: { resolver } }) => resolver[method](name),
    code: 'LOOKUP_NOT_ALLOWED',
    twin: { args: () => 'www.example.test' },
  })),
  {
    name: 'a name server of its own',
    reaches: false,
    args: ({ dns: server }) => server.address,
    tool: async (address) => {
      const resolver = new dns.promises.Resolver()
      resolver.setServers([address])
      return resolver.resolve4('c2VjcmV0.example.org')
    },
    code: PRIVATE,
    twin: {
      policy: ({ dns: server, listed }) => ({
        name: 'x',
        network: { addresses: [...listed, server.address] },
      }),
    },
  },
  {
    name: 'another host behind a listed one',
    reaches: false,
    policy: listing('api.example.com'),
    args: asked('api.example.com', { headers: { host: 'evil.test' } }),
    tool: (options) => httpText(options),
    code: HOST,
    twin: { args: asked('api.example.com', { headers: { host: 'api.example.com' } }) },
  },
]

function resolverOf(server) {
  const resolver = new dns.promises.Resolver()
  resolver.setServers([server.address])
  return { resolver }
}

// ── names that change their mind ─────────────────────────────────────────────

/** Says one thing first and another later, as a hostile name server does. */
function fickle(...answers) {
  let asked = 0
  return (_name, options, answered) => {
    const found = [answers[Math.min(asked++, answers.length - 1)]].flat()
    const addresses = found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    if (options.all) answered(null, addresses)
    else answered(null, addresses[0].address, addresses[0].family)
  }
}

const askTwice = async (options) => {
  await httpText(options).catch((error) => {
    if (error.code === undefined || error.name === 'GuardError') throw error
  })
  return httpText(options)
}

const rebinding = [
  {
    name: 'a name that means a private address',
    args: ({ secret }) => ({ host: 'rebind.test', port: secret, lookup: fickle('127.0.0.1') }),
    tool: (options) => httpText(options),
    code: PRIVATE,
    twin: {
      args: ({ allowed }) => ({ host: 'rebind.test', port: allowed, lookup: fickle('127.0.0.1') }),
    },
  },
  {
    name: 'a name that means something else the second time',
    // Nobody is at the first address, which is allowed.
    policy: ({ listed }) => ({ name: 'x', network: { addresses: [...listed, '127.0.0.9'] } }),
    args: ({ secretRaw }) => ({
      host: 'rebind.test',
      port: secretRaw,
      lookup: fickle('127.0.0.9', '127.0.0.1'),
      agent: false,
    }),
    tool: askTwice,
    code: PRIVATE,
    mayConnect: '127.0.0.9',
    twin: {
      args: ({ allowed }) => ({ host: 'rebind.test', port: allowed, lookup: fickle('127.0.0.1') }),
    },
  },
  {
    name: 'a name with a private address among others',
    args: ({ secret }) => ({
      host: 'rebind.test',
      port: secret,
      lookup: fickle(['127.0.0.1', '93.184.216.34']),
      autoSelectFamily: true,
    }),
    tool: (options) => httpText(options),
    code: PRIVATE,
    twin: {
      args: ({ allowed }) => ({
        host: 'rebind.test',
        port: allowed,
        lookup: fickle(['127.0.0.1']),
        autoSelectFamily: true,
      }),
    },
  },
  {
    name: 'a name with a private address last',
    reaches: false,
    args: ({ secret }) => ({
      host: 'rebind.test',
      port: secret,
      lookup: fickle(['93.184.216.34', '::1']),
      autoSelectFamily: true,
    }),
    tool: (options) => httpText(options),
    code: PRIVATE,
    twin: {
      args: ({ allowed }) => ({
        host: 'rebind.test',
        port: allowed,
        lookup: fickle(['127.0.0.1']),
        autoSelectFamily: true,
      }),
    },
  },
  {
    name: 'an answer in clothes of IPv6',
    args: ({ secret }) => ({
      host: 'rebind.test',
      port: secret,
      lookup: fickle('::ffff:127.0.0.1'),
    }),
    tool: (options) => httpText(options),
    code: PRIVATE,
    twin: {
      args: ({ allowed }) => ({
        host: 'rebind.test',
        port: allowed,
        lookup: fickle('::ffff:127.0.0.1'),
      }),
    },
  },
  {
    name: 'a real name server with a private answer',
    reaches: false,
    before: async ({ dns: server }) => resolverOf(server),
    args: ({ secret }) => ({ host: 'www.example.test', port: secret }),
    tool: (options, { ready: { resolver } }) =>
      httpText({
        ...options,
        lookup: (name, asked, answered) =>
          resolver
            .resolve4(name)
            .then(
              ([address]) =>
                asked.all ? answered(null, [{ address, family: 4 }]) : answered(null, address, 4),
              answered,
            ),
      }),
    code: PRIVATE,
    twin: {
      args: ({ allowed }) => ({ host: 'www.example.test', port: allowed }),
      tool: async (options, { ready: { resolver } }) => {
        await resolver.resolve4(options.host)
        return httpText({ ...options, lookup: fickle('127.0.0.1') })
      },
    },
  },
  {
    name: 'a datagram socket with a look-up of its own',
    args: ({ secretUdp }) => secretUdp,
    tool: (port) =>
      new Promise((resolve, reject) => {
        const lookup = (_name, _options, answered) => answered(null, '127.0.0.1', 4)
        const socket = dgram.createSocket({ type: 'udp4', lookup })
        socket.on('error', reject).on('message', (message) => resolve(String(message)))
        socket.send('hello', port, 'public.test', (error) => error && reject(error))
        setTimeout(() => reject(new Error('no answer')), 500).unref()
      }),
    code: PRIVATE,
    twin: { args: ({ allowedUdp }) => allowedUdp },
  },
]

// ── connections that are open already ────────────────────────────────────────

const pooled = [
  {
    name: 'a pooled connection of fetch',
    before: async ({ secret }) => void (await fetchText(`http://127.0.0.1:${secret}/`)),
    args: url('127.0.0.1'),
    tool: fetchText,
    code: PRIVATE,
    twin: { before: async (world) => void (await fetchText(allowedUrl(world))), args: allowedUrl },
  },
  {
    name: 'a pooled connection of fetch under another name',
    before: async ({ secret }) => void (await fetchText(`http://localhost:${secret}/`)),
    args: url('localhost'),
    tool: fetchText,
    code: PRIVATE,
    twin: { args: url('localhost', 'allowed') },
  },
  {
    name: 'a pooled connection of a kept agent',
    before: async ({ secret }) => keptAgent(secret),
    args: ({ secret }) => ({ host: '127.0.0.1', port: secret }),
    tool: (options, { ready: { agent } }) => httpText({ ...options, agent }),
    code: PRIVATE,
    twin: {
      before: async ({ allowed }) => keptAgent(allowed),
      args: ({ allowed }) => ({ host: '127.0.0.1', port: allowed }),
    },
  },
  {
    name: 'a pooled connection whose name means nothing bad',
    before: async ({ secret }) => keptAgent(secret, 'pooled.test'),
    args: ({ secret }) => ({ host: 'pooled.test', port: secret, lookup: fickle('127.0.0.1') }),
    tool: (options, { ready: { agent } }) => httpText({ ...options, agent }),
    code: PRIVATE,
    twin: {
      before: async ({ allowed }) => keptAgent(allowed, 'pooled.test'),
      args: ({ allowed }) => ({ host: 'pooled.test', port: allowed, lookup: fickle('127.0.0.1') }),
    },
  },
  {
    name: "a pooled connection of undici's shared pool",
    before: async ({ secret }) =>
      void (await clients['undici.request'](`http://localhost:${secret}/`)),
    args: url('localhost'),
    tool: clients['undici.request'],
    code: PRIVATE,
    twin: { args: url('localhost', 'allowed') },
  },
  {
    name: 'a pool of undici made before the call',
    before: async ({ secret }) => undiciPool(secret, undici.Pool),
    tool: async (_, { ready: { pool } }) =>
      (await pool.request({ path: '/', method: 'GET' })).body.text(),
    code: PRIVATE,
    twin: { before: async ({ allowed }) => undiciPool(allowed, undici.Pool) },
  },
  {
    name: 'a client of undici that is busy with somebody else',
    before: async ({ secret }) => busyClient(secret),
    tool: async (_, { ready: { pool, free } }) => {
      const answer = pool.request({ path: '/', method: 'GET' })
      free()
      return (await answer).body.text()
    },
    code: PRIVATE,
    twin: { before: async ({ allowed }) => busyClient(allowed) },
  },
  {
    name: 'an agent of undici handed to fetch',
    before: async ({ secret }) => undiciPool(secret, undici.Agent),
    args: ({ secret }) => `http://pooled.test:${secret}/`,
    tool: async (text, { ready: { pool } }) =>
      (await undici.fetch(text, { dispatcher: pool })).text(),
    code: PRIVATE,
    twin: {
      before: async ({ allowed }) => undiciPool(allowed, undici.Agent),
      args: ({ allowed }) => `http://pooled.test:${allowed}/`,
    },
  },
  {
    name: 'a connection that another guard has opened',
    before: async ({ secret, retake, folder }) => {
      const agent = new http.Agent({ keepAlive: true })
      const other = retake.guard({
        name: 'other',
        dir: folder,
        durability: 'process',
        policy: { name: 'loose', network: { addresses: ['127.0.0.1'] } },
      })
      other.tool('warm', () => httpText({ host: '127.0.0.1', port: secret, agent }))
      await other.call('warm', {})
      other.end()
      return { agent, end: () => agent.destroy() }
    },
    args: ({ secret }) => ({ host: '127.0.0.1', port: secret }),
    tool: (options, { ready: { agent } }) => httpText({ ...options, agent }),
    code: PRIVATE,
    twin: { args: ({ allowed }) => ({ host: '127.0.0.1', port: allowed }) },
  },
]

async function keptAgent(port, host = '127.0.0.1') {
  const agent = new http.Agent({ keepAlive: true })
  await httpText({ host, port, agent, lookup: fickle('127.0.0.1') })
  return { agent, end: () => agent.destroy() }
}

async function undiciPool(port, Pool) {
  const connect = { lookup: fickle('127.0.0.1') }
  const origin = `http://pooled.test:${port}`
  const pool = Pool === undici.Agent ? new Pool({ connect }) : new Pool(origin, { connect })
  await (await pool.request({ origin, path: '/', method: 'GET' })).body.text()
  return { pool, end: () => pool.destroy() }
}

/** One connection that is busy until it is told: what comes meanwhile waits, and leaves in somebody else's turn. */
async function busyClient(port) {
  const pool = new undici.Client(`http://pooled.test:${port}`, {
    connect: { lookup: fickle('127.0.0.1') },
  })
  await (await pool.request({ path: '/', method: 'GET' })).body.text()
  const { PassThrough } = await import('node:stream')
  const body = new PassThrough()
  const first = pool
    .request({ path: '/', method: 'POST', body })
    .then((answer) => answer.body.text())
  first.catch(() => {})
  body.write('x')
  return { pool, free: AsyncResource.bind(() => body.end()), end: () => pool.destroy() }
}

// ── redirects and proxies ────────────────────────────────────────────────────

const via =
  (to, status = 302) =>
  (world) =>
    `http://127.0.0.1:${world.allowed}/?status=${status}&to=${encodeURIComponent(to(world))}`

const redirects = [
  ...[301, 302, 303, 307, 308].map((status) => ({
    name: `a ${status} to a private address`,
    args: via(url('127.0.0.1'), status),
    tool: fetchText,
    code: PRIVATE,
    twin: { args: via(allowedUrl, status) },
  })),
  {
    name: 'a redirect to another spelling',
    args: via(url('0x7f.1')),
    tool: fetchText,
    code: PRIVATE,
    twin: { args: via(allowedUrl) },
  },
  {
    name: 'two redirects in a row',
    args: via(via(url('[::1]'))),
    tool: fetchText,
    code: PRIVATE,
    twin: { args: via(via(allowedUrl)) },
  },
  {
    name: 'a redirect without a scheme',
    args: via(({ secret }) => `//127.0.0.1:${secret}/`),
    tool: fetchText,
    code: PRIVATE,
    twin: { args: via(() => '/there') },
  },
  {
    name: 'a redirect to a metadata service',
    reaches: false,
    args: via(() => 'http://169.254.169.254/latest/'),
    tool: fetchText,
    code: METADATA,
    twin: { args: via(allowedUrl) },
  },
  {
    name: 'a redirect to a host that is not listed',
    reaches: false,
    policy: listing('api.example.com'),
    args: via(() => 'http://evil.test/'),
    tool: fetchText,
    code: 'REDIRECT_NOT_ALLOWED',
    twin: { args: via(allowedUrl) },
  },
  {
    name: 'a redirect that keeps its method',
    reaches: false,
    policy: ({ listed }) => ({ name: 'x', network: { addresses: listed, methods: ['PUT'] } }),
    args: via(allowedUrl, 303),
    tool: (text) => fetchText(text, { method: 'PUT', body: 'x' }),
    code: 'REDIRECT_NOT_ALLOWED',
    twin: { args: via(allowedUrl, 307) },
  },
  {
    name: 'a proxy that is asked to connect elsewhere',
    args: ({ allowed, secret }) => ({ port: allowed, to: `127.0.0.1:${secret}` }),
    tool: throughProxy,
    code: PRIVATE,
    twin: { args: ({ allowed, allowedRaw }) => ({ port: allowed, to: `127.0.0.1:${allowedRaw}` }) },
  },
  {
    name: 'a proxy that is asked for a whole URL',
    reaches: false,
    args: ({ allowed, secret }) => ({ port: allowed, path: `http://127.0.0.1:${secret}/` }),
    tool: ({ port, path }) => httpText({ host: '127.0.0.1', port, path }),
    code: PRIVATE,
    twin: { args: ({ allowed }) => ({ port: allowed, path: `http://127.0.0.1:${allowed}/` }) },
  },
  {
    name: 'a proxy agent that handles requests itself',
    args: ({ allowed, secret }) => ({ proxy: allowed, port: secret }),
    tool: ({ proxy, port }) => httpText({ host: '127.0.0.1', port, agent: handmadeProxy(proxy) }),
    code: PRIVATE,
    twin: { args: ({ allowed }) => ({ proxy: allowed, port: allowed }) },
  },
  {
    name: 'a ProxyAgent of undici',
    args: ({ allowed, secret }) => ({
      proxy: `http://127.0.0.1:${allowed}`,
      to: `http://127.0.0.1:${secret}/`,
    }),
    tool: async ({ proxy, to }) => {
      const dispatcher = new undici.ProxyAgent({ uri: proxy, proxyTunnel: true })
      const { body } = await undici.request(to, { dispatcher })
      return body.text()
    },
    code: PRIVATE,
    twin: {
      args: ({ allowed }) => ({
        proxy: `http://127.0.0.1:${allowed}`,
        to: `http://127.0.0.1:${allowed}/`,
      }),
    },
  },
  {
    name: 'a proxy at a private address',
    args: ({ secret }) => ({ proxy: `http://127.0.0.1:${secret}`, to: 'http://public.test/' }),
    tool: async ({ proxy, to }) => {
      const dispatcher = new undici.ProxyAgent({ uri: proxy, proxyTunnel: true })
      const { body } = await undici.request(to, { dispatcher })
      return body.text()
    },
    code: PRIVATE,
    twin: {
      args: ({ allowed }) => ({
        proxy: `http://127.0.0.1:${allowed}`,
        to: `http://127.0.0.1:${allowed}/`,
      }),
    },
  },
]

function throughProxy({ port, to }) {
  return new Promise((resolve, reject) => {
    const request = http.request({ host: '127.0.0.1', port, method: 'CONNECT', path: to })
    request.on('error', reject).on('connect', (_response, socket) => {
      socket.on('data', (data) => resolve(String(data))).on('error', reject)
      socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    })
    request.end()
  })
}

// ── methods ──────────────────────────────────────────────────────────────────

const readOnly = ({ listed }) => ({
  name: 'reading',
  network: { addresses: listed, methods: ['GET', 'HEAD'] },
})
const METHOD = 'METHOD_NOT_ALLOWED'
const RAW = 'SOCKET_NOT_ALLOWED'
const request = (text, method) =>
  `${method} / HTTP/1.1\r\nhost: 127.0.0.1:${text}\r\ncontent-length: 0\r\n\r\n`

const methods = [
  ['fetch', (world, method) => fetchText(allowedUrl(world), { method })],
  [
    'fetch in lower case',
    (world, method) => fetchText(allowedUrl(world), { method: method.toLowerCase() }),
  ],
  ['a Request', (world, method) => fetchText(new Request(allowedUrl(world), { method }))],
  ['http.request', ({ allowed }, method) => httpText({ host: '127.0.0.1', port: allowed, method })],
  [
    'undici.request',
    async (world, method) => (await undici.request(allowedUrl(world), { method })).body.text(),
  ],
  ['axios', async (world, method) => (await axios({ url: allowedUrl(world), method })).data],
  ['got', (world, method) => got(allowedUrl(world), { method, retry: { limit: 0 } }).text()],
  ['node-fetch', async (world, method) => (await nodeFetch(allowedUrl(world), { method })).text()],
  [
    'http2',
    async ({ allowedH2 }, method) => {
      const session = http2.connect(`http://127.0.0.1:${allowedH2}`)
      return h2Text(session, { ':method': method }).finally(() => session.destroy())
    },
  ],
]
  .map(([name, send]) => ({
    name: `a DELETE by ${name} where only reading is allowed`,
    reaches: false,
    policy: readOnly,
    args: () => 'DELETE',
    tool: (method, world) => send(world, method),
    code: METHOD,
    twin: { args: () => 'GET' },
  }))
  .concat([
    {
      name: 'a raw socket where only reading is allowed',
      reaches: false,
      policy: readOnly,
      args: ({ allowedRaw }) => ({ host: '127.0.0.1', port: allowedRaw }),
      tool: (options) => rawText(options),
      code: RAW,
      twin: { policy: undefined },
    },
    {
      name: 'a WebSocket where only reading is allowed',
      reaches: false,
      policy: readOnly,
      args: ({ allowed }) => `ws://127.0.0.1:${allowed}/`,
      tool: (text) => webSocketText(WebSocketOfWs, text),
      code: 'PROTOCOL_WITHOUT_METHOD',
      twin: { policy: undefined },
    },
    {
      name: 'a datagram where only reading is allowed',
      reaches: false,
      policy: readOnly,
      args: ({ allowedUdp }) => allowedUdp,
      tool: (port) => udpText(port, '127.0.0.1'),
      code: RAW,
      twin: { policy: undefined },
    },
    {
      name: 'a local socket by hand where only reading is allowed',
      reaches: false,
      policy: readOnly,
      args: ({ allowedPath }) => ({ path: allowedPath }),
      tool: (options) => rawText(options, request(1, 'DELETE')),
      code: RAW,
      twin: { tool: ({ path }) => httpText({ socketPath: path }) },
    },
    {
      name: 'a DELETE over a local socket where only reading is allowed',
      reaches: false,
      policy: readOnly,
      args: ({ allowedPath }) => ({ socketPath: allowedPath, method: 'DELETE' }),
      tool: (options) => httpText(options),
      code: METHOD,
      twin: { args: ({ allowedPath }) => ({ socketPath: allowedPath, method: 'GET' }) },
    },
  ])

// ── ways around the call ─────────────────────────────────────────────────────

const around = [
  {
    name: 'a looser guard inside the tool',
    args: url('127.0.0.1'),
    tool: async (text, { retake, folder }) => {
      const inner = retake.guard({
        name: 'inner',
        dir: folder,
        durability: 'process',
        policy: { name: 'loose', network: { addresses: ['127.0.0.1'] } },
      })
      inner.tool('fetch', () => fetchText(text))
      return (await inner.call('fetch', {}, { throws: true })).output
    },
    code: PRIVATE,
    twin: { args: allowedUrl },
  },
  {
    name: 'a recording inside the tool',
    args: url('127.0.0.1'),
    tool: async (text, { retake, folder }) =>
      (await retake.record({ name: 'inner', dir: folder }, () => fetchText(text))).output ??
      'recorded',
    code: PRIVATE,
    twin: { args: allowedUrl },
  },
  {
    name: 'a recording inside the tool, by http',
    args: url('127.0.0.1'),
    tool: async (text, { retake, folder }) =>
      (await retake.record({ name: 'inner', dir: folder }, () => httpText(text))).output ??
      'recorded',
    code: PRIVATE,
    twin: { args: allowedUrl },
  },
  {
    name: 'a request after the call',
    reaches: false,
    args: url('127.0.0.1', 'allowed'),
    before: async () => ({ late: undefined }),
    tool: (text, { ready }) => {
      ready.late = new Promise((resolve) => setTimeout(resolve, 20)).then(() => fetchText(text))
      ready.late.catch(() => {})
      return 'done already'
    },
    after: async (_, ready) => {
      ready.outcome = await ready.late.then(
        () => 'it got through',
        (error) => error.code ?? error.cause?.code,
      )
      if (ready.outcome !== 'GUARD_CALL_OVER') throw new Error(`after the call: ${ready.outcome}`)
    },
    mayPass: true,
    twin: { tool: fetchText, after: undefined },
  },
  {
    name: 'a socket that is kept after the call',
    reaches: false,
    args: ({ allowedRaw }) => allowedRaw,
    before: async () => ({}),
    tool: async (port, { ready }) => {
      const { socket } = await openSocket(port)
      socket.on('error', (error) => (ready.error = error))
      ready.socket = socket
      return 'opened'
    },
    after: async (_, { socket, error }) => {
      await new Promise((resolve) => setImmediate(resolve))
      if (!socket.destroyed) throw new Error('it is still open')
      void error
    },
    mayPass: true,
    twin: { tool: (port) => rawText({ host: '127.0.0.1', port }), after: undefined },
  },
]

export const cases = [
  ...spellings,
  ...others,
  ...sockets,
  ...names,
  ...rebinding,
  ...pooled,
  ...redirects,
  ...methods,
  ...around,
]
