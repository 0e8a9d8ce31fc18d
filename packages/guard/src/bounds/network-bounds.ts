import { BlockList, isIPv4, isIPv6 } from 'node:net'
import { attempt } from '@retake/tape/format'
import { RetakeError } from '@retake/engine/hook'
import type { Denial } from '../denials/guard-error.js'
import { networkDenials, redirectDenial } from '../denials/scope-denials.js'
import type { FramingProblem, WrittenHead } from './http-writes.js'
import type { NetworkScope } from './scopes.js'

const SHOWN = 8

const list = (texts: readonly string[]): string =>
  texts.length > SHOWN
    ? `${texts.slice(0, SHOWN).join(', ')} and ${texts.length - SHOWN} more`
    : texts.join(', ')

export const endpointText = (host: string, port: number | undefined): string =>
  !port ? host : host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`

/** Host names of cloud metadata servers, which hand out credentials. */
const METADATA_NAMES = new Set([
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'instance-data',
  'instance-data.ec2.internal',
  'metadata.azure.internal',
  'metadata.tencentyun.com',
  'metadata.platformequinix.com',
  'metadata.packet.net',
  'api.metadata.cloud.ibm.com',
  'rancher-metadata',
])

/** Where a connection leads. */
export interface Peer {
  readonly isSecure: boolean
  /** With the port, as in a URL; `unix:` and a path for a local socket; empty if it is not known. */
  readonly host: string
}

/** A `Host` header: a name or an address, and perhaps a port. */
const HOST_HEADER = /^(\[[\da-f:.]+\]|[^\s/\\?#@:[\]]+)(?::(\d*))?$/i

/** Schemes whose URLs contain a host to connect to. */
const NETWORK_SCHEMES =
  /^(?:https?|wss?|s?ftps?|ssh|rediss?|mongodb(?:\+srv)?|postgres(?:ql)?|mysql|mariadb|amqps?|mqtts?|nats|kafka|memcached|ldaps?|smtps?|imaps?|gopher|dict|tftp|git|smb|nfs|tcp|udp|tls):$/

const LOOPBACK: readonly [Address, Address] = [
  { family: 4, text: '127.0.0.1' },
  { family: 6, text: '::1' },
]

/**
 * A compiled network scope. A name is checked before it is resolved, and the resolved address again
 * before connecting. The scope itself never resolves names.
 */
export function networkBounds(policy: string, scope: NetworkScope) {
  knownBlocks()
  const allow = scope.allow?.map(hostPattern)
  const listed = new ListedAddresses(scope.addresses ?? [])
  const methods = scope.methods && new Set(scope.methods.map((method) => method.toUpperCase()))
  const methodList = list(scope.methods ?? [])
  const hosts =
    scope.allow === undefined
      ? 'Every public host is allowed.'
      : scope.allow.length > 0
        ? `Allowed: ${list(scope.allow)}.`
        : `No host is allowed${scope.addresses?.length ? `, only ${list(scope.addresses)}` : ''}.`
  const rule = `${policy}/network`
  const invalidHost = (host: string): Denial => networkDenials.HOST_INVALID(rule, { host }, hosts)
  const socket = (target: string): Denial =>
    networkDenials.SOCKET_NOT_ALLOWED(rule, { target }, methodList)

  const checkKnown = (
    address: Address,
    port: number | undefined,
    host: string,
  ): Denial | undefined => {
    const kind = addressKindOf(address)
    const isMetadata = kind === 'metadata'
    const isListed = isMetadata ? listed.names(address, port) : listed.has(address, port)
    if (kind === undefined || isListed) return undefined
    const entry = endpointText(address.text, port)
    const target = host === address.text ? entry : `${host} at ${entry}`
    return isMetadata
      ? networkDenials.ADDRESS_METADATA(rule, { target, entry, list: 'addresses' }, hosts)
      : networkDenials.ADDRESS_PRIVATE(rule, { target, entry, kind, list: 'addresses' }, hosts)
  }

  const checkName = (host: string, port: number | undefined): Denial | undefined => {
    const found = canonicalHost(host)
    if (found === undefined) return invalidHost(host)
    const { name, address } = found
    const fits = (patterns = allow): boolean =>
      patterns === undefined ||
      patterns.some((pattern) => {
        // Whether a pattern matches a host. Without a port, only the name counts.
        const { name } = found
        if (pattern.port !== undefined && port !== undefined && pattern.port !== port) return false
        if (pattern.below === 'every') return true
        return pattern.below === 'some' ? name.endsWith(`.${pattern.name}`) : name === pattern.name
      })
    const unlisted = (): Denial =>
      networkDenials.HOST_NOT_ALLOWED(rule, { target: endpointText(host, port) }, hosts)
    if (address !== undefined) {
      const denial = checkKnown(address, port, host)
      return denial ?? (listed.has(address, port) || fits() ? undefined : unlisted())
    }
    if (isLocal(name))
      return LOOPBACK.some((each) => listed.has(each, port))
        ? undefined
        : checkKnown(LOOPBACK[0], port, host)
    if (
      (METADATA_NAMES.has(name) || name.endsWith('.metadata.google.internal')) &&
      !fits(allow?.filter((pattern) => pattern.name === name) ?? [])
    )
      return networkDenials.ADDRESS_METADATA(
        rule,
        { target: host, entry: name, list: 'allow' },
        hosts,
      )
    return fits() ? undefined : unlisted()
  }

  const checkMethod = (method: string, target: string): Denial | undefined =>
    methods === undefined || methods.has(method.toUpperCase())
      ? undefined
      : networkDenials.METHOD_NOT_ALLOWED(rule, { method, target }, methodList)

  const checkRequest = (method: string, url: URL): Denial | undefined => {
    const protocol = url.protocol.slice(0, -1)
    if (protocol === 'unix') return checkMethod(method, url.href)
    const isHttp = protocol === 'http' || protocol === 'https'
    const { host } = url
    if (!isHttp && methods !== undefined)
      return networkDenials.PROTOCOL_WITHOUT_METHOD(rule, { protocol, host }, methodList)
    if (!isHttp && !/^wss?$/.test(protocol))
      return networkDenials.PROTOCOL_NOT_ALLOWED(rule, { protocol, host }, hosts)
    const denial = checkName(url.hostname, portOf(url))
    return denial ?? checkMethod(method, `${url.origin}${url.pathname}`)
  }

  /** A request as it was written, after its client has been checked. */
  const checkWritten = (head: WrittenHead, { isSecure, host }: Peer): Denial | undefined => {
    const { method, target, hosts, overrides } = head
    const methodsOf = [method, ...overrides]
    if (method === 'CONNECT') {
      const to = attempt(() => new URL(`http://${target}`))
      return to === undefined ? invalidHost(target) : checkName(to.hostname, portOf(to))
    }
    if (host.startsWith('unix:')) return firstOf(methodsOf, (each) => checkMethod(each, host))
    const scheme = isSecure ? 'https:' : 'http:'
    const isAbsolute = /^[a-z][a-z\d+.-]*:/i.test(target)
    const at = host || hosts[0] || 'unknown.invalid'
    const path = target.startsWith('/') ? target : '/'
    const url = attempt(() => new URL(isAbsolute ? target : `${scheme}//${at}${path}`))
    if (url === undefined) return invalidHost(isAbsolute ? target : at)
    const named = hosts.filter((each) => each !== '')
    return (
      firstOf(methodsOf, (each) => checkRequest(each, url)) ??
      firstOf(named, (text) => {
        const [, name = '', port = url.port] = HOST_HEADER.exec(text) ?? []
        const other = attempt(() => new URL(`${url.protocol}//${name}:${port}${path}`))
        return name === '' || other === undefined ? invalidHost(text) : checkRequest(method, other)
      })
    )
  }

  return {
    checkRequest,
    checkWritten,
    /** Bytes on a connection that are not exactly the requests that were checked. */
    framing: (problem: FramingProblem, { host }: Peer): Denial =>
      networkDenials.REQUEST_FRAMING(rule, { problem, host }),
    /** Call before the name is resolved. `isRaw`: the protocol may not be HTTP. */
    checkHost: (host: string, port: number, isRaw: boolean): Denial | undefined =>
      checkName(host, port) ?? (isRaw && methods ? socket(`${host}:${port}`) : undefined),
    checkAddress: (address: string, port: number, host: string): Denial | undefined => {
      const found = parseAddress(address)
      return found === undefined ? invalidHost(address) : checkKnown(found, port, host)
    },
    /** Call before a DNS query, which reveals the name to other servers. */
    checkLookup: (host: string): Denial | undefined => {
      const found = canonicalHost(host)
      if (found === undefined) return invalidHost(host)
      // Many resolvers forward names below `localhost`.
      const isInternal = found.name === 'localhost' || (isLocal(found.name) && allow === undefined)
      if (found.address !== undefined || isInternal || checkName(host, undefined) === undefined)
        return undefined
      return networkDenials.LOOKUP_NOT_ALLOWED(rule, { host }, hosts)
    },
    /** A Unix socket or named pipe. */
    checkSocket: (path: string): Denial | undefined =>
      listed.hasSocket(path) ? undefined : networkDenials.LOCAL_SOCKET_NOT_ALLOWED(rule, { path }),
    /** A protocol other than HTTP. */
    checkRaw: (where: string): Denial | undefined => methods && socket(where),
    checkListen: (): Denial => networkDenials.LISTEN_NOT_ALLOWED(rule),
    /** The request that follows a redirect from another host. */
    checkRedirect: (method: string, url: URL, from: URL): Denial | undefined => {
      const denial = checkRequest(method, url)
      if (denial === undefined) return undefined
      return redirectDenial(denial, `${from.origin}${from.pathname}`)
    },
    /**
     * Refuses only URLs into the private network before the tool starts. Any other host may just be
     * mentioned in a text.
     */
    inspect: (given: string, _at: string): Denial | undefined => {
      const text = given.trim()
      if (!text.includes(':') || text.includes(' ') || !URL.canParse(text)) return undefined
      const url = new URL(text)
      if (!NETWORK_SCHEMES.test(url.protocol) || url.hostname === '') return undefined
      const isWeb = /^(?:http|ws)s?:$/.test(url.protocol)
      const port = isWeb ? portOf(url) : Number(url.port) || undefined
      const denial = checkName(url.hostname, port)
      return denial?.code.startsWith('ADDRESS_') === true ? denial : undefined
    },
  }
}

const firstOf = <T>(
  values: readonly T[],
  check: (value: T) => Denial | undefined,
): Denial | undefined => {
  for (const value of values) {
    const denial = check(value)
    if (denial !== undefined) return denial
  }
  return undefined
}

export type NetworkBounds = ReturnType<typeof networkBounds>

const isLocal = (name: string): boolean => name === 'localhost' || name.endsWith('.localhost')

/** A normalized address. An IPv4-mapped IPv6 address (`::ffff:10.0.0.1`) becomes IPv4. */
interface Address {
  readonly family: 4 | 6
  readonly text: string
}

/** Parses an address, which may be in brackets or have a zone. */
export function parseAddress(text: string): Address | undefined {
  if (isIPv4(text)) return { family: 4, text }
  const bare = text.replace(/^\[(.*)\]$/s, '$1').replace(/%.*$/s, '')
  if (!isIPv6(bare)) return undefined
  const usual = new URL(`http://[${bare}]`).hostname.slice(1, -1)
  const [high, low] = usual.startsWith('::ffff:') ? usual.slice('::ffff:'.length).split(':') : []
  return high === undefined || low === undefined || usual.split(':').length !== 5
    ? { family: 6, text: usual }
    : { family: 4, text: dotted(Number.parseInt(high, 16), Number.parseInt(low, 16)) }
}

const dotted = (high = 0, low = 0): string => [high >> 8, high & 255, low >> 8, low & 255].join('.')

interface AddressRange {
  readonly family: 4 | 6
  readonly bits: number
  readonly list: BlockList
}

export function parseRange(text: string): AddressRange | undefined {
  const [address = '', length, ...more] = text.split('/')
  const start = parseAddress(address)
  if (start === undefined || more.length > 0) return undefined
  const { family } = start
  const width = family === 4 ? 32 : 128
  // In `::ffff:10.0.0.0/104`, the length counts the 96 bits before the IPv4 address.
  const bits =
    length === undefined ? width : Number(length) - (family === 4 && address.includes(':') ? 96 : 0)
  if (!/^\d{1,3}$/.test(length ?? '0') || bits < 0 || bits > width) return undefined
  const list = new BlockList()
  list.addSubnet(start.text, bits, `ipv${family}`)
  return { family, bits, list }
}

export const inRange = (address: Address, { family, list }: AddressRange): boolean =>
  address.family === family && list.check(address.text, `ipv${family}`)

/** IANA special-purpose blocks, by the reason why they are not public. The first match counts. */
const SPECIAL = {
  /** Cloud metadata servers, which hand out credentials. */
  metadata: [
    '169.254.169.254',
    '169.254.170.2',
    '169.254.170.23',
    '169.254.42.42',
    '100.100.100.200',
    '168.63.129.16',
    '192.0.0.192',
    'fd00:ec2::254',
    'fd00:ec2::23',
    'fd20:ce::254',
    'fd00:42::42',
  ],
  broadcast: ['255.255.255.255'],
  unspecified: ['0.0.0.0/8', '::'],
  loopback: ['127.0.0.0/8', '::1'],
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7', 'fec0::/10'],
  'link-local': ['169.254.0.0/16', 'fe80::/10'],
  'carrier NAT': ['100.64.0.0/10'],
  multicast: ['224.0.0.0/4', 'ff00::/8'],
  benchmark: ['198.18.0.0/15', '2001:2::/48'],
  documentation: [
    '192.0.2.0/24',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '2001:db8::/32',
    '3fff::/20',
  ],
  reserved: ['192.0.0.0/24', '192.88.99.0/24', '240.0.0.0/4', '2001:10::/28', '64:ff9b:1::/48'],
} as const

type AddressKind = keyof typeof SPECIAL

let known: ReturnType<typeof readBlocks> | undefined

/** Parsed once, when the first network scope is compiled. */
const knownBlocks = () => (known ??= readBlocks())

const readBlocks = () => ({
  special: Object.entries(SPECIAL).map(
    ([kind, texts]) => [kind as AddressKind, texts.map(rangeOf)] as const,
  ),
  global: rangeOf('2000::/3'),
  nat64: rangeOf('64:ff9b::/96'),
  sixToFour: rangeOf('2002::/16'),
  teredo: rangeOf('2001::/32'),
  /** Compatible and translated addresses, which end with an IPv4 address. */
  atEnd: ['::/96', '::ffff:0:0:0/96'].map(rangeOf),
})

/** Why an address is not public; undefined if it is. IPv4 embedded in IPv6 counts as IPv4. */
export function addressKindOf(address: Address): AddressKind | undefined {
  const { special, global, nat64 } = knownBlocks()
  const kind = special.find(([, parts]) => parts.some((part) => inRange(address, part)))?.[0]
  if (address.family === 4 || (kind !== undefined && kind !== 'reserved')) return kind
  for (const text of embedded(address)) {
    const inner = addressKindOf({ family: 4, text })
    if (inner !== undefined) return inner
  }
  if (kind !== undefined || inRange(address, global) || inRange(address, nat64)) return kind
  return 'reserved'
}

/** The IPv4 addresses embedded in an IPv6 address. */
function embedded(address: Address): string[] {
  const [before = '', after = ''] = address.text.split('::')
  const [left, right] = [before, after].map((part) => part.split(':').filter(Boolean))
  const gap = Array<string>(8 - (left?.length ?? 0) - (right?.length ?? 0)).fill('0')
  const groups = [...(left ?? []), ...gap, ...(right ?? [])].map((each) =>
    Number.parseInt(each, 16),
  )
  const [, second, third, fourth, , , seventh = 0, eighth = 0] = groups
  const { nat64, atEnd, sixToFour, teredo } = knownBlocks()
  if ([nat64, ...atEnd].some((range) => inRange(address, range))) return [dotted(seventh, eighth)]
  if (inRange(address, sixToFour)) return [dotted(second, third)]
  // A Teredo address contains its relay, and its client with inverted bits.
  if (inRange(address, teredo))
    return [dotted(third, fourth), dotted(seventh ^ 0xffff, eighth ^ 0xffff)]
  return []
}

const rangeOf = (text: string): AddressRange => parseRange(text) as AddressRange

interface Entry {
  readonly range: AddressRange
  readonly port: number | undefined
}

/** The non-public addresses that a network scope allows. */
export class ListedAddresses {
  readonly #entries: Entry[] = []
  readonly #sockets = new Set<string>()

  /** `127.0.0.1`, `127.0.0.1:5432`, `10.0.0.0/8:*`, `::1`, `[::1]:80`, `[fd00::]/8:80`. */
  constructor(texts: readonly string[]) {
    for (const text of texts) {
      if (text.startsWith('unix:')) {
        this.#sockets.add(text.slice('unix:'.length))
        continue
      }
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
      this.#entries.push({ range, port: number })
    }
  }

  /** Without a port, an entry with any port matches. */
  has(address: Address, port: number | undefined): boolean {
    return this.#entries.some((entry) => fits(entry, address, port))
  }

  /** True if the address itself is listed, as metadata servers must be, not a block around it. */
  names(address: Address, port: number | undefined): boolean {
    return this.#entries.some((entry) => {
      const { family, bits } = entry.range
      return bits === (family === 4 ? 32 : 128) && fits(entry, address, port)
    })
  }

  hasSocket(path: string): boolean {
    return this.#sockets.has(path)
  }
}

const fits = (entry: Entry, address: Address, port: number | undefined): boolean =>
  (entry.port === undefined || port === undefined || entry.port === port) &&
  inRange(address, entry.range)

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'https:': 443, 'wss:': 443 }

/** The port of a URL, or the default port of its scheme. */
export const portOf = ({ port, protocol }: URL): number =>
  port === '' ? (DEFAULT_PORTS[protocol] ?? 80) : Number(port)

interface CanonicalHost {
  /** Lower case, in punycode, without a final dot. An address is in its canonical form. */
  readonly name: string
  /** Set if the host is an address, in any notation: `0x7f.1`, `2130706433`, `[::1]`. */
  readonly address: Address | undefined
}

/** Normalizes a host like URL parsers and resolvers do. Undefined if it is not valid. */
export function canonicalHost(host: string): CanonicalHost | undefined {
  const literal = parseAddress(host)
  if (literal !== undefined) return { name: bareName(host), address: literal }
  if (host === '' || NOT_IN_HOSTS.test(host)) return undefined
  const name = attempt(() => new URL(`http://${host}/`).hostname)
  if (name === undefined) return undefined
  const address = parseAddress(name)
  if (address !== undefined) return { name: bareName(name), address }
  return { name: name.replace(/\.$/, ''), address: undefined }
}

/** Characters that end or delimit the host in a URL. */
const NOT_IN_HOSTS = /[\s/\\?#@:[\]]/

const bareName = (text: string): string => text.replace(/^\[(.*)\]$/s, '$1').toLowerCase()

/** An entry of an allow list: `api.example.com`, `*.example.com:8443` or `[2001:db8::1]:443`. */
interface HostPattern {
  /** Canonical, without the `*.` of a wildcard. */
  readonly name: string
  /** `some`: every name below it, not the name itself. `every`: all names. */
  readonly below: 'none' | 'some' | 'every'
  /** Undefined: any port. */
  readonly port: number | undefined
}

export function hostPattern(text: string): HostPattern {
  const [, host = '', port] =
    /^(\[.*\]|[^:]*|[^[\]]*:[^[\]]*:[^[\]]*?)(?::(\d+|\*))?$/.exec(text) ?? []
  const parsed = { port: port === undefined || port === '*' ? undefined : Number(port) }
  if (host === '*') return { ...parsed, name: '', below: 'every' }
  const isWild = host.startsWith('*.')
  const found = canonicalHost(isWild ? host.slice(2) : host)
  if (found === undefined || found.name.includes('*') || (parsed.port ?? 1) > 65_535)
    throw invalidScope('allow', text, '`api.example.com`, `*.example.com` or `example.com:8443`')
  return { ...parsed, name: found.name, below: isWild ? 'some' : 'none' }
}

const invalidScope = (list: string, text: string, examples: string): RetakeError =>
  new RetakeError(
    'NETWORK_SCOPE_INVALID',
    `"${text}" in the list \`${list}\` of a network scope cannot be read.`,
    'An invalid scope would not protect anything.',
    `Write entries such as ${examples}.`,
  )
