import { lookup } from 'node:dns/promises'
import http2 from 'node:http2'
import net from 'node:net'
import type { Duplex } from 'node:stream'
import type { CallBounds } from '../bounds/call-bounds.js'

/**
 * The only connection out of a sandbox without network: HTTP/2 over a pipe, with a `CONNECT` request
 * for each connection. `bounds` returns those of the current call, or none between calls.
 */
export function openGateway(pipe: Duplex, bounds: () => readonly CallBounds[]): void {
  const session = http2.performServerHandshake(pipe)
  session.unref()
  session.on('error', () => {})
  session.on('stream', (inner: http2.ServerHttp2Stream, headers) => {
    inner.on('error', () => {})
    const { host, port } = endpointIn(headers[':authority'])
    allowed(bounds(), host, port)
      .then((address) => connect(inner, address, port))
      // `blocked` of the call lists the refusal.
      .catch(() => inner.close(http2.constants.NGHTTP2_CONNECT_ERROR))
  })
}

function connect(inner: http2.ServerHttp2Stream, host: string, port: number): void {
  const outer = net.connect({ host, port, allowHalfOpen: true })
  outer.once('connect', () => {
    if (inner.destroyed) return outer.destroy()
    inner.respond({ ':status': 200 })
    inner.pipe(outer).pipe(inner)
  })
  outer.on('error', () => inner.close(http2.constants.NGHTTP2_CONNECT_ERROR))
  inner.once('close', () => outer.destroy())
}

/** `example.com:443` or `[::1]:80`. */
function endpointIn(authority = ''): { host: string; port: number } {
  const at = authority.lastIndexOf(':')
  return {
    host: authority.slice(0, at).replace(/^\[(.*)\]$/, '$1'),
    port: Number(authority.slice(at + 1)),
  }
}

/** Throws if a scope refuses. Returns the checked address, so that the name is resolved only once. */
async function allowed(bounds: readonly CallBounds[], host: string, port: number): Promise<string> {
  if (bounds.length === 0) throw new Error('no call is being made')
  // Requests are encrypted, so connections are raw: refused if methods are limited.
  for (const each of bounds) each.host(host, port, true)
  const [first, ...others] = net.isIP(host)
    ? [{ address: host }]
    : await lookup(host, { all: true })
  if (first === undefined) throw new Error(`${host} has no address`)
  for (const { address } of [first, ...others])
    for (const each of bounds) each.address(address, port, host)
  return first.address
}
