/** Servers on the loopback for attacks on the network scope: one that nobody may reach, and one that is listed. */
import { createHash } from 'node:crypto'
import dgram from 'node:dgram'
import http from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import net from 'node:net'
import { join } from 'node:path'
import { startDnsServer } from '../../support/dns-server.mjs'

const listen = (server, ...where) =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(...where, () => resolve(server.address()?.port))
  })

const PSK = Buffer.from('not a secret, only a test')
/** TLS without certificates. */
export const psk = {
  ciphers: 'PSK',
  maxVersion: 'TLSv1.2',
  pskCallback: () => ({ psk: PSK, identity: 'test' }),
  checkServerIdentity: () => undefined,
}

function answer(request, response) {
  const url = new URL(request.url, 'http://here')
  const to = url.searchParams.get('to')
  if (to !== null) {
    response.writeHead(Number(url.searchParams.get('status') ?? 302), { location: to })
    return response.end()
  }
  request.resume().on('end', () => response.end(`allowed ${request.method}`))
}

/** Answers the opening of a WebSocket, then says hello once. */
function greet(request, socket) {
  const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
  const accept = createHash('sha1').update(key).digest('base64')
  socket.on('error', () => {})
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
  )
  socket.write(Buffer.from('\x81\x05hello', 'latin1'))
}

/** A proxy that goes wherever it is told. */
function forward(request, socket) {
  const [host, port] = request.url.split(':')
  const far = net.connect(Number(port), host, () => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    socket.pipe(far).pipe(socket)
  })
  far.on('error', () => socket.destroy())
  socket.on('error', () => far.destroy())
}

export async function openWorld(folder) {
  const world = { folder, hits: 0, psk, lookups: 0 }
  const hit = () => void (world.hits += 1)
  const secret = http.createServer(answer)
  // A request on a connection that was open already is a hit, too.
  secret.on('connection', hit).on('request', hit)
  secret.on('connect', (_request, socket) => socket.end('HTTP/1.1 403 Forbidden\r\n\r\n'))
  secret.on('upgrade', (request, socket) => {
    hit()
    greet(request, socket)
  })
  world.secret = await listen(secret, 0, '::')
  const secretH2 = http2.createServer((_, response) => response.end('secret'))
  secretH2.on('session', hit).on('request', hit)
  world.secretH2 = await listen(secretH2, 0, '127.0.0.1')
  const secretRaw = net.createServer((socket) => {
    hit()
    socket.on('data', hit).on('error', () => {})
  })
  world.secretRaw = await listen(secretRaw, 0, '127.0.0.1')
  world.secretPath = join(folder, 'secret.sock')
  await listen(http.createServer(answer).on('connection', hit), world.secretPath)
  const secretUdp = dgram.createSocket('udp4').on('message', hit)
  await new Promise((resolve) => secretUdp.bind(0, '127.0.0.1', resolve))
  world.secretUdp = secretUdp.address().port

  const allowed = http.createServer(answer).on('upgrade', greet).on('connect', forward)
  world.allowed = await listen(allowed, 0, '127.0.0.1')
  world.allowedH2 = await listen(
    http2.createServer((_, response) => response.end('allowed')),
    0,
    '127.0.0.1',
  )
  world.allowedTls = await listen(
    https.createServer({ ...psk, pskCallback: () => PSK }, answer),
    0,
    '127.0.0.1',
  )
  world.allowedRaw = await listen(
    net.createServer((socket) => socket.on('error', () => {}).pipe(socket)),
    0,
    '127.0.0.1',
  )
  world.allowedPath = join(folder, 'allowed.sock')
  await listen(http.createServer(answer), world.allowedPath)
  const echo = dgram.createSocket('udp4')
  echo.on('message', (message, from) => echo.send(message, from.port, from.address))
  await new Promise((resolve) => echo.bind(0, '127.0.0.1', resolve))
  world.allowedUdp = echo.address().port
  world.dns = await startDnsServer()
  world.listed = [
    ...['allowed', 'allowedH2', 'allowedTls', 'allowedRaw', 'allowedUdp'].map(
      (name) => `127.0.0.1:${world[name]}`,
    ),
    `unix:${world.allowedPath}`,
  ]
  world.connects = watchConnects(allowed)
  return world
}

/** Every native connect of this process, wherever it was asked for: `address:port`. */
function watchConnects(server) {
  const seen = []
  const { prototype } = server._handle.constructor
  for (const name of ['connect', 'connect6']) {
    const native = prototype[name]
    prototype[name] = function (request, address, port) {
      seen.push(`${address}:${port}`)
      return native.apply(this, arguments)
    }
  }
  return seen
}
