import http from 'node:http'
import https from 'node:https'
import net from 'node:net'
import tls from 'node:tls'
import { dressLike, replace, type Undo, undoAll } from '@retake/engine/hook'
import { currentBounds } from '../current-bounds.js'
import type { CallBounds } from '../../bounds/call-bounds.js'
import { isOfCall } from './ended-with-call.js'
import { AsyncLocalStorage } from 'node:async_hooks'

/** Set while an HTTP client works inside a guarded call: connections it opens will speak HTTP. */
const storage = new AsyncLocalStorage<true>()
let isAnnounced = false

export function asHttpWork<T>(work: () => T): T {
  return storage.run(true, work)
}

/** The npm package undici announces that it is about to connect. */
export function announceConnect(): void {
  isAnnounced = true
}

/** True if an HTTP client is about to open the connection. */
export function isHttpWork(): boolean {
  const wasAnnounced = isAnnounced
  isAnnounced = false
  return wasAnnounced || storage.getStore() === true
}

const poolKeys = new WeakMap<CallBounds, string>()
let count = 0

/** Separates the pooled connections of a guarded call from those of others. */
function connectionPoolKey(bounds: readonly CallBounds[]): string {
  const innermost = bounds.at(-1)
  if (innermost === undefined) return ''
  let key = poolKeys.get(innermost)
  if (key === undefined) poolKeys.set(innermost, (key = `:call${++count}`))
  return key
}

type AddRequest = (
  this: http.Agent,
  request: http.ClientRequest,
  options: Record<string, unknown>,
  ...rest: unknown[]
) => void

type OnSocket = (this: http.ClientRequest, socket: unknown, error?: unknown) => void

const checked = new WeakSet<http.ClientRequest>()

/** Requests of `http` and `https` in guarded calls are checked before anything is opened for them. */
export function patchHttpRequests(): Undo {
  const agent = http.Agent.prototype as unknown as {
    addRequest: AddRequest
    getName(options?: object): string
  }
  const { addRequest, getName } = agent
  const client = http.ClientRequest.prototype as unknown as { onSocket: OnSocket }
  const { onSocket } = client
  return undoAll([
    ...[http, https].flatMap((module) =>
      (['request', 'get'] as const).map((name) => patchRequest(module, name)),
    ),
    // Connections are pooled by name: those of others were not checked by the policy of this call.
    replace(agent, 'getName', function (this: http.Agent, options?: object) {
      return getName.call(this, options) + connectionPoolKey(currentBounds())
    }),
    replace(agent, 'addRequest', checkedFirst(addRequest)),
    // A request without an agent uses a socket that it was given.
    replace(client, 'onSocket', function (this: http.ClientRequest, socket, error) {
      const bounds = currentBounds()
      if (bounds.length === 0 || checked.has(this)) return onSocket.call(this, socket, error)
      const refusal = refusalOf(bounds, this) ?? peerRefusal(bounds, this, socket)
      return onSocket.call(this, socket, refusal ?? error)
    } satisfies OnSocket),
    patchTls(),
  ])
}

/** Throws if a connection, which the program may have opened before the call, leads out of scope. */
export function checkPeer(
  bounds: readonly CallBounds[],
  socket: net.Socket | tls.TLSSocket,
  host?: string,
): void {
  const { remoteAddress, remotePort = 0 } = socket
  if (remoteAddress === undefined || isOfCall(socket)) return
  for (const each of bounds) each.address(remoteAddress, remotePort, host ?? remoteAddress)
}

function peerRefusal(
  bounds: readonly CallBounds[],
  request: http.ClientRequest,
  socket: unknown,
): unknown {
  try {
    if (socket instanceof net.Socket) checkPeer(bounds, socket, request.host)
    return undefined
  } catch (refusal) {
    return refusal
  }
}

const checkedFirst = (addRequest: AddRequest): AddRequest =>
  function (this: http.Agent, request, options, ...rest) {
    const bounds = currentBounds()
    if (bounds.length === 0) return addRequest.call(this, request, options, ...rest)
    const refusal = refusalOf(bounds, request, options)
    checked.add(request)
    const { onSocket } = request as unknown as { onSocket: OnSocket }
    if (refusal !== undefined) return onSocket.call(request, null, refusal)
    return asHttpWork(() => addRequest.call(this, request, options, ...rest))
  }

function patchRequest(module: object, name: 'request' | 'get'): Undo {
  const native = (module as typeof http)[name] as (...args: unknown[]) => http.ClientRequest
  const patched = (...args: unknown[]): http.ClientRequest =>
    currentBounds().length === 0
      ? native(...args)
      : asHttpWork(() => native(...args.map(withCheckedAgent)))
  return replace(module, name, dressLike(patched, native))
}

/** TLS may use a socket from before the call. */
function patchTls(): Undo {
  const native = tls.connect as (...args: unknown[]) => tls.TLSSocket
  const patched = (...args: unknown[]): tls.TLSSocket => {
    const options = args.find((each) => typeof each === 'object' && each !== null)
    const { socket, host } = (options ?? {}) as {
      readonly socket?: unknown
      readonly host?: string
    }
    if (socket instanceof net.Socket) checkPeer(currentBounds(), socket, host)
    return native(...args)
  }
  return replace(tls, 'connect', dressLike(patched, native))
}

/** Some agents, such as those for proxies, have an `addRequest` of their own. */
function withCheckedAgent(options: unknown): unknown {
  if (typeof options !== 'object' || options === null || options instanceof URL) return options
  const { agent } = options as { agent?: { addRequest?: AddRequest } }
  if (typeof agent?.addRequest !== 'function') return options
  if (agent.addRequest === (http.Agent.prototype as typeof agent).addRequest) return options
  const value = checkedFirst(agent.addRequest.bind(agent as unknown as http.Agent))
  return { ...options, agent: Object.create(agent, { addRequest: { value } }) as object }
}

function refusalOf(
  bounds: readonly CallBounds[],
  request: http.ClientRequest,
  options?: Record<string, unknown>,
): unknown {
  const { method, path } = request
  const [host = '', ...others] = hostsIn(request)
  const url = urlOf(request, options === undefined ? host : hostOf(options), options)
  if (url === undefined) return undefined
  const isUpgrade = request.hasHeader('upgrade')
  try {
    // A request to a proxy names its target in the path.
    checkHttpRequest(bounds, { method, url, host: path.startsWith('/') ? host : '', isUpgrade })
    for (const other of others)
      for (const each of bounds) each.request(method, Object.assign(new URL(url), { host: other }))
    return undefined
  } catch (refusal) {
    return refusal
  }
}

/** All `Host` headers. A list of headers may have several, which Node writes as they are. */
function hostsIn(request: http.ClientRequest): string[] {
  const { _header: written } = request as unknown as { readonly _header?: string | null }
  return typeof written === 'string'
    ? [...written.matchAll(/^host:[ \t]*(.*?)[ \t]*\r?$/gim)].map(([, host = '']) => host)
    : [String(request.getHeader('host') ?? '')]
}

interface HttpRequest {
  readonly method: string
  readonly url: URL
  /** Content of the `Host` header. */
  readonly host: string | undefined
  readonly isUpgrade: boolean
}

/**
 * Checks a request by where it goes, and by the host that it names: a proxy forwards it there.
 * Throws if it must not be made.
 */
export function checkHttpRequest(
  bounds: readonly CallBounds[],
  { method, url, host, isUpgrade }: HttpRequest,
): void {
  if (isUpgrade) url.protocol = url.protocol.replace('http', 'ws')
  const named = new URL(url)
  if (host) named.host = host
  for (const each of bounds) {
    each.request(method, url)
    if (named.host !== url.host) each.request(method, named)
    // CONNECT only opens a connection.
    if (method !== 'CONNECT') each.sent()
  }
}

/** Target of a request; for a proxy, the target behind it. */
function urlOf(
  { path, method, protocol }: http.ClientRequest,
  host: string,
  { socketPath }: Record<string, unknown> = {},
): URL | undefined {
  if (typeof socketPath === 'string') return new URL(`unix:${socketPath}`)
  const text =
    method === 'CONNECT'
      ? `http://${path}`
      : /^[a-z][a-z\d+.-]*:\/\//i.test(path)
        ? path
        : `${protocol}//${host}${path.startsWith('/') ? path : ''}`
  return URL.canParse(text) ? new URL(text) : undefined
}

function hostOf({ host, port }: Record<string, unknown>): string {
  const name = typeof host === 'string' ? host : 'localhost'
  const bare = name.replace(/%.*/s, '')
  return `${name.includes(':') && !name.startsWith('[') ? `[${bare}]` : name}:${String(port)}`
}

/** A property that Node and undici store under a symbol of this name. */
export function hiddenIn(owner: object, name: string): unknown {
  const key = Object.getOwnPropertySymbols(owner).find(({ description }) => description === name)
  return key && (owner as Readonly<Record<symbol, unknown>>)[key]
}
