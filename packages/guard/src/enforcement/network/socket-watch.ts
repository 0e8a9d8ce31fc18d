import net from 'node:net'
import { type Http1RequestHead, Http1Scanner } from '@retake/tape/format'
import type { CallBounds } from '../../bounds/call-bounds.js'

/** Where a socket leads. */
export interface Endpoint {
  readonly host: string
  readonly port: number
  /** A socket or pipe of this machine. */
  readonly path?: string
}

/**
 * Looks at what guarded calls write to one connection. Where HTTP is spoken, every request
 * is judged by its method and by the host it names, which need not be the one
 * connected to: a proxy forwards requests.
 */
export class SocketWatch {
  readonly #scanner = new Http1Scanner('request', {
    onHead: (head) => {
      this.#isInMessage = true
      this.#judge(head)
    },
    dropBodies: true,
  })
  #isInMessage = false
  #isOpaque = false

  constructor(
    readonly bounds: readonly CallBounds[],
    readonly socket: net.Socket,
    readonly endpoint: Endpoint,
  ) {}

  /** Throws when these bytes must not leave. */
  check(bytes: Uint8Array): void {
    if (this.#isOpaque || bytes.length === 0) return
    if (this.#scanner.push(bytes).length > 0) this.#isInMessage = false
    const scanner = this.#scanner
    if (scanner.upgraded) this.#isOpaque = true
    else if (scanner.notHttp || scanner.failure !== undefined) {
      this.#refuseRaw()
      this.#isOpaque = true
    }
    // Clients send a head as a whole; half of one says nothing about the rest.
    else if (!scanner.idle && !this.#isInMessage) this.#refuseRaw()
  }

  #refuseRaw(): void {
    const { host, port, path } = this.endpoint
    for (const each of this.bounds)
      each.network((scope) => scope.checkRaw(path ?? `${host}:${port}`))
  }

  #judge(head: Http1RequestHead): void {
    const url = this.#urlOf(head)
    for (const each of this.bounds) {
      each.request(head.method, url)
      // CONNECT only opens a connection.
      if (head.method !== 'CONNECT') each.sent()
    }
  }

  #urlOf({ method, target, headers }: Http1RequestHead): URL {
    const header = (wanted: string) => headers.find(([name]) => name.toLowerCase() === wanted)?.[1]
    const { path, host, port } = this.endpoint
    if (path !== undefined) return new URL(`unix:${path}`)
    const isSecure = (this.socket as { encrypted?: boolean }).encrypted === true
    const isUpgrade = header('upgrade') !== undefined && /upgrade/i.test(header('connection') ?? '')
    const scheme = `${isUpgrade ? 'ws' : 'http'}${isSecure ? 's' : ''}`
    if (method === 'CONNECT') return parse(`http://${target}`, this)
    if (/^[a-z][a-z\d+.-]*:\/\//i.test(target)) return parse(target, this)
    const url = parse(`${scheme}://${header('host') ?? hostText(host, port)}`, this)
    if (url.port === '' && !/:\d+$/.test(header('host') ?? '')) url.port = String(port)
    return withTarget(url, target)
  }
}

/** An unreadable URL is judged by the endpoint of the socket. */
function parse(text: string, { endpoint: { host, port } }: SocketWatch): URL {
  return URL.canParse(text) ? new URL(text) : new URL(`http://${hostText(host, port)}`)
}

const hostText = (host: string, port: number): string =>
  net.isIPv6(host) ? `[${host.replace(/%.*/s, '')}]:${port}` : `${host}:${port}`

/** Adds a request target to a URL, without changing its host. */
export function withTarget(url: URL, target: string): URL {
  if (!target.startsWith('/')) return url
  const query = target.indexOf('?')
  url.pathname = query < 0 ? target : target.slice(0, query)
  url.search = query < 0 ? '' : target.slice(query)
  return url
}
