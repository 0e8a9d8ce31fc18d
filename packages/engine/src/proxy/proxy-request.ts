import type { IncomingMessage } from 'node:http'
import type { HeaderPair } from '@retake/tape'

/** A request as matchers see it: what is recorded and compared. */
export interface ProxyRequest {
  readonly method: string
  /** The whole address upstream. */
  readonly url: string
  /** Names in lower case, in the order sent. */
  readonly headers: readonly HeaderPair[]
  readonly body: Uint8Array
}

/** Bodies have to be on the tape before they leave, so they are collected; this bounds the memory for one. */
export const BODY_BYTES_MAX = 512 * 1024 * 1024

export type CollectedBody = { readonly body: Buffer } | { readonly problem: 'gone' | 'too large' }

/** The whole body of a request that comes in. Never rejects. */
export function collectRequest(
  request: IncomingMessage,
  bytesMax: number = BODY_BYTES_MAX,
): Promise<CollectedBody> {
  return new Promise((resolve) => {
    const parts: Buffer[] = []
    let size = 0
    request.on('data', (part: Buffer) => {
      size += part.length
      if (size > bytesMax) {
        request.removeAllListeners('data')
        request.resume()
        resolve({ problem: 'too large' })
      } else parts.push(part)
    })
    request.on('end', () =>
      resolve({ body: parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts) }),
    )
    request.on('error', () => resolve({ problem: 'gone' }))
    request.on('close', () => resolve({ problem: 'gone' }))
  })
}

/** Raw headers in pairs. */
export function headerPairs(raw: readonly string[]): HeaderPair[] {
  const pairs: HeaderPair[] = []
  for (let at = 0; at + 1 < raw.length; at += 2) pairs.push([raw[at] ?? '', raw[at + 1] ?? ''])
  return pairs
}

/** They belong to one connection, not to the message. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Headers that go on to the next connection; those that `Connection` names stay behind, too. */
export function endToEnd(pairs: readonly HeaderPair[]): HeaderPair[] {
  const named = pairs
    .filter(([name]) => name.toLowerCase() === 'connection')
    .flatMap(([, value]) => value.toLowerCase().split(/\s*,\s*/))
  return pairs.filter(([name]) => {
    const lower = name.toLowerCase()
    return !HOP_BY_HOP.has(lower) && !named.includes(lower)
  })
}

/** Headers for the request that goes upstream: another host, a known length. */
export function forwardedHeaders(
  pairs: readonly HeaderPair[],
  host: string,
  bodyLength: number,
): string[] {
  const had = new Set(pairs.map(([name]) => name.toLowerCase()))
  const kept = endToEnd(pairs).filter(
    ([name]) => !['host', 'content-length', 'expect'].includes(name.toLowerCase()),
  )
  const hasBody = bodyLength > 0 || had.has('content-length') || had.has('transfer-encoding')
  return [
    ['Host', host],
    ...kept,
    ...(hasBody ? [['Content-Length', String(bodyLength)] as const] : []),
  ].flat()
}
