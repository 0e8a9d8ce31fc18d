import { installOnce } from '../enforcement/install.js'
import { watchUndici } from '../enforcement/network/undici-requests.js'
import type { Denial } from '../guard-error.js'
import { addressKindOf, knownBlocks } from './address-ranges.js'
import { canonicalHost, type CanonicalHost } from './canonical-host.js'
import { fitsPattern, hostPattern } from './host-pattern.js'
import { ListedAddresses } from './listed-addresses.js'
import { NetworkDenials } from './network-denials.js'
import type { NetworkScope } from './scopes.js'
import { type Address, parseAddress, printAddress } from './parse-address.js'
import { portOf } from './canonical-host.js'
import type { Scopes } from './scopes.js'
import { type NamedEndpoint, endpointsInText, urlsInText } from './endpoints-in-text.js'

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

/** Protocols that exist in attacks more than anywhere else: they carry any bytes anywhere. */
const SMUGGLING = new Set(['gopher', 'gophers', 'dict', 'tftp', 'jar', 'netdoc', 'phar', 'expect'])

const LOOPBACK = ['127.0.0.1', '::1'].map(parseAddress) as [Address, Address]

/**
 * A compiled network scope. Names are judged before they are resolved,
 * and every address again before it is connected to: what a name means is only
 * known then. Does not resolve anything itself.
 */
export function networkBounds(policy: string, scope: NetworkScope): NetworkBounds {
  installOnce(watchUndici)
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
    return isListed ? undefined : denials.address(host, printAddress(address), port, kind)
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

  const judgeWord = ({ protocol, host, port, isCertain }: NamedEndpoint): Denial | undefined => {
    if (protocol !== undefined && SMUGGLING.has(protocol)) return denials.protocol(protocol, host)
    const denial = judgeName(host, port)
    if (denial !== undefined && (isCertain || denial.code.startsWith('ADDRESS_'))) return denial
    const isWeb = protocol === undefined || /^(?:https?|wss?)$/.test(protocol)
    return methods !== undefined && !isWeb && isCertain
      ? denials.protocol(protocol, host)
      : undefined
  }

  /**
   * A host that is not listed may be a title, a bookmark or the subject of a request to one that
   * is, so only URLs that lead into the private network are refused before the tool starts.
   */
  const judgeArgument = ({
    protocol,
    host,
    port,
    isCertain,
  }: NamedEndpoint): Denial | undefined => {
    if (protocol !== undefined && SMUGGLING.has(protocol)) return denials.protocol(protocol, host)
    const denial = isCertain ? judgeName(host, port) : undefined
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
    inspect: (text) => firstDenial(urlsInText(text), judgeArgument),
    inspectWord: (word) => firstDenial(endpointsInText(word), judgeWord),
  }
}

const isLocal = (name: string): boolean => name === 'localhost' || name.endsWith('.localhost')

function firstDenial(
  endpoints: readonly NamedEndpoint[],
  judge: (endpoint: NamedEndpoint) => Denial | undefined,
): Denial | undefined {
  for (const endpoint of endpoints) {
    const denial = judge(endpoint)
    if (denial !== undefined) return denial
  }
  return undefined
}
