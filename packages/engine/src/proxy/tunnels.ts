import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import type { CertificateAuthority } from './certificate-authority.js'
import type { ProxyServer } from './proxy-server.js'

/** Content of a tunnel: HTTP, HTTP inside TLS, or bytes that the proxy does not understand. */
type Content = 'http' | 'tls' | 'opaque'

/** Time after which a tunnel is forwarded if its client waits for the server to send first. */
const SILENT_MS = 500

export interface TunnelTarget {
  readonly host: string
  readonly port: number
}

export function tunnelTarget({ url = '' }: IncomingMessage): TunnelTarget | undefined {
  const [, host, port] = /^\[?([^\]]+?)\]?:(\d+)$/.exec(url) ?? []
  return host === undefined ? undefined : { host, port: Number(port) }
}

/**
 * Accepts a tunnel and decodes it if possible: plain HTTP, and HTTPS with an authority, become
 * requests to the server as if the client had connected to the target itself. Resolves with
 * `undefined` then; otherwise the caller must forward the bytes.
 */
export async function readTunnel(
  server: ProxyServer,
  socket: Duplex,
  { host, port }: TunnelTarget,
  authority: CertificateAuthority | undefined,
): Promise<{ readonly isTls: boolean } | undefined> {
  socket.on('error', () => {})
  socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
  const content = await contentOf(socket)
  const name = host.includes(':') ? `[${host}]` : host
  if (content === 'http') {
    server.accept(socket, new URL(`http://${name}:${port}`).origin)
  } else if (content === 'tls' && authority) {
    const secure = new TLSSocket(socket, {
      isServer: true,
      secureContext: authority.contextFor(host),
      ALPNProtocols: ['http/1.1'],
    })
    secure.on('error', () => secure.destroy())
    server.accept(secure, new URL(`https://${name}:${port}`).origin)
  } else return { isTls: content === 'tls' }
  return undefined
}

/** Inspects the first bytes and puts them back. */
function contentOf(socket: Duplex): Promise<Content> {
  return new Promise((resolve) => {
    const settle = (content: Content): void => {
      clearTimeout(timer)
      socket.off('readable', look)
      socket.off('close', closed)
      resolve(content)
    }
    const look = (): void => {
      const bytes = socket.read() as Buffer | null
      if (bytes === null) return
      socket.unshift(bytes)
      settle(kindOf(bytes))
    }
    const closed = (): void => settle('opaque')
    const timer = setTimeout(() => settle('opaque'), SILENT_MS)
    socket.on('readable', look)
    socket.on('close', closed)
  })
}

function kindOf(bytes: Buffer): Content {
  if (bytes[0] === 0x16) return 'tls'
  const head = bytes.toString('latin1')
  // A WebSocket stays a tunnel, because it is not an exchange of request and answer.
  return /^[A-Z]+ \S+ HTTP\/1\.[01]\r\n/.test(head) && !/\r\nupgrade:/i.test(head)
    ? 'http'
    : 'opaque'
}
