import { createServer as createHttp1Server } from 'node:http'
import type { RequestListener } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import type { ServerHttp2Session } from 'node:http2'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { errors } from '../errors.js'

/** A port of the loopback. */
export interface OnePort {
  readonly port: number
  /** Cuts every connection. */
  close(): Promise<void>
}

/** How every connection begins on which the client speaks HTTP/2 without asking first. */
const HTTP2_PREFACE = 'PRI'

/**
 * Serves HTTP/1.1 and cleartext HTTP/2 with prior knowledge on one port: AWS
 * clients speak the latter to any `http://` address. The first bytes of a
 * connection decide.
 */
export function listenOnOnePort(port: number, listener: RequestListener): Promise<OnePort> {
  const http1 = createHttp1Server({ keepAliveTimeout: 60_000, requestTimeout: 0 }, listener)
  // The compatible half of http2 has the same requests and responses as far as they are used here.
  const http2 = createHttp2Server(listener as unknown as Parameters<typeof createHttp2Server>[0])
  const sockets = new Set<Socket>()
  const sessions = new Set<ServerHttp2Session>()
  http1.on('clientError', (_error, socket) => void socket.destroy())
  http2.on('sessionError', () => {})
  http2.on('session', (session) => {
    sessions.add(session)
    session.on('close', () => sessions.delete(session))
  })

  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    socket.setNoDelay(true)
    socket.once('data', (bytes: Buffer) => {
      socket.pause()
      socket.unshift(bytes)
      const isHttp2 = bytes.toString('latin1', 0, HTTP2_PREFACE.length) === HTTP2_PREFACE
      ;(isHttp2 ? http2 : http1).emit('connection', socket)
      if (!isHttp2) socket.resume()
    })
  })

  return new Promise((resolve, reject) => {
    server.once('error', (cause) => reject(errors.MODEL_SERVER_PORT(port, cause)))
    server.listen({ port, host: '127.0.0.1' }, () => {
      server.removeAllListeners('error')
      server.on('error', () => {})
      resolve({ port: (server.address() as AddressInfo).port, close })
    })
  })

  function close(): Promise<void> {
    return new Promise((resolve) => {
      server.close(() => resolve())
      for (const session of sessions) session.destroy()
      for (const socket of sockets) socket.destroy()
    })
  }
}
