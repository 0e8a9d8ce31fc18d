import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { maskUrl } from '../headers.js'
import { proxyError } from './proxy-error.js'
import { proxyErrors } from './proxy-errors.js'

export interface ProxyHandler {
  handle(request: IncomingMessage, response: ServerResponse): void | Promise<void>
  /** Something arrived that is no request to a provider: it was refused. */
  refused(what: string): void
}

/** Of all headers of one message together. */
export const HEADER_BYTES_MAX = 128 * 1024

/** How long an idle connection of a client is kept. */
const IDLE_MS = 60_000

/**
 * The listening side: HTTP/1.1 and 1.0 on the loopback. What is no well-formed
 * request is answered here. Nothing that a client sends ends the process.
 */
export class ProxyServer {
  readonly port: number
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #handler: ProxyHandler | undefined

  private constructor(server: Server) {
    this.#server = server
    this.port = (server.address() as AddressInfo).port
    server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    })
    server.on('request', (request, response) => this.#take(request, response))
    server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
      this.#malformed(error, socket),
    )
    server.on('connect', (request, socket) => {
      this.#handler?.refused(`a tunnel to ${request.url}`)
      refuse(socket, 502, proxyErrors.noTunnel(`a tunnel to ${request.url}`))
    })
  }

  /** Port 0 takes any that is free. Only this machine can connect. */
  static listen(port: number): Promise<ProxyServer> {
    const server = createServer({
      keepAliveTimeout: IDLE_MS,
      requestTimeout: 0,
      maxHeaderSize: HEADER_BYTES_MAX,
    })
    return new Promise((resolve, reject) => {
      server.once('error', (cause) => reject(proxyErrors.portTaken(port, cause)))
      server.listen({ port, host: '127.0.0.1', backlog: 1024 }, () => {
        server.removeAllListeners('error')
        server.on('error', () => {})
        resolve(new ProxyServer(server))
      })
    })
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  serve(handler: ProxyHandler): void {
    this.#handler = handler
  }

  /** Cuts every connection. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve())
      for (const socket of this.#sockets) socket.destroy()
    })
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    // Clients that go away are told apart where it matters; here they must not throw.
    request.on('error', () => {})
    response.on('error', () => {})
    const handler = this.#handler
    if (handler === undefined) return void response.destroy()
    const { upgrade } = request.headers
    if (upgrade !== undefined && !isOnlyOffered(upgrade)) {
      handler.refused(`an upgrade to ${upgrade} of ${maskUrl(request.url ?? '/')}`)
      return refuse(request.socket, 501, proxyErrors.noTunnel(`an upgrade to ${upgrade}`))
    }
    const failed = (): void => void response.destroy()
    try {
      Promise.resolve(handler.handle(request, response)).catch(failed)
    } catch {
      failed()
    }
  }

  #malformed(error: NodeJS.ErrnoException, socket: Duplex): void {
    // A client that went away in the middle is no malformed request.
    const isGone = error.code === 'ECONNRESET' || error.code === 'HPE_INVALID_EOF_STATE'
    if (isGone || !socket.writable) return void socket.destroy()
    this.#handler?.refused(`a malformed request (${error.code ?? error.message})`)
    refuse(socket, 400, proxyErrors.badRequest(error.code ?? error.message))
  }
}

/** Java's client offers HTTP/2 with every request and is content with an answer in HTTP/1.1. */
const isOnlyOffered = (upgrade: string): boolean =>
  /^(h2c|HTTP\/[\d.]+|TLS\/[\d.]+)\b/i.test(upgrade)

function refuse(
  socket: Duplex,
  status: number,
  error: ReturnType<typeof proxyErrors.noTunnel>,
): void {
  const body = proxyError(error)
  socket.on('error', () => {})
  socket.end(
    `HTTP/1.1 ${status} Retake\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
}
