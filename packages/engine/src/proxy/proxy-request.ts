import type { IncomingMessage } from 'node:http'
import type { HeaderPair } from '@retake/tape'
import type { ClientProcess } from './client-process.js'

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
function collectRequest(
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

/** Bodies usually follow their heads sooner than this; only then it is looked whether the client is busy with one. */
const BODY_MS = 20

/**
 * Collects requests. Those of a known client are handed on in the order in which
 * they began to arrive: HTTP clients send head and body apart, so the bodies of
 * concurrent requests complete in an order that depends on the machine, and
 * identical requests would swap their answers. A client that waits without having
 * sent a body, because it has none yet, does not hold up its other requests.
 */
export class RequestQueue {
  readonly #client: ClientProcess | undefined
  #last: Promise<void> = Promise.resolve()

  constructor(client: ClientProcess | undefined) {
    this.#client = client
  }

  async collect(request: IncomingMessage, bytesMax?: number): Promise<CollectedBody> {
    if (this.#client === undefined) return collectRequest(request, bytesMax)
    const earlier = this.#last
    let pass = (): void => {}
    this.#last = new Promise((resolve) => (pass = resolve))
    const stop = whenWaiting(this.#client, pass)
    const collected = await collectRequest(request, bytesMax)
    await earlier
    stop()
    pass()
    return collected
  }
}

function whenWaiting(client: ClientProcess, pass: () => void): () => void {
  const timer = setTimeout(() => void client.settled().then(pass), BODY_MS)
  return () => clearTimeout(timer)
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
  let named: string[] | undefined
  const kept: HeaderPair[] = []
  for (const pair of pairs) {
    const lower = pair[0].toLowerCase()
    if (lower === 'connection')
      named = [...(named ?? []), ...pair[1].toLowerCase().split(/\s*,\s*/)]
    if (!HOP_BY_HOP.has(lower)) kept.push(pair)
  }
  const isPlain = named === undefined || named.every((name) => HOP_BY_HOP.has(name) || !name)
  return isPlain ? kept : kept.filter(([name]) => !named?.includes(name.toLowerCase()))
}

/** Headers for the request that goes upstream: another host, a known length. */
export function forwardedHeaders(
  pairs: readonly HeaderPair[],
  host: string,
  bodyLength: number,
): string[] {
  const headers = ['Host', host]
  for (const [name, value] of endToEnd(pairs)) {
    const lower = name.toLowerCase()
    if (lower !== 'host' && lower !== 'content-length' && lower !== 'expect')
      headers.push(name, value)
  }
  if (bodyLength > 0 || pairs.some(([name]) => SAYS_LENGTH.test(name)))
    headers.push('Content-Length', String(bodyLength))
  return headers
}

/** A request with one of these has a body, if an empty one. */
const SAYS_LENGTH = /^(content-length|transfer-encoding)$/i
