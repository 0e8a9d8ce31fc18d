import { RetakeError } from '@retake/engine/hook'
import {
  type Address,
  type AddressRange,
  inRange,
  isSingle,
  parseAddress,
  parseRange,
} from './address-ranges.js'

interface Entry {
  readonly range: AddressRange
  readonly port: number | undefined
}

/** Addresses of a network scope that are allowed although they are not public. */
export class ListedAddresses {
  readonly #entries: Entry[] = []
  readonly #sockets = new Set<string>()

  constructor(texts: readonly string[]) {
    for (const text of texts) {
      if (text.startsWith('unix:')) this.#sockets.add(text.slice('unix:'.length))
      else this.#entries.push(entryOf(text))
    }
  }

  /** Without a port, the address may be listed with any. */
  has(address: Address, port: number | undefined): boolean {
    return this.#entries.some((entry) => fits(entry, address, port))
  }

  /** True if it is listed by itself, not as part of a block. */
  names(address: Address, port: number | undefined): boolean {
    return this.#entries.some((entry) => isSingle(entry.range) && fits(entry, address, port))
  }

  hasSocket(path: string): boolean {
    return this.#sockets.has(path)
  }
}

const fits = (entry: Entry, address: Address, port: number | undefined): boolean =>
  (entry.port === undefined || port === undefined || entry.port === port) &&
  inRange(address, entry.range)

/** `127.0.0.1`, `127.0.0.1:5432`, `10.0.0.0/8:*`, `::1`, `[::1]:80`, `[fd00::]/8:80`. */
function entryOf(text: string): Entry {
  const [, bracketed, bits = '', dotted, port] =
    /^(?:\[(.+)\](\/\d+)?|([\d./]+))(?::(\d+|\*))?$/.exec(text) ?? []
  const range = parseRange(bracketed === undefined ? (dotted ?? text) : bracketed + bits)
  const number = port === undefined || port === '*' ? undefined : Number(port)
  if (range === undefined || (number ?? 1) > 65_535)
    throw invalidScope(
      'addresses',
      text,
      '`127.0.0.1:5432`, `10.1.0.0/16`, `[::1]:80` or `unix:/run/db.sock`',
    )
  return { range, port: number }
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'https:': 443, 'wss:': 443 }

/** The port that a URL leads to, also where it does not name one. */
export const portOf = ({ port, protocol }: URL): number =>
  port === '' ? (DEFAULT_PORTS[protocol] ?? 80) : Number(port)

export interface CanonicalHost {
  /** Lower case, in punycode, without a final dot; of an address its usual spelling. */
  readonly name: string
  /** Set if the host is an address in any spelling: `0x7f.1`, `2130706433`, `[::1]`. */
  readonly address: Address | undefined
}

/** Normalizes a host like URLs and resolvers do. Undefined if it is not a host. */
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

/** Characters with another meaning in a URL. */
const NOT_IN_HOSTS = /[\s/\\?#@:[\]]/

const bareName = (text: string): string => text.replace(/^\[(.*)\]$/s, '$1').toLowerCase()

/** An entry of an allow list, such as `api.example.com`, `*.example.com`, `example.com:8443` or `[2001:db8::1]:443`. */
export interface HostPattern {
  readonly text: string
  /** In the canonical spelling of hosts; without the `*.` of a wildcard. */
  readonly name: string
  /** `some`: every name below it, not the name itself. `every`: all names. */
  readonly below: 'none' | 'some' | 'every'
  /** Any when undefined. */
  readonly port: number | undefined
}

export function hostPattern(text: string): HostPattern {
  const [, host = '', port] =
    /^(\[.*\]|[^:]*|[^[\]]*:[^[\]]*:[^[\]]*?)(?::(\d+|\*))?$/.exec(text) ?? []
  const parsed = { text, port: port === undefined || port === '*' ? undefined : Number(port) }
  if (host === '*') return { ...parsed, name: '', below: 'every' }
  const isWild = host.startsWith('*.')
  const found = canonicalHost(isWild ? host.slice(2) : host)
  if (found === undefined || found.name.includes('*') || (parsed.port ?? 1) > 65_535)
    throw invalidScope('allow', text, '`api.example.com`, `*.example.com` or `example.com:8443`')
  return { ...parsed, name: found.name, below: isWild ? 'some' : 'none' }
}

/** True if a pattern matches a host. Without a port, only the name counts. */
export function fitsPattern(
  { name }: CanonicalHost,
  port: number | undefined,
  pattern: HostPattern,
): boolean {
  if (pattern.port !== undefined && port !== undefined && pattern.port !== port) return false
  if (pattern.below === 'every') return true
  return pattern.below === 'some' ? name.endsWith(`.${pattern.name}`) : name === pattern.name
}

export const invalidScope = (list: string, text: string, examples: string): RetakeError =>
  new RetakeError(
    'NETWORK_SCOPE_INVALID',
    `"${text}" in the list \`${list}\` of a network scope cannot be read.`,
    'A scope that cannot be read would protect nothing.',
    `Write entries such as ${examples}.`,
  )
