import type { Denial } from '../guard-error.js'
import { type Address, addressKindOf, knownBlocks, parseAddress } from './address-ranges.js'
import { canonicalHost, fitsPattern, hostPattern, ListedAddresses, portOf } from './host-pattern.js'
import type { NetworkScope } from './scopes.js'

/** How many entries of a list an error shows. */
const SHOWN = 8

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

const isMetadataName = (name: string): boolean =>
  NAMES.has(name) || name.endsWith('.metadata.google.internal')

/** Protocols whose URLs name a host to connect to. */
const NETWORK =
  /^(?:https?|wss?|s?ftps?|ssh|rediss?|mongodb(?:\+srv)?|postgres(?:ql)?|mysql|mariadb|amqps?|mqtts?|nats|kafka|memcached|ldaps?|smtps?|imaps?|gopher|dict|tftp|git|smb|nfs|tcp|udp|tls):$/

const LOOPBACK = ['127.0.0.1', '::1'].map(parseAddress) as [Address, Address]

/**
 * A compiled network scope. Names are checked before they are resolved, and every address again
 * before it is connected to. Does not resolve anything itself.
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
  const deny = (code: string, what: string, why: string, allowed = hosts): Denial => ({
    code,
    rule: `${policy}/network`,
    what,
    why,
    allowed,
  })

  const notAHost = (host: string): Denial =>
    deny(
      'HOST_NOT_ALLOWED',
      `The tool tried to connect to ${JSON.stringify(host)}.`,
      'It is not a valid host name.',
    )
  const raw = (where: string): Denial =>
    deny(
      'SOCKET_NOT_ALLOWED',
      `The tool tried to connect to ${where} without HTTP.`,
      'Only some HTTP methods are allowed, and other protocols cannot be checked for that.',
      `HTTP with ${methodList || 'no method'} is allowed.`,
    )

  const checkKnown = (
    address: Address,
    port: number | undefined,
    host: string,
  ): Denial | undefined => {
    const kind = addressKindOf(address)
    const isMetadata = kind === 'metadata'
    const isListed = isMetadata ? listed.names(address, port) : listed.has(address, port)
    if (kind === undefined || isListed) return undefined
    const where = endpointText(address.text, port)
    return deny(
      isMetadata ? 'ADDRESS_METADATA' : 'ADDRESS_PRIVATE',
      host === address.text
        ? `The tool tried to connect to ${where}.`
        : `The tool tried to connect to ${host} at ${where}.`,
      isMetadata
        ? 'Cloud providers serve credentials at this address.'
        : `It is not a public address (${kind}).`,
      `${hosts} To allow it, list \`${where}\` in \`addresses\` of the network scope.`,
    )
  }

  const checkName = (host: string, port: number | undefined): Denial | undefined => {
    const found = canonicalHost(host)
    if (found === undefined) return notAHost(host)
    const { name, address } = found
    const fits = (patterns = allow): boolean =>
      patterns === undefined || patterns.some((pattern) => fitsPattern(found, port, pattern))
    const unlisted = (): Denial =>
      deny(
        'HOST_NOT_ALLOWED',
        `The tool tried to connect to ${endpointText(host, port)}.`,
        'The host is not on the allow list.',
      )
    if (address !== undefined) {
      const denial = checkKnown(address, port, host)
      return denial ?? (listed.has(address, port) || fits() ? undefined : unlisted())
    }
    if (isLocal(name))
      return LOOPBACK.some((each) => listed.has(each, port))
        ? undefined
        : checkKnown(LOOPBACK[0], port, host)
    if (isMetadataName(name) && !fits(allow?.filter((pattern) => pattern.name === name) ?? []))
      return deny(
        'ADDRESS_METADATA',
        `The tool tried to connect to ${host}.`,
        'Cloud providers serve credentials at this address.',
      )
    return fits() ? undefined : unlisted()
  }

  const checkMethod = (method: string, where: string): Denial | undefined =>
    methods === undefined || methods.has(method.toUpperCase())
      ? undefined
      : deny(
          'METHOD_NOT_ALLOWED',
          `The tool tried to send a ${method} request to ${where}.`,
          'The method is not on the allow list.',
          `Allowed methods: ${methodList || 'none'}.`,
        )

  const checkRequest = (method: string, url: URL): Denial | undefined => {
    const protocol = url.protocol.slice(0, -1)
    if (protocol === 'unix') return checkMethod(method, url.href)
    const isHttp = protocol === 'http' || protocol === 'https'
    if (!isHttp && (methods !== undefined || !/^wss?$/.test(protocol)))
      return deny(
        'PROTOCOL_NOT_ALLOWED',
        `The tool tried to use ${protocol} with ${url.host}.`,
        methods === undefined
          ? 'Tools may use HTTP and WebSocket only.'
          : 'Only HTTP requests can be checked for their method.',
        methods === undefined ? hosts : `HTTP with ${methodList} is allowed.`,
      )
    const denial = checkName(url.hostname, portOf(url))
    return denial ?? checkMethod(method, `${url.origin}${url.pathname}`)
  }

  return {
    checkRequest,
    /** Before a name is resolved. `isRaw`: the protocol may be other than HTTP. */
    checkHost: (host: string, port: number, isRaw: boolean): Denial | undefined =>
      checkName(host, port) ?? (isRaw && methods ? raw(`${host}:${port}`) : undefined),
    checkAddress: (address: string, port: number, host: string): Denial | undefined => {
      const found = parseAddress(address)
      return found === undefined ? notAHost(address) : checkKnown(found, port, host)
    },
    /** Before a name is resolved, which reveals it to others. */
    checkLookup: (host: string): Denial | undefined => {
      const found = canonicalHost(host)
      if (found === undefined) return notAHost(host)
      // Many resolvers pass names below `localhost` on to others.
      const isInternal = found.name === 'localhost' || (isLocal(found.name) && allow === undefined)
      if (found.address !== undefined || isInternal || checkName(host, undefined) === undefined)
        return undefined
      return deny(
        'HOST_NOT_ALLOWED',
        `The tool tried to resolve ${host}.`,
        'A DNS lookup reveals the name to others, and the host is not on the allow list.',
      )
    },
    /** A socket or pipe of this machine. */
    checkSocket: (path: string): Denial | undefined =>
      listed.hasSocket(path)
        ? undefined
        : deny(
            'SOCKET_NOT_ALLOWED',
            `The tool tried to connect to the local socket ${path}.`,
            'Local sockets lead to services on this machine.',
            `To allow it, list \`unix:${path}\` in \`addresses\` of the network scope.`,
          ),
    /** A protocol other than HTTP. */
    checkRaw: (where: string): Denial | undefined => methods && raw(where),
    checkListen: (): Denial =>
      deny(
        'LISTEN_NOT_ALLOWED',
        'The tool tried to listen for connections.',
        'A tool with a network scope may open connections, but not accept them.',
        'Start servers outside of the tool.',
      ),
    /** A request that follows a redirect of another host. */
    checkRedirect: (method: string, url: URL, from: URL): Denial | undefined => {
      const denial = checkRequest(method, url)
      if (denial === undefined) return undefined
      return {
        ...denial,
        code: denial.code.startsWith('ADDRESS_') ? denial.code : 'REDIRECT_NOT_ALLOWED',
        what: `${denial.what} ${from.origin}${from.pathname} redirects there.`,
      }
    },
    /**
     * Only URLs into the private network are refused before the tool starts. Other hosts may be
     * part of a text, or the subject of a request.
     */
    inspect: (given: string, _at: string): Denial | undefined => {
      const text = given.trim()
      if (!text.includes(':') || text.includes(' ') || !URL.canParse(text)) return undefined
      const url = new URL(text)
      if (!NETWORK.test(url.protocol) || url.hostname === '') return undefined
      const isWeb = /^(?:http|ws)s?:$/.test(url.protocol)
      const port = isWeb ? portOf(url) : Number(url.port) || undefined
      const denial = checkName(url.hostname, port)
      return denial?.code.startsWith('ADDRESS_') === true ? denial : undefined
    },
  }
}

export type NetworkBounds = ReturnType<typeof networkBounds>

const isLocal = (name: string): boolean => name === 'localhost' || name.endsWith('.localhost')
