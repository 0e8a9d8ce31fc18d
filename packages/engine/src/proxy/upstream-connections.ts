import { Agent as HttpAgent, request as httpRequest } from 'node:http'
import type { ClientRequest, RequestOptions } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { connect, isIP, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { readFileSync } from 'node:fs'
import {
  connect as tlsConnect,
  createSecureContext,
  rootCertificates,
  type SecureContext,
} from 'node:tls'
import { attempt } from '@retake/tape/format'

/** Idle upstream connections are closed before the server closes them, which would look like a failure. */
const IDLE_MS = 4000

/** Variables that name trusted certificates, for OpenSSL, Go, Python, curl, Node and others. */
export const TRUST_VARIABLES = [
  'SSL_CERT_FILE',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  'NODE_EXTRA_CA_CERTS',
  'GIT_SSL_CAINFO',
  'AWS_CA_BUNDLE',
  'GRPC_DEFAULT_SSL_ROOTS_FILE_PATH',
  'DENO_CERT',
  'CARGO_HTTP_CAINFO',
  'PIP_CERT',
] as const

/** The certificates that a command trusts because of its variables. Unreadable files are ignored. */
export function ownCertificates(env: NodeJS.ProcessEnv): string[] {
  const files = new Set(TRUST_VARIABLES.flatMap((name) => env[name] || []))
  return [...files].flatMap((file) => attempt(() => readFileSync(file, 'utf8'), []))
}

/**
 * How the proxy reaches the outside: directly, or through the HTTP proxy in the user's
 * `HTTP_PROXY`, `HTTPS_PROXY` and `ALL_PROXY`, with the exceptions of `NO_PROXY`. The loopback
 * address is always reached directly. It also trusts the certificates that the user's clients
 * trust, such as those of a company's own gateway.
 */
export class UpstreamConnections {
  /** Unsupported proxies, such as SOCKS, which are not used. */
  readonly unusable: readonly string[]
  readonly #env: NodeJS.ProcessEnv
  readonly #http = new HttpAgent({ keepAlive: true, timeout: IDLE_MS })
  readonly #https: HttpsAgent
  /** Set once, because every connection would parse the certificates again. */
  readonly #trusted: { readonly secureContext?: SecureContext }
  /** One per target, because an agent would share tunnels between hosts. */
  readonly #tunnelled = new Map<string, HttpsAgent>()

  constructor(env: NodeJS.ProcessEnv = {}) {
    this.#env = env
    const own = ownCertificates(env)
    const ca = [...rootCertificates, ...own]
    this.#trusted = own.length === 0 ? {} : { secureContext: createSecureContext({ ca }) }
    this.#https = new HttpsAgent({ keepAlive: true, timeout: IDLE_MS, ...this.#trusted })
    const set = ['http_proxy', 'https_proxy', 'all_proxy'].flatMap((name) => this.#read(name) ?? [])
    this.unusable = [...new Set(set.filter((text) => usable(text) === undefined))]
  }

  /** Remarks for the user; empty if every host is reached directly. */
  get remarks(): readonly string[] {
    const used = [this.#read('http_proxy'), this.#read('https_proxy'), this.#read('all_proxy')]
    const hosts = new Set(used.flatMap((text) => usable(text ?? '')?.host ?? []))
    const except = this.#read('no_proxy') === undefined ? '' : ', except what NO_PROXY names'
    return [
      ...[...hosts].map(
        (host) => `requests were forwarded through your own proxy ${host}${except}`,
      ),
      ...this.unusable.map(
        (text) =>
          `your proxy is not HTTP (${text.split(':')[0]}), so only base URLs led to the recording proxy`,
      ),
    ]
  }

  request(url: URL, options: RequestOptions): ClientRequest {
    const isTls = url.protocol === 'https:'
    const proxy = this.#proxyFor(url.protocol, url.hostname)
    if (proxy === undefined) {
      const agent = isTls ? this.#https : this.#http
      return (isTls ? httpsRequest : httpRequest)(url, { ...options, agent })
    }
    if (isTls) return httpsRequest(url, { ...options, agent: this.#agentThrough(proxy, url) })
    const given = (options.headers ?? []) as readonly string[]
    return httpRequest(proxy, {
      ...options,
      path: url.href,
      headers: [...given, ...Object.entries(credentials(proxy)).flat()],
      agent: this.#http,
    })
  }

  /** A connection for bytes that are forwarded unchanged. */
  async open(host: string, port: number): Promise<Duplex> {
    const proxy = this.#proxyFor('https:', host)
    if (proxy) return tunnelThrough(proxy, host, port)
    const socket = connect({ host, port })
    return new Promise<Socket>((resolve, reject) => {
      socket.once('connect', () => resolve(socket))
      socket.once('error', reject)
    })
  }

  close(): void {
    for (const agent of [this.#http, this.#https, ...this.#tunnelled.values()]) agent.destroy()
  }

  #agentThrough(proxy: URL, { hostname, port, host }: URL): HttpsAgent {
    const known = this.#tunnelled.get(host)
    if (known) return known
    const agent = new HttpsAgent({ keepAlive: true, timeout: IDLE_MS })
    const name = hostname.replaceAll(/[[\]]/g, '')
    agent.createConnection = (_, done) => {
      const target = { host: name, port: Number(port || 443), ...this.#trusted }
      void connectThrough(proxy, target, (error, socket) => done?.(error, socket as Duplex))
      return undefined
    }
    this.#tunnelled.set(host, agent)
    return agent
  }

  #proxyFor(protocol: string, hostname: string): URL | undefined {
    const host = hostname.replaceAll(/[[\]]/g, '').toLowerCase()
    if (isLoopbackHost(host) || this.#isExempt(host)) return undefined
    const text = this.#read(protocol === 'https:' ? 'https_proxy' : 'http_proxy')
    return usable(text ?? this.#read('all_proxy') ?? '')
  }

  #isExempt(host: string): boolean {
    return (this.#read('no_proxy') ?? '').split(/[\s,]+/).some((entry) => {
      const name = entry
        .toLowerCase()
        .replace(/^\*?\./, '')
        .replace(/:\d+$/, '')
      return name === '*' || (name !== '' && (host === name || host.endsWith(`.${name}`)))
    })
  }

  /** Lower case first, as in curl. */
  #read(name: string): string | undefined {
    return this.#env[name] || this.#env[name.toUpperCase()] || undefined
  }
}

export const isLoopbackHost = (host: string): boolean =>
  host === 'localhost' || host.endsWith('.localhost') || /^127\.|^::1$/.test(host)

/** A bare `host:port` counts as an HTTP proxy. */
function usable(text: string): URL | undefined {
  const url = /^[a-z][\w+.-]*:\/\//i.test(text) ? text : `http://${text}`
  if (text === '' || !/^http:/i.test(url) || !URL.canParse(url)) return undefined
  return new URL(url)
}

function credentials({ username, password }: URL): Record<string, string> {
  if (username === '') return {}
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return { 'Proxy-Authorization': `Basic ${Buffer.from(pair).toString('base64')}` }
}

async function connectThrough(
  proxy: URL,
  { host, port, ...trusted }: { host: string; port: number; secureContext?: SecureContext },
  done: (error: Error | null, socket?: Duplex) => void,
): Promise<void> {
  const socket = await tunnelThrough(proxy, host, port).catch(asError)
  if (socket instanceof Error) return done(socket)
  const servername = isIP(host) === 0 ? { servername: host } : {}
  const secure = tlsConnect({ socket, host, ...servername, ...trusted })
  secure.once('secureConnect', () => done(null, secure))
  secure.once('error', (error: Error) => done(error))
}

export const asError = (error: unknown): Error =>
  error instanceof Error ? error : new Error(String(error))

function tunnelThrough(proxy: URL, host: string, port: number): Promise<Duplex> {
  const target = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const headers = { Host: target, ...credentials(proxy) }
  const { hostname, port: proxyPort } = proxy
  const tunnel = httpRequest({
    host: hostname,
    port: proxyPort || 80,
    method: 'CONNECT',
    path: target,
    headers,
    agent: false,
  })
  return new Promise((resolve, reject) => {
    tunnel.once('connect', ({ statusCode }, socket) => {
      if (statusCode === 200) return resolve(socket)
      socket.destroy()
      reject(new Error(`The proxy ${proxy.host} answered ${statusCode} to CONNECT ${target}`))
    })
    tunnel.once('error', reject)
    tunnel.end()
  })
}
