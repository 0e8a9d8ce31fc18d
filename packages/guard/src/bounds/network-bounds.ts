import type { Denial } from '../guard-error.js'
import {
  type Address,
  type AddressKind,
  addressKindOf,
  knownBlocks,
  parseAddress,
} from './address-ranges.js'
import {
  canonicalHost,
  type CanonicalHost,
  fitsPattern,
  hostPattern,
  ListedAddresses,
  portOf,
} from './host-pattern.js'
import type { NetworkScope, Scopes } from './scopes.js'

const SHOWN = 8

/** Every refusal of a network scope. Each code has a page in docs/errors. */
class NetworkDenials {
  readonly #hosts: string
  readonly #methods: string

  constructor(
    readonly policy: string,
    scope: NetworkScope,
  ) {
    this.#hosts =
      scope.allow === undefined
        ? 'Every public host is allowed.'
        : scope.allow.length === 0
          ? `No host is allowed${scope.addresses?.length ? `, only ${list(scope.addresses)}` : ''}.`
          : `Allowed are ${list(scope.allow)}.`
    this.#methods = scope.methods === undefined ? '' : list(scope.methods)
  }

  address(host: string, address: string, port: number | undefined, kind: AddressKind): Denial {
    const where = endpointText(address, port)
    const isMetadata = kind === 'metadata'
    return this.#denial(
      isMetadata ? 'ADDRESS_METADATA' : 'ADDRESS_PRIVATE',
      host === address ? `Connecting to ${where}.` : `Connecting to ${host} at ${where}.`,
      isMetadata ? 'Clouds hand out credentials there.' : `It is not a public address (${kind}).`,
      `${this.#hosts} If it is meant, list \`${where}\` in \`addresses\` of the network scope.`,
    )
  }

  metadataName(host: string): Denial {
    return this.#denial(
      'ADDRESS_METADATA',
      `Connecting to ${host}.`,
      'Clouds hand out credentials there.',
      this.#hosts,
    )
  }

  host(host: string, port: number | undefined): Denial {
    return this.#denial(
      'HOST_NOT_ALLOWED',
      `Connecting to ${endpointText(host, port)}.`,
      'The host is not on the allow list.',
      this.#hosts,
    )
  }

  notAHost(host: string): Denial {
    return this.#denial(
      'HOST_NOT_ALLOWED',
      `Connecting to ${JSON.stringify(host)}.`,
      'It is not the name of a host.',
      this.#hosts,
    )
  }

  lookup(host: string): Denial {
    return this.#denial(
      'HOST_NOT_ALLOWED',
      `Looking up ${host}.`,
      'A look-up tells the name to others, and the host is not on the allow list.',
      this.#hosts,
    )
  }

  method(method: string, url: string): Denial {
    return this.#denial(
      'METHOD_NOT_ALLOWED',
      `A ${method} request to ${url}.`,
      'The method is not on the list.',
      `Allowed methods are ${this.#methods || 'none'}.`,
    )
  }

  protocol(protocol: string, where: string): Denial {
    return this.#denial(
      'PROTOCOL_NOT_ALLOWED',
      `Using ${protocol} with ${where}.`,
      this.#methods === ''
        ? 'The protocol is not one that tools may speak.'
        : 'Only HTTP requests can be told apart by their method.',
      this.#methods === '' ? this.#hosts : `HTTP with ${this.#methods} is allowed.`,
    )
  }

  /** A connection whose content cannot be judged. */
  raw(where: string): Denial {
    return this.#denial(
      'SOCKET_NOT_ALLOWED',
      `A connection to ${where} that does not speak HTTP.`,
      'Where only some HTTP methods are allowed, other protocols cannot be judged.',
      `HTTP with ${this.#methods || 'no method'} is allowed.`,
    )
  }

  socket(path: string): Denial {
    return this.#denial(
      'SOCKET_NOT_ALLOWED',
      `Connecting to the local socket ${path}.`,
      'Local sockets lead to services of this machine.',
      `If it is meant, list \`unix:${path}\` in \`addresses\` of the network scope.`,
    )
  }

  listen(): Denial {
    return this.#denial(
      'LISTEN_NOT_ALLOWED',
      'Waiting for connections from outside.',
      'A tool with a network scope connects to others; others do not connect to it.',
      'Start servers outside of the tool.',
    )
  }

  /** The same, met after a redirect. */
  redirected(denial: Denial, from: string): Denial {
    const isSpecific = denial.code.startsWith('ADDRESS_')
    return {
      ...denial,
      code: isSpecific ? denial.code : 'REDIRECT_NOT_ALLOWED',
      what: `${denial.what} ${from} redirects there.`,
    }
  }

  #denial(code: string, what: string, why: string, allowed: string): Denial {
    return { code, rule: `${this.policy}/network`, what, why, allowed }
  }
}

const list = (texts: readonly string[]): string =>
  texts.length > SHOWN
    ? `${texts.slice(0, SHOWN).join(', ')} and ${texts.length - SHOWN} more`
    : texts.join(', ')

const endpointText = (host: string, port: number | undefined): string =>
  !port ? host : host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`

/** Names under which clouds offer credentials to their machines. */
const NAMES = new Set([
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

/** True if a canonical name is one of those. They are refused before anybody resolves them. */
const isMetadataName = (name: string): boolean =>
  NAMES.has(name) || name.endsWith('.metadata.google.internal')

type NetworkBounds = NonNullable<Scopes['network']>

/** Protocols whose URLs name a host to connect to. */
const NETWORK =
  /^(?:https?|wss?|s?ftps?|ssh|rediss?|mongodb(?:\+srv)?|postgres(?:ql)?|mysql|mariadb|amqps?|mqtts?|nats|kafka|memcached|ldaps?|smtps?|imaps?|gopher|dict|tftp|git|smb|nfs|tcp|udp|tls):$/

const LOOPBACK = ['127.0.0.1', '::1'].map(parseAddress) as [Address, Address]

/**
 * A compiled network scope. Names are judged before they are resolved,
 * and every address again before it is connected to: what a name means is only
 * known then. Does not resolve anything itself.
 */
export function networkBounds(policy: string, scope: NetworkScope): NetworkBounds {
  knownBlocks()
  const allow = scope.allow?.map(hostPattern)
  const listed = new ListedAddresses(scope.addresses ?? [])
  const methods = scope.methods && new Set(scope.methods.map((method) => method.toUpperCase()))
  const denials = new NetworkDenials(policy, scope)

  const judgeAddress = (
    address: Address,
    port: number | undefined,
    host: string,
  ): Denial | undefined => {
    const kind = addressKindOf(address)
    if (kind === undefined) return undefined
    const isListed = kind === 'metadata' ? listed.names(address, port) : listed.has(address, port)
    return isListed ? undefined : denials.address(host, address.text, port, kind)
  }

  const isAllowed = (host: CanonicalHost, port: number | undefined): boolean =>
    allow === undefined || allow.some((pattern) => fitsPattern(host, port, pattern))

  const judgeName = (host: string, port: number | undefined): Denial | undefined => {
    const found = canonicalHost(host)
    if (found === undefined) return denials.notAHost(host)
    const { name, address } = found
    if (address !== undefined) {
      if (listed.has(address, port)) return judgeAddress(address, port, host)
      return (
        judgeAddress(address, port, host) ??
        (isAllowed(found, port) ? undefined : denials.host(host, port))
      )
    }
    if (isLocal(name)) {
      const loopback = LOOPBACK.find((each) => listed.has(each, port))
      return loopback === undefined ? judgeAddress(LOOPBACK[0], port, host) : undefined
    }
    const isNamed = allow?.some(
      (pattern) => pattern.name === name && fitsPattern(found, port, pattern),
    )
    if (isMetadataName(name) && isNamed !== true) return denials.metadataName(host)
    return isAllowed(found, port) ? undefined : denials.host(host, port)
  }

  const judgeMethod = (method: string, where: string): Denial | undefined =>
    methods === undefined || methods.has(method.toUpperCase())
      ? undefined
      : denials.method(method, where)

  const checkRequest = (method: string, url: URL): Denial | undefined => {
    const protocol = url.protocol.slice(0, -1)
    if (protocol === 'unix') return judgeMethod(method, url.href)
    const isHttp = protocol === 'http' || protocol === 'https'
    if (!isHttp && (methods !== undefined || !/^wss?$/.test(protocol)))
      return denials.protocol(protocol, url.host)
    const denial = judgeName(url.hostname, portOf(url))
    return denial ?? judgeMethod(method, `${url.origin}${url.pathname}`)
  }

  /**
   * A host that is not listed may be a title, a bookmark or the subject of a request to one that
   * is, so only URLs that lead into the private network are refused before the tool starts.
   */
  const inspect = (given: string): Denial | undefined => {
    const text = given.trim()
    if (!text.includes(':') || text.includes(' ') || !URL.canParse(text)) return undefined
    const url = new URL(text)
    if (!NETWORK.test(url.protocol) || url.hostname === '') return undefined
    const isWeb = /^(?:http|ws)s?:$/.test(url.protocol)
    const port = isWeb ? portOf(url) : Number(url.port) || undefined
    const denial = judgeName(url.hostname, port)
    return denial?.code.startsWith('ADDRESS_') === true ? denial : undefined
  }

  return {
    checkRequest,
    checkHost: (host, port, raw) =>
      judgeName(host, port) ??
      (raw && methods !== undefined ? denials.raw(`${host}:${port}`) : undefined),
    checkAddress: (address, port, host) => {
      const found = parseAddress(address)
      return found === undefined ? denials.notAHost(address) : judgeAddress(found, port, host)
    },
    checkLookup: (host) => {
      const found = canonicalHost(host)
      if (found === undefined) return denials.notAHost(host)
      // Names below `localhost` are asked of others by many resolvers, with all that is in them.
      const staysHere = found.name === 'localhost' || (isLocal(found.name) && allow === undefined)
      if (found.address !== undefined || staysHere) return undefined
      return judgeName(host, undefined) && denials.lookup(host)
    },
    checkSocket: (path) => {
      if (!listed.hasSocket(path)) return denials.socket(path)
      return undefined
    },
    checkRaw: (where) => (methods === undefined ? undefined : denials.raw(where)),
    checkListen: () => denials.listen(),
    checkRedirect: (method, url, from) => {
      const denial = checkRequest(method, url)
      return denial && denials.redirected(denial, `${from.origin}${from.pathname}`)
    },
    inspect,
  }
}

const isLocal = (name: string): boolean => name === 'localhost' || name.endsWith('.localhost')
