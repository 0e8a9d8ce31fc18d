import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import http from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import net from 'node:net'
import { Duplex } from 'node:stream'
import tls from 'node:tls'
import {
  currentSession,
  dressLike,
  type FetchInput,
  isRequest,
  natives,
  replace,
  type Undo,
  undoAll,
} from '@retake/engine/hook'
import type { CallBounds } from '../../bounds/call-bounds.js'
import { overridesMethod } from '../../bounds/http-writes.js'
import type { Peer } from '../../bounds/network-bounds.js'
import { currentBounds, refusalIn } from '../../bounds/current-bounds.js'
import { announceConnect, asHttpWork, endWithCall, isOfCall, lend } from './sockets.js'
import { announceRequest, watchRequests } from './written-requests.js'

const poolKeys = new WeakMap<CallBounds, string>()
let count = 0

/** Part of a pool name, so that a guarded call does not share connections with other code. */
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

/** Requests that were checked when they were queued. */
const checked = new WeakMap<
  http.ClientRequest,
  { readonly bounds: readonly CallBounds[]; readonly peer: Peer }
>()

/** Checks requests of `http` and `https` in guarded calls before a connection is opened. */
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
      (['request', 'get'] as const).map((name) => {
        const native = (module as typeof http)[name] as (...args: unknown[]) => http.ClientRequest
        const patched = (...args: unknown[]): http.ClientRequest =>
          currentBounds().length === 0
            ? native(...args)
            : asHttpWork(() => native(...args.map(withCheckedAgent)))
        return replace(module, name, dressLike(patched, native))
      }),
    ),
    // Connections are pooled by name. Those of other code were not checked for this call.
    replace(agent, 'getName', function (this: http.Agent, options?: object) {
      return getName.call(this, options) + connectionPoolKey(currentBounds())
    }),
    replace(agent, 'addRequest', checkedFirst(addRequest)),
    // A request without an agent may use any socket.
    replace(client, 'onSocket', function (this: http.ClientRequest, socket, error) {
      const queued = checked.get(this)
      const bounds = queued?.bounds ?? currentBounds()
      if (socket instanceof Duplex) {
        const peer = queued?.peer ?? peerOf(urlOf(this, hostsIn(this)[0] ?? ''))
        announceRequest(socket as net.Socket, bounds, peer)
      }
      if (bounds.length === 0 || queued !== undefined) return onSocket.call(this, socket, error)
      const refusal =
        refusalOf(bounds, this) ??
        refusalIn(() => {
          if (socket instanceof net.Socket) checkPeer(bounds, socket, this.host)
        })
      return onSocket.call(this, socket, refusal ?? error)
    } satisfies OnSocket),
    patchTls(),
  ])
}

/** Throws if a connection that the program opened before the call leads out of scope. */
function checkPeer(
  bounds: readonly CallBounds[],
  socket: net.Socket | tls.TLSSocket,
  host?: string,
): void {
  const { remoteAddress, remotePort = 0 } = socket
  if (remoteAddress === undefined || isOfCall(socket)) return
  for (const each of bounds) each.address(remoteAddress, remotePort, host ?? remoteAddress)
}

const checkedFirst = (addRequest: AddRequest): AddRequest =>
  function (this: http.Agent, request, options, ...rest) {
    const bounds = currentBounds()
    if (bounds.length === 0) return addRequest.call(this, request, options, ...rest)
    const refusal = refusalOf(bounds, request, options)
    checked.set(request, { bounds, peer: peerOf(urlOf(request, hostOf(options), options)) })
    const { onSocket } = request as unknown as { onSocket: OnSocket }
    if (refusal !== undefined) return onSocket.call(request, null, refusal)
    return asHttpWork(() => addRequest.call(this, request, options, ...rest))
  }

/** Checks TLS over a socket that was opened before the call. */
function patchTls(): Undo {
  const native = tls.connect as (...args: unknown[]) => tls.TLSSocket
  const patched = (...args: unknown[]): tls.TLSSocket => {
    const options = args.find((each) => typeof each === 'object' && each !== null)
    const { socket, host } = (options ?? {}) as {
      readonly socket?: unknown
      readonly host?: string
    }
    const bounds = currentBounds()
    if (socket instanceof net.Socket) checkPeer(bounds, socket, host)
    const secured = native(...args)
    // The port behind a proxy is not known here.
    if (bounds.length > 0) watchRequests(secured, bounds, { isSecure: true, host: '' })
    return secured
  }
  return replace(tls, 'connect', dressLike(patched, native))
}

/** Checks agents that override `addRequest`, such as those for proxies. */
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
): Error | undefined {
  const { method, path } = request
  const [host = '', ...others] = hostsIn(request)
  const url = urlOf(request, options === undefined ? host : hostOf(options), options)
  if (url === undefined) return undefined
  const isUpgrade = request.hasHeader('upgrade')
  return refusalIn(() => {
    // A request to a proxy has its target in the path.
    checkHttpRequest(bounds, { method, url, host: path.startsWith('/') ? host : '', isUpgrade })
    for (const other of others)
      for (const each of bounds) each.request(method, Object.assign(new URL(url), { host: other }))
  })
}

/** All `Host` headers. A list of headers may contain several, and Node sends all of them. */
function hostsIn(request: http.ClientRequest): string[] {
  const { _header: written } = request as unknown as { readonly _header?: string | null }
  return typeof written === 'string'
    ? [...written.matchAll(/^host:[ \t]*(.*?)[ \t]*\r?$/gim)].map(([, host = '']) => host)
    : [String(request.getHeader('host') ?? '')]
}

interface HttpRequest {
  readonly method: string
  readonly url: URL
  readonly host: string | undefined
  readonly isUpgrade: boolean
}

/**
 * Checks both the host that a request connects to and the host that it names, to which a proxy would
 * forward it. Throws if either is refused.
 */
function checkHttpRequest(
  bounds: readonly CallBounds[],
  { method, url, host, isUpgrade }: HttpRequest,
): void {
  if (isUpgrade) url.protocol = url.protocol.replace('http', 'ws')
  const named = new URL(url)
  if (host) named.host = host
  for (const each of bounds) {
    each.request(method, url)
    if (named.host !== url.host) each.request(method, named)
    // A CONNECT request only opens a connection.
    if (method !== 'CONNECT') each.sent()
  }
}

/** The target of a request, behind a proxy if there is one. */
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

const peerOf = (url: URL | undefined): Peer => ({
  isSecure: url?.protocol === 'https:' || url?.protocol === 'wss:',
  host: url?.protocol === 'unix:' ? url.href : (url?.host ?? ''),
})

function hostOf({ host, port }: Record<string, unknown>): string {
  const name = typeof host === 'string' ? host : 'localhost'
  const bare = name.replace(/%.*/s, '')
  return `${name.includes(':') && !name.startsWith('[') ? `[${bare}]` : name}:${String(port)}`
}

/** The value that Node or undici stores under a symbol with this description. */
function symbolProperty(owner: object, name: string): unknown {
  const key = Object.getOwnPropertySymbols(owner).find(({ description }) => description === name)
  return key && (owner as Readonly<Record<symbol, unknown>>)[key]
}

type Session = http2.ClientHttp2Session
type Headers = http2.OutgoingHttpHeaders | readonly string[]

const origins = new WeakMap<Session, URL>()

/** Ends an HTTP/2 session with the call that opened it, and checks each request on any session. */
export function patchHttp2Sessions(): Undo {
  const connect = http2.connect as (...args: unknown[]) => Session
  // Node does not export the class, so its prototype is taken from a dummy session.
  const sink = new Duplex({ read: () => {}, write: (_chunk, _encoding, done) => done() })
  const session = http2.connect('http://localhost', { createConnection: () => sink })
  session.on('error', () => {})
  session.destroy()
  let prototype = Object.getPrototypeOf(session) as Session
  while (!Object.hasOwn(prototype, 'request'))
    prototype = Object.getPrototypeOf(prototype) as Session

  const { request } = prototype
  return undoAll([
    replace(http2, 'connect', (authority: string | URL, ...rest: unknown[]): Session => {
      // A run inside the call opens the connection itself, and it is checked then.
      if (currentSession() !== undefined) return connect(authority, ...rest)
      const bounds = currentBounds()
      const open = (): Session => connect(authority, ...rest)
      const session = bounds.length === 0 ? open() : asHttpWork(open)
      origins.set(session, new URL(authority))
      if (bounds.length > 0) endWithCall(bounds, session)
      return session
    }),
    replace(prototype, 'request', function (this: Session, ...args: Parameters<typeof request>) {
      const bounds = currentBounds()
      if (bounds.length > 0) {
        const origin = origins.get(this) ?? originOf(this)
        checkStream(bounds, origin, args[0] ?? {})
        if (!this.destroyed) checkPeer(bounds, this.socket, origin.hostname)
      }
      return request.apply(this, args)
    }),
  ])
}

/** Origin of a session that was opened before the first guard, as Node stores it. */
function originOf(session: Session): URL {
  const [protocol = 'https:', authority = 'unknown.invalid'] = ['protocol', 'authority'].map(
    (name) => symbolProperty(session, name) as string | undefined,
  )
  return new URL(`${protocol}//${authority}`)
}

/** Throws if a request with these headers is refused. */
export function checkStream(bounds: readonly CallBounds[], origin: URL, headers: Headers): void {
  if (bounds.length === 0) return
  // Headers with their names in lower case, as they are sent.
  const given: [string, Header | readonly Header[]][] = Array.isArray(headers)
    ? (headers as readonly string[]).flatMap((name, index, all) =>
        index % 2 === 0 ? [[name, all[index + 1]]] : [],
      )
    : Object.entries(headers as http2.OutgoingHttpHeaders)
  const fields = given.flatMap(([name, values]) =>
    [values]
      .flat()
      .filter((value) => value !== undefined && value !== null)
      .map((value): [string, string] => [name.toLowerCase(), String(value)]),
  )
  const valuesOf = (...names: string[]): string[] =>
    names.flatMap((wanted) => fields.flatMap(([name, value]) => (name === wanted ? [value] : [])))
  const [method = 'GET', ...others] = valuesOf(':method')
  const [path = '/'] = valuesOf(':path')
  const hosts = valuesOf(':authority', 'host')
  const target = `${origin.origin}${path}`
  const url = new URL(URL.canParse(target) ? target : origin)
  checkHttpRequest(bounds, {
    method,
    url: new URL(url),
    host: hosts[0],
    isUpgrade: valuesOf(':protocol').includes('websocket'),
  })
  const overrides = fields.flatMap(([name, value]) => (overridesMethod(name) ? [value] : []))
  const written = method === 'CONNECT' ? (hosts[0] ?? '') : path
  const head = { method, target: written, hosts, overrides: [...others, ...overrides] }
  for (const each of bounds) each.network((scope) => scope.checkWritten(head, peerOf(url)))
}

type Header = string | number | null | undefined

/** Runs `fetch` for guarded calls. Checks the request and each redirect. */
export async function fetchWithin(
  bounds: readonly CallBounds[],
  input: FetchInput,
  init: RequestInit | undefined,
): Promise<Response> {
  const text = isRequest(input) ? input.url : String(input)
  const url = URL.canParse(text) ? new URL(text) : undefined
  const method = init?.method ?? (isRequest(input) ? input.method : 'GET')
  if (url !== undefined && !LOCAL.test(url.protocol))
    for (const each of bounds) each.request(method, url)
  return natives.fetch(input, { ...init, ...hopsWithin(bounds, input, init) })
}

/** Schemes that do not connect to anything. */
const LOCAL = /^(?:data|blob|about):$/

/** A dispatcher for one `fetch`, which undici calls for every hop. */
function hopsWithin(
  bounds: readonly CallBounds[],
  input: FetchInput,
  init: RequestInit | undefined,
): Pick<RequestInit, 'dispatcher'> {
  divideSharedPool()
  const given = (init as { dispatcher?: Dispatcher } | undefined)?.dispatcher
  // The dispatcher that was passed to the constructor of the request.
  const dispatcher =
    given ??
    (isRequest(input) ? (symbolProperty(input, 'dispatcher') as Dispatcher) : undefined) ??
    SHARED.map((key) => globals[key]).find((each) => each !== undefined)
  if (dispatcher === undefined) return {}
  let from: URL | undefined
  const checked = withDispatch(dispatcher, (options, handler) => {
    const url = new URL(options.path, options.origin)
    const method = options.method ?? 'GET'
    const before = from
    from = url
    for (const each of bounds) {
      if (before === undefined) each.request(method, url)
      else each.network((scope) => scope.checkRedirect(method, url, before))
    }
    return dispatcher.dispatch(options, handler)
  })
  return { dispatcher: checked } as unknown as Pick<RequestInit, 'dispatcher'>
}

/** The part of undici's dispatcher interface that is used here. */
interface Dispatcher {
  dispatch(options: DispatchOptions, handler: unknown): boolean
  close?(...args: unknown[]): unknown
  destroy?(...args: unknown[]): unknown
}

interface DispatchOptions {
  readonly method?: string
  readonly path: string
  readonly origin?: string | URL
}

/** Symbols of undici's shared pools: Node's own and that of the npm package. */
const SHARED = ['undici.globalDispatcher.1', 'undici.globalDispatcher.2'].map((name) =>
  Symbol.for(name),
)
const globals = globalThis as unknown as Record<symbol, Dispatcher | undefined>

const byCall = new WeakMap<CallBounds, Dispatcher>()
/** Shared pools by the divided pool that replaces them. */
const divided = new Map<Dispatcher, Dispatcher>()

/**
 * Divides undici's shared pool, so that a guarded call neither uses connections of other code nor
 * leaves connections to it. The returned undo includes pools that are divided later.
 */
function divideSharedPool(): Undo {
  for (const key of SHARED) {
    const shared = globals[key]
    if (shared === undefined || divided.has(shared)) continue
    const pools = withDispatch(shared, (options, handler) =>
      poolOf(currentBounds(), shared).dispatch(options, handler),
    )
    divided.set(pools, shared)
    globals[key] = pools
  }
  return shareAgain
}

function shareAgain(): void {
  for (const key of SHARED) {
    const shared = globals[key] && divided.get(globals[key])
    if (shared !== undefined) globals[key] = shared
  }
  divided.clear()
}

function withDispatch(
  original: Dispatcher,
  dispatch: (options: DispatchOptions, handler: unknown) => boolean,
): Dispatcher {
  const changed = Object.create(original) as Dispatcher
  const own = {
    dispatch,
    close: (...args: unknown[]) => original.close?.(...args),
    destroy: (...args: unknown[]) => original.destroy?.(...args),
  }
  for (const [name, value] of Object.entries(own))
    Object.defineProperty(changed, name, { value, writable: true, configurable: true })
  return changed
}

/** A new pool with the same options. Dispatchers other than agents, such as mocks, stay shared. */
function poolOf(bounds: readonly CallBounds[], shared: Dispatcher): Dispatcher {
  const innermost = bounds.at(-1)
  if (innermost === undefined) return shared
  let pool = byCall.get(innermost)
  if (pool !== undefined) return pool
  pool = shared
  const { constructor } = shared as { constructor: Function }
  if (/^(?:Env)?(?:HttpProxy)?Agent$/.test(constructor.name)) {
    const given = symbolProperty(shared, 'options') as object | undefined
    pool = Reflect.construct(constructor, given ? [{ ...given }] : []) as Dispatcher
  }
  byCall.set(innermost, pool)
  return pool
}

interface UndiciRequest {
  readonly method: string
  readonly path: string
  readonly origin: string | URL
  /** Value of the `Host` header, if one was given. */
  readonly host?: string | null
  readonly upgrade?: string | null
}

const boundsOf = new WeakMap<UndiciRequest, readonly CallBounds[]>()
const lentFor = new WeakMap<UndiciRequest, net.Socket>()

/**
 * Checks requests of undici: Node's own and the npm package. Requests wait in queues, so each is
 * stored with the call that made it and checked right before it is sent.
 */
export function watchUndici(): Undo {
  const undivide = divideSharedPool()
  for (const [channel, listener] of LISTENERS) subscribe(channel, listener)
  return () => {
    for (const [channel, listener] of LISTENERS) unsubscribe(channel, listener)
    undivide()
  }
}

const LISTENERS: readonly (readonly [channel: string, listener: (message: unknown) => void])[] = [
  [
    'undici:client:beforeConnect',
    () => {
      if (currentBounds().length > 0) announceConnect()
    },
  ],
  [
    'undici:request:create',
    (message) => {
      const bounds = currentBounds()
      if (bounds.length === 0) return
      boundsOf.set((message as { request: UndiciRequest }).request, bounds)
      // The npm package may have been loaded since, with its own pool.
      divideSharedPool()
    },
  ],
  [
    'undici:client:sendHeaders',
    (message) => {
      const { request, socket } = message as { request: UndiciRequest; socket: net.Socket }
      const bounds = boundsOf.get(request)
      if (bounds !== undefined) return judge(bounds, request, socket)
      // Other code sends a request on a connection that a guarded call opened.
      announceRequest(socket, [], { isSecure: false, host: '' })
      if (!isOfCall(socket)) return
      lentFor.set(request, socket)
      lend(socket, true)
    },
  ],
  ['undici:request:trailers', giveBack],
  ['undici:request:error', giveBack],
]

function judge(bounds: readonly CallBounds[], request: UndiciRequest, socket: net.Socket): void {
  const { method, path, origin, host, upgrade } = request
  const url = new URL(path, origin)
  const isUpgrade = Boolean(upgrade) && method !== 'CONNECT'
  const refusal = refusalIn(() => {
    checkHttpRequest(bounds, { method, url, host: host ?? undefined, isUpgrade })
    checkPeer(bounds, socket, url.hostname)
  })
  if (refusal) socket.destroy(refusal)
  else announceRequest(socket, bounds, peerOf(url))
}

function giveBack(message: unknown): void {
  const { request } = message as { request: UndiciRequest }
  const socket = lentFor.get(request)
  if (socket) lend(socket, false)
}
