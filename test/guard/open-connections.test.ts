import dgram from 'node:dgram'
import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import net, { type AddressInfo } from 'node:net'
import tls from 'node:tls'
import { guard, presets } from 'retake'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeWorkspace } from '../support/run-retake.mjs'

/** Everything here is opened before the first guard of the process patches anything. */
const opened = {} as {
  session: http2.ClientHttp2Session
  allowed: http2.ClientHttp2Session
  agent: http.Agent
  socket: net.Socket
  second: net.Socket
  datagrams: dgram.Socket
}
const requests: string[] = []
let ports: { h2: number; allowedH2: number; http: number; raw: number; udp: number }
const cleanUp: (() => unknown)[] = []

const listen = async (server: net.Server): Promise<number> => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanUp.push(() => server.close())
  return (server.address() as AddressInfo).port
}

const get = (agent: http.Agent, port: number): Promise<string> =>
  new Promise((resolve, reject) => {
    const answered = (response: http.IncomingMessage): void => {
      response.resume().on('end', () => resolve(String(response.statusCode)))
    }
    http.get({ host: '127.0.0.1', port, agent }, answered).on('error', reject)
  })

const getOn = (session: http2.ClientHttp2Session): Promise<string> =>
  new Promise((resolve, reject) => {
    const stream = session.request({ ':path': '/' }).on('error', reject)
    stream.resume().on('end', () => resolve('answered'))
  })

const answerOf = async (socket: net.Socket): Promise<string> => {
  socket.write('steal')
  return String((await once(socket, 'data'))[0])
}

beforeAll(async () => {
  const h2 = (name: string): http2.Http2Server =>
    http2.createServer((_, response) => {
      requests.push(name)
      response.end(name)
    })
  const web = http.createServer((_, response) => {
    requests.push('http')
    response.end('http')
  })
  const raw = net.createServer((socket) => {
    cleanUp.push(() => socket.destroy())
    socket
      .on('error', () => {})
      .on('data', () => {
        requests.push('raw')
        socket.write('raw')
      })
  })
  const udp = dgram.createSocket('udp4', () => requests.push('udp'))
  udp.bind(0, '127.0.0.1')
  await once(udp, 'listening')
  ports = {
    h2: await listen(h2('h2')),
    allowedH2: await listen(h2('allowed')),
    http: await listen(web),
    raw: await listen(raw),
    udp: udp.address().port,
  }
  opened.session = http2.connect(`http://127.0.0.1:${ports.h2}`)
  opened.allowed = http2.connect(`http://127.0.0.1:${ports.allowedH2}`)
  opened.agent = new http.Agent({ keepAlive: true })
  opened.socket = net.connect(ports.raw, '127.0.0.1')
  opened.second = net.connect(ports.raw, '127.0.0.1')
  opened.datagrams = dgram.createSocket('udp4')
  for (const each of [opened.session, opened.allowed, opened.socket, opened.second])
    await once(each, 'connect')
  await get(opened.agent, ports.http)
  requests.length = 0
  cleanUp.push(
    () => opened.session.destroy(),
    () => opened.allowed.destroy(),
    () => opened.agent.destroy(),
    () => opened.socket.destroy(),
    () => opened.second.destroy(),
    () => opened.datagrams.close(),
    () => udp.close(),
  )
})
afterAll(() => {
  for (const each of cleanUp) each()
})

test('connections from before the first guard carry no request out of scope, and others work', async () => {
  const { folder, remove } = await makeWorkspace()
  cleanUp.push(remove)
  const policy = presets.network({
    allow: ['public.test'],
    addresses: [`127.0.0.1:${ports.allowedH2}`],
  })
  const run = guard({ name: 'open', dir: folder, policy, durability: 'process' })
  cleanUp.push(() => run.end())
  run.tool('http2', () => getOn(opened.session))
  run.tool('http2, allowed', () => getOn(opened.allowed))
  run.tool('agent', () => get(opened.agent, ports.http))
  run.tool('tls', () => void tls.connect({ socket: opened.socket }).on('error', () => {}))
  run.tool(
    'request',
    () =>
      new Promise((resolve, reject) => {
        const createConnection = (): net.Socket => opened.socket
        http
          .get({ host: 'public.test', createConnection, agent: undefined }, resolve)
          .on('error', reject)
      }),
  )
  for (const name of ['http2', 'agent', 'tls', 'request']) {
    const { status, error } = await run.call(name, {})
    expect([name, status, (error as { code?: string }).code]).toEqual([
      name,
      'denied',
      'ADDRESS_PRIVATE',
    ])
  }
  expect(requests).toEqual([])
  expect(await run.call('http2, allowed', {})).toMatchObject({ status: 'done', output: 'answered' })
  expect(requests).toEqual(['allowed'])
  // The program itself keeps using its connections.
  expect(await getOn(opened.session)).toBe('answered')
  expect(await get(opened.agent, ports.http)).toBe('200')
})

test('writes of a tool to an open socket are not checked, and never recorded as blocked', async () => {
  const { folder, remove } = await makeWorkspace()
  cleanUp.push(remove)
  requests.length = 0
  const policy = presets.network({ allow: [] })
  const run = guard({ name: 'open', dir: folder, policy, durability: 'process' })
  cleanUp.push(() => run.end())
  run.tool('socket', () => answerOf(opened.second))
  run.tool(
    'datagram',
    () =>
      new Promise((resolve) => {
        opened.datagrams.send('steal', ports.udp, '127.0.0.1', () => resolve('sent'))
      }),
  )
  for (const name of ['socket', 'datagram']) {
    const { status, facts } = await run.call(name, {})
    expect([name, status, facts.blocked]).toEqual([name, 'done', undefined])
  }
  await expect.poll(() => [...requests].toSorted()).toEqual(['raw', 'udp'])
})
