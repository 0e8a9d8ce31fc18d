import { createHmac } from 'node:crypto'
import { lookup as lookUp, type LookupAddress } from 'node:dns'
import { lookup as addressesOf } from 'node:dns/promises'
import http from 'node:http'
import https from 'node:https'
import { BlockList, isIP } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { serverErrors } from './errors.js'

const privateAddresses = new BlockList()
for (const [address, bits, family] of [
  ['0.0.0.0', 8, 'ipv4'],
  ['10.0.0.0', 8, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['127.0.0.0', 8, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.0.0.0', 24, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['198.18.0.0', 15, 'ipv4'],
  ['224.0.0.0', 3, 'ipv4'],
  ['::', 127, 'ipv6'],
  ['64:ff9b::', 96, 'ipv6'],
  ['2002::', 16, 'ipv6'],
  ['fc00::', 7, 'ipv6'],
  ['fe80::', 10, 'ipv6'],
  ['ff00::', 8, 'ipv6'],
] as const)
  privateAddresses.addSubnet(address, bits, family)

/** True for an address that is not public. IPv4 embedded in IPv6 counts as IPv4. */
export function isPrivateAddress(address: string): boolean {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '')
  const family = isIP(plain)
  if (family === 0) return true
  // IPv4-mapped addresses in hexadecimal notation.
  if (family === 6 && /^::ffff:/i.test(plain)) return true
  return privateAddresses.check(plain, family === 4 ? 'ipv4' : 'ipv6')
}

const LOOKUP_MS = 3000

/**
 * Refuses an address in a private network when a person saves it. A name that cannot be resolved now
 * is accepted: every request checks again.
 */
export async function checkPublic(
  what: string,
  url: string,
  { allowPrivate }: { readonly allowPrivate: boolean },
): Promise<void> {
  if (allowPrivate) return
  const name = hostOf(new URL(url))
  const found = await Promise.race([
    addressesOf(name, { all: true }).catch(() => []),
    pause(LOOKUP_MS, [], { ref: false }),
  ])
  if (found.some(({ address }) => isPrivateAddress(address)))
    throw serverErrors.REQUEST_INVALID(
      what,
      'It is in a private network, which the setting RETAKE_PRIVATE_ADDRESSES does not allow.',
    )
}

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '')

const TIMEOUT_MS = 10_000

export interface SignedRequest {
  readonly url: string
  readonly secret: string
  readonly body: string
  /** The same for every attempt of a delivery. */
  readonly id: string
}

/** Posts a signed body. Rejects unless the status is 2xx. */
export async function postSigned(
  { url, secret, body, id }: SignedRequest,
  { allowPrivate }: { readonly allowPrivate: boolean },
): Promise<void> {
  const time = Math.floor(Date.now() / 1000)
  const signature = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')
  const response = await sendOutside(url, {
    allowPrivate,
    body,
    timeoutMs: TIMEOUT_MS,
    headers: {
      'content-type': 'application/json',
      'retake-delivery': id,
      'retake-signature': `t=${time},v1=${signature}`,
    },
  })
  response.destroy()
  const { statusCode = 0 } = response
  if (statusCode < 200 || statusCode >= 300)
    throw new Error(`it responded with status ${statusCode}`)
}

/**
 * Posts to a user-supplied address. Checks the resolved address when connecting, so that the name
 * cannot resolve to a private address after the check. Does not follow redirects.
 */
export function sendOutside(
  url: string,
  options: {
    readonly allowPrivate: boolean
    readonly body: string
    readonly headers: Readonly<Record<string, string>>
    readonly timeoutMs: number
    readonly signal?: AbortSignal
  },
): Promise<http.IncomingMessage> {
  const { allowPrivate, body, headers, timeoutMs, signal } = options
  const target = new URL(url)
  const literal = hostOf(target)
  if (!allowPrivate && isIP(literal) !== 0 && isPrivateAddress(literal))
    return Promise.reject(new Error('the address is private'))
  return new Promise((resolve, reject) => {
    const request = (target.protocol === 'https:' ? https : http).request(target, {
      method: 'POST',
      timeout: timeoutMs,
      agent: false,
      ...(signal !== undefined && { signal }),
      ...(!allowPrivate && { lookup: publicLookup }),
      headers: { 'user-agent': 'retake', 'content-length': Buffer.byteLength(body), ...headers },
    })
    request.on('timeout', () => request.destroy(new Error('it did not respond in time')))
    request.on('error', reject)
    request.on('response', resolve)
    request.end(body)
  })
}

const publicLookup: http.RequestOptions['lookup'] = (name, options, callback) => {
  lookUp(name, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
    const [first] = addresses ?? []
    if (error !== null) return callback(error, '', 4)
    if (first === undefined || addresses.some(({ address }) => isPrivateAddress(address)))
      return callback(new Error('the address is private'), '', 4)
    if (options.all === true) return callback(null, addresses)
    callback(null, first.address, first.family)
  })
}
