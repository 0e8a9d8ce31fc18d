import { type Address, parseAddress } from './parse-address.js'

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'https:': 443, 'wss:': 443 }

/** The port that a URL leads to, also where it does not name one. */
export const portOf = ({ port, protocol }: URL): number =>
  port === '' ? (DEFAULT_PORTS[protocol] ?? 80) : Number(port)

/** A host as connecting to it understands it. */
export interface CanonicalHost {
  /** Lower case, in punycode, without a final dot; of an address its usual spelling. */
  readonly name: string
  /** Set when the host is an address, however it is spelled: `0x7f.1`, `2130706433`, `[::1]`. */
  readonly address: Address | undefined
}

/**
 * Reads a host the way URLs and resolvers do: letters of any case and script,
 * percent signs, fullwidth digits, numbers in any base. Undefined when it is no host.
 */
export function canonicalHost(host: string): CanonicalHost | undefined {
  const literal = parseAddress(host)
  if (literal !== undefined) return { name: bareName(host), address: literal }
  if (host === '' || NOT_IN_HOSTS.test(host)) return undefined
  let name: string
  try {
    name = new URL(`http://${host}/`).hostname
  } catch {
    return undefined
  }
  const address = parseAddress(name)
  if (address !== undefined) return { name: bareName(name), address }
  return { name: name.replace(/\.$/, ''), address: undefined }
}

/** Would end the host, or stand for something else in a URL. */
const NOT_IN_HOSTS = /[\s/\\?#@:[\]]/

const bareName = (text: string): string => text.replace(/^\[(.*)\]$/s, '$1').toLowerCase()
