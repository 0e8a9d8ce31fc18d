import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createNetServer } from 'node:net'
import type { AddressInfo, Server as NetServer } from 'node:net'
import type { Duplex } from 'node:stream'
import { maskUrl } from '../headers.js'
import { describeRefusal, type ProxyRefusal } from '../texts/proxy-divergence.js'
import { proxyError } from './proxy-error.js'
import { errors } from '../errors.js'

export interface ProxyHandler {
  handle(request: IncomingMessage, response: ServerResponse): void | Promise<void>
  /** Called for anything that is not a request to a provider, which was refused. */
  refused(refusal: ProxyRefusal): void
  /** Called when a client requests a tunnel. Without a handler, tunnels are refused. */
  connect?(request: IncomingMessage, socket: Duplex): void | Promise<void>
}

export const HEADER_BYTES_MAX = 128 * 1024

/** How long an idle connection of a client stays open. */
const IDLE_MS = 60_000

/**
 * The listening side: HTTP/1.1 and 1.0 on the loopback address. Answers everything except
 * well-formed requests. Nothing that a client sends can end the process.
 */
export class ProxyServer {
  readonly port: number
  readonly #server: Server
  readonly #sockets = new Set<Duplex>()
  /** Targets of connections that came through a tunnel. */
  readonly #origins = new WeakMap<Duplex, string>()
  readonly #others: NetServer[] = []
  /** Ports on the loopback address that lead here. */
  readonly #ports = new Set<number>()
  #handler: ProxyHandler | undefined

  private constructor(server: Server) {
    this.#server = server
    this.port = (server.address() as AddressInfo).port
    this.#ports.add(this.port)
    server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    })
    server.on('request', (request, response) => this.#take(request, response))
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      // A client that disconnected in the middle did not send a malformed request.
      const isGone = error.code === 'ECONNRESET' || error.code === 'HPE_INVALID_EOF_STATE'
      if (isGone || !socket.writable) return void socket.destroy()
      const problem = error.code ?? error.message
      this.#handler?.refused({ reason: 'malformed', problem })
      refuse(socket, 400, errors.PROXY_BAD_REQUEST(problem))
    })
    server.on('connect', (request, socket, head) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
      if (head.length > 0) socket.unshift(head)
      const handler = this.#handler
      if (handler?.connect === undefined) return this.refuseTunnel(socket, request.url)
      Promise.resolve(handler.connect(request, socket)).catch(() => socket.destroy())
    })
  }

  /** Port 0 means any free port. Only this machine can connect. */
  static listen(port: number): Promise<ProxyServer> {
    const server = createServer({
      keepAliveTimeout: IDLE_MS,
      requestTimeout: 0,
      maxHeaderSize: HEADER_BYTES_MAX,
    })
    return new Promise((resolve, reject) => {
      server.once('error', (cause) => reject(errors.PROXY_PORT_TAKEN(port, cause)))
      server.listen({ port, host: '127.0.0.1', backlog: 1024 }, () => {
        server.removeAllListeners('error')
        server.on('error', () => {})
        resolve(new ProxyServer(server))
      })
    })
  }

  /** Also listens on a socket file, for a client that reaches it as `port` on its own loopback address. */
  listenAt(path: string, port: number): Promise<void> {
    const server = createNetServer((socket) => this.#server.emit('connection', socket))
    this.#others.push(server)
    this.#ports.add(port)
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(path, () => resolve())
    })
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  serve(handler: ProxyHandler): void {
    this.#handler = handler
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      for (const server of this.#others) server.close()
      this.#server.close(() => resolve())
      for (const socket of this.#sockets) socket.destroy()
    })
  }

  /** Serves HTTP on a connection that came through a tunnel to `origin`. */
  accept(socket: Duplex, origin: string): void {
    this.#origins.set(socket, origin)
    this.#server.emit('connection', socket)
  }

  /**
   * Target of a request, as if the client had not used a proxy: a path for a request to this
   * server, otherwise a whole URL.
   */
  targetOf({ url = '/', socket }: IncomingMessage): string {
    const origin = this.#origins.get(socket)
    const target = origin === undefined ? url : new URL(url, origin).href
    // Clients that use the proxy for every host also reach the base URLs through it.
    const own = /^http:\/\/(?:127\.0\.0\.1|localhost):(\d+)([^]*)$/i
    const [, port, path] = own.exec(target) ?? []
    return this.#ports.has(Number(port)) ? path || '/' : target
  }

  refuseTunnel(socket: Duplex, target = ''): void {
    const refusal = { reason: 'tunnel', target } as const
    this.#handler?.refused(refusal)
    refuse(socket, 502, errors.PROXY_NO_TUNNEL(describeRefusal(refusal)))
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    // Disconnecting clients are handled elsewhere; here they must not throw.
    request.on('error', () => {})
    response.on('error', () => {})
    const handler = this.#handler
    if (handler === undefined) return void response.destroy()
    const { upgrade } = request.headers
    // Java's client offers HTTP/2 with every request and accepts an HTTP/1.1 answer.
    if (upgrade !== undefined && !/^(h2c|HTTP\/[\d.]+|TLS\/[\d.]+)\b/i.test(upgrade)) {
      handler.refused({ reason: 'upgrade', protocol: upgrade, url: maskUrl(request.url ?? '/') })
      return refuse(request.socket, 501, errors.PROXY_NO_TUNNEL(`an upgrade to ${upgrade}`))
    }
    const failed = (): void => void response.destroy()
    try {
      Promise.resolve(handler.handle(request, response)).catch(failed)
    } catch {
      failed()
    }
  }
}

function refuse(
  socket: Duplex,
  status: number,
  error: ReturnType<typeof errors.PROXY_NO_TUNNEL>,
): void {
  const body = proxyError(error)
  socket.on('error', () => {})
  socket.end(
    `HTTP/1.1 ${status} Retake\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
}
