import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { HeaderPair } from '@retake/tape/format'
import type { ClientProcess } from './client-process.js'
import { isSecretHeader } from '../kernel/headers.js'
import { keysInQuery } from '../headers.js'
import type { SecretMask } from '../secrets/secrets.js'

/** Maximum number of remembered client keys; changing signatures are not worth remembering. */
const KEYS_MAX = 64
const seen = new WeakMap<SecretMask, Set<string>>()

/**
 * Hides the keys that a client sends wherever else they occur, because the proxy does not know the
 * environment of its clients, only their requests.
 */
export function hideCredentials(
  secrets: SecretMask,
  headers: readonly HeaderPair[],
  url: URL,
): void {
  for (const [name, value] of headers) {
    const lower = name.toLowerCase()
    if (!isSecretHeader(lower) || lower.includes('cookie') || value.startsWith('AWS4-')) continue
    hide(secrets, value.replace(/^(bearer|basic|token)\s+/i, ''))
  }
  if (url.search !== '') for (const key of keysInQuery(url)) hide(secrets, key)
}

function hide(secrets: SecretMask, key: string): void {
  const known = seen.get(secrets) ?? new Set()
  seen.set(secrets, known)
  if (known.has(key) || known.size >= KEYS_MAX) return
  known.add(key)
  // A key that already has a placeholder, or is one, is left unchanged.
  if (secrets.text(key) === key && !key.includes('retake-hidden')) secrets.hide(key)
}

/** Memory limit for one body. Bodies must be on the tape before they are sent, so they are buffered. */
export const BODY_BYTES_MAX = 512 * 1024 * 1024

export type ReceivedBody = { readonly body: Buffer } | { readonly problem: 'gone' | 'too large' }

/** The whole body of an incoming request. Never rejects. */
function collectRequest(
  request: IncomingMessage,
  bytesMax: number = BODY_BYTES_MAX,
): Promise<ReceivedBody> {
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

/** A request that is being received, or waits for its turn. */
interface Arriving {
  /** Number of its connection, in the order in which connections were first used. */
  readonly connection: number
  /** Forwards the request; set once it is complete. */
  handOn?: () => void
}

/**
 * Collects requests. Those of a known client that arrive together are passed on in the order of
 * their connections, so that identical ones get the same answers again. The order of heads or
 * bodies is not enough: clients send them separately, and a client that first has to close an
 * expired connection sends its head after requests that it made later. Requests arrive together if
 * the client does not wait in between. A client that waits before it sends a body, because it has
 * none yet, does not delay the others.
 */
export class RequestQueue {
  /** Open connections with their numbers. */
  readonly #connections = new Map<Duplex, number>()
  #used = 0
  readonly #arriving = new Set<Arriving>()

  constructor(readonly client: ClientProcess | undefined) {}

  async collect(request: IncomingMessage, bytesMax?: number): Promise<ReceivedBody> {
    if (this.client === undefined) return collectRequest(request, bytesMax)
    const arriving: Arriving = { connection: this.#numberOf(request.socket) }
    this.#arriving.add(arriving)
    const collected = await collectRequest(request, bytesMax)
    await new Promise<void>((resolve) => {
      arriving.handOn = resolve
      if (this.#isFirst(arriving)) this.#handOn(arriving)
      else void this.#handOnSettled(this.client)
    })
    return collected
  }

  #numberOf(connection: Duplex): number {
    const known = this.#connections.get(connection)
    if (known !== undefined) return known
    this.#used += 1
    this.#connections.set(connection, this.#used)
    connection.once('close', () => this.#connections.delete(connection))
    return this.#used
  }

  /** True if no request can arrive that must be forwarded before this one. */
  #isFirst({ connection }: Arriving): boolean {
    for (const number of this.#connections.values()) if (number < connection) return false
    for (const other of this.#arriving) if (other.connection < connection) return false
    return true
  }

  /** Passes requests on when everything that the client has sent so far has arrived. */
  async #handOnSettled(client: ClientProcess | undefined): Promise<void> {
    await client?.settled()
    for (const each of [...this.#arriving].toSorted((a, b) => a.connection - b.connection))
      if (each.handOn) this.#handOn(each)
  }

  #handOn(arriving: Arriving): void {
    this.#arriving.delete(arriving)
    arriving.handOn?.()
  }
}

export function headerPairs(raw: readonly string[]): HeaderPair[] {
  const pairs: HeaderPair[] = []
  for (let at = 0; at + 1 < raw.length; at += 2) pairs.push([raw[at] ?? '', raw[at + 1] ?? ''])
  return pairs
}

/** The headers of an answer for the client, whose redirects must lead to the proxy. */
export const shownHeaders = (
  status: number,
  pairs: readonly HeaderPair[],
  redirect: (location: string) => string,
): string[] =>
  pairs.flatMap(([name, value]) => [
    name,
    name === 'location' && status >= 300 && status < 400 ? redirect(value) : value,
  ])

/** Headers that belong to one connection, not to the message. */
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

/** Headers for the next connection, without those named by `Connection`. */
export function endToEnd(pairs: readonly HeaderPair[]): HeaderPair[] {
  let named: string[] | undefined
  const forwarded: HeaderPair[] = []
  for (const pair of pairs) {
    const lower = pair[0].toLowerCase()
    if (lower === 'connection')
      named = [...(named ?? []), ...pair[1].toLowerCase().split(/\s*,\s*/)]
    if (!HOP_BY_HOP.has(lower)) forwarded.push(pair)
  }
  const isPlain = named === undefined || named.every((name) => HOP_BY_HOP.has(name) || !name)
  return isPlain ? forwarded : forwarded.filter(([name]) => !named?.includes(name.toLowerCase()))
}

/** Headers for the upstream request, with its own host and a known length. */
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

/** A request with one of these has a body, even if it is empty. */
const SAYS_LENGTH = /^(content-length|transfer-encoding)$/i
