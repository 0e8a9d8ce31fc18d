/** A host that an argument names. */
export interface NamedEndpoint {
  /** Without its colon; undefined when there is none. */
  readonly protocol: string | undefined
  readonly host: string
  readonly port: number | undefined
  /**
   * It can be nothing but an endpoint. Otherwise it only counts when it is
   * one that is never public: `report.md` looks like a host, and `10.0.0.1` like a version.
   */
  readonly isCertain: boolean
}

/**
 * The endpoints that a text names, if the text as a whole is a URL or a host with or without a
 * port, or a list of URLs by line. Prose that mentions one is left alone: a connection is
 * judged when it is made.
 */
export function endpointsInText(given: string): readonly NamedEndpoint[] {
  // Most texts are plain words and name no endpoint.
  if (WORD.test(given) && !LOCAL.test(given)) return NONE
  return linesOf(given).flatMap((line) => {
    const endpoint =
      endpointInUrl(line) ?? (line.length > HOST_LENGTH ? undefined : endpointInHost(line))
    return endpoint ? [endpoint] : []
  })
}

/** The endpoints that a text names by URL: a host without a scheme is plain data. */
export const urlsInText = (given: string): readonly NamedEndpoint[] =>
  MAY_BE_URL.test(given) ? linesOf(given).flatMap((line) => endpointInUrl(line) ?? []) : NONE

const NONE: readonly NamedEndpoint[] = []
/** No dot, no colon, no slash: with any of these it may be more than a word. */
const WORD = /^[\w-]*$/
const LOCAL = /^localhost$/i
const MAY_BE_URL = /:|[/\\]{2}/
const MAY_BEGIN = /^[\p{L}\p{N}[/\\:.*_-]/u
const HOST_LENGTH = 2048

/** The text as a URL parser reads it, or its lines where each is a URL. Empty for prose. */
function linesOf(given: string): readonly string[] {
  const shown = trimmed(given)
  // Prose has spaces, or begins with a character that no URL begins with.
  if (shown.includes(' ') || !MAY_BEGIN.test(shown)) return []
  const lines = shown.split(/[\n\r]/).filter((line) => line !== '')
  if (lines.length > 1 && lines.every((line) => SCHEME.test(line))) return lines.flatMap(linesOf)
  const text = shown.replaceAll(/[\t\n\r]/g, '')
  return /\s/.test(text) ? [] : [text]
}

/** As URL parsers do: what is not seen at the ends is not there. */
function trimmed(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && text.charCodeAt(start) <= 32) start += 1
  while (end > start && text.charCodeAt(end - 1) <= 32) end -= 1
  return text.slice(start, end)
}

/** Schemes whose URLs need no slashes, or any number of them in any direction. */
const WEB = /^(https?|wss?|ftp):[/\\]*(?=[^/\\])/i
const SCHEME = /^([a-z][a-z\d+.-]*):\/\/([^/?#\\]*)/i
const RELATIVE = /^[/\\]{2}([^/\\?#]+)/

/** Other protocols whose URLs name a host to connect to. */
const NETWORK =
  /^(?:ftps?|sftp|ssh|scp|gophers?|dict|ldaps?|tftp|telnet|smtps?|imaps?|pop3s?|rtsp|rtmp|smb|cifs|nfs|git|svn|rediss?|mongodb(?:\+srv)?|postgres(?:ql)?|mysql|mariadb|amqps?|mqtts?|nats|kafka|memcached|tcp|udp|tls|ssl|jar|netdoc|phar|expect|file)$/

function endpointInUrl(text: string): NamedEndpoint | undefined {
  if (WEB.test(text)) {
    try {
      const url = new URL(text)
      return endpoint(url.protocol.slice(0, -1), url.hostname, url.port, true)
    } catch {
      return undefined
    }
  }
  const [, scheme, authority = ''] = SCHEME.exec(text) ?? []
  if (scheme !== undefined) {
    const protocol = scheme.toLowerCase()
    const [host, port] = splitAuthority(authority)
    return host === '' ? undefined : endpoint(protocol, host, port, NETWORK.test(protocol))
  }
  const relative = RELATIVE.exec(text)?.[1]
  if (relative === undefined) return undefined
  const [host, port] = splitAuthority(relative)
  return endpoint(undefined, host, port, /[.:]/.test(relative) && !SOURCE_FILE.test(host))
}

/** `host`, `host:port` and either with credentials or a path. */
const HOST =
  /^(?:[^\s/@:]+:[^\s/@]*@)?(\[[^\]]+\]|[^\s/\\?#@:[\]]+)(?::(\d{1,5}))?(?=$|[/\\?#])(.*)$/s
const BLOCK = /^\/\d{1,3}$/
const QUAD = /^(?:[^.]+\.){3}[^.]+\.?$/
const HEX = /^0x[\da-f]+$/i
/** Names of files that end like names of hosts, as `main.py:12` does. */
const SOURCE_FILE =
  /\.(?:[cm]?[jt]sx?|py|rb|go|rs|java|kt|cc?|h|cpp|cs|php|sh|sql|md|json|ya?ml|toml|txt|html?|css|vue|svelte|log|lock|pl|zip|csv|xml|ini|cfg|conf|env)$/i

function endpointInHost(text: string): NamedEndpoint | undefined {
  if (/^[^[]*:.*:/s.test(text) && !text.includes('@') && /^[\da-f:.%\w]+$/i.test(text))
    return looksLikeIpv6(text) ? endpoint(undefined, text, '', false) : undefined
  const [, host, port = '', rest = ''] = HOST.exec(text) ?? []
  if (host === undefined || BLOCK.test(rest)) return undefined
  const isName = /\p{L}/u.test(host) && !HEX.test(host)
  if (isName) {
    if (!host.includes('.') && !LOCAL.test(host)) return undefined
    return endpoint(undefined, host, port, port !== '' && !SOURCE_FILE.test(host))
  }
  if (host.startsWith('[') || QUAD.test(host)) return endpoint(undefined, host, port, port !== '')
  // Numbers, shares and times of day are written like this, too: `12:30`, `127.1`.
  const isLarge = HEX.test(host) || Number(host) >= 2 ** 24 || host.includes('.')
  return port !== '' && isLarge ? endpoint(undefined, host, port, false) : undefined
}

const looksLikeIpv6 = (text: string): boolean => text.includes('::') || text.split(':').length === 8

function splitAuthority(authority: string): [host: string, port: string] {
  const host = authority.slice(authority.lastIndexOf('@') + 1)
  const [, name = '', port = ''] = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/.exec(host) ?? [host, host]
  return [name, port]
}

const PORTS: Readonly<Record<string, number>> = {
  http: 80,
  ws: 80,
  https: 443,
  wss: 443,
  ftp: 21,
  ssh: 22,
  sftp: 22,
  redis: 6379,
  postgres: 5432,
  postgresql: 5432,
  mysql: 3306,
  mongodb: 27_017,
}

const endpoint = (
  protocol: string | undefined,
  host: string,
  port: string,
  isCertain: boolean,
): NamedEndpoint => ({
  protocol,
  host,
  port: port === '' ? PORTS[protocol ?? ''] : Number(port),
  isCertain,
})
