import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type net from 'node:net'
import { type FetchInput, isRequest, natives, type Undo } from '@retake/engine/hook'
import type { CallBounds } from '../../bounds/call-bounds.js'
import { currentBounds } from '../current-bounds.js'
import { isOfCall, lend } from './ended-with-call.js'
import { announceConnect, checkHttpRequest, checkPeer, hiddenIn } from './http-requests.js'

/** `fetch` on behalf of guarded calls: checks the request and each redirect. */
export async function fetchWithin(
  bounds: readonly CallBounds[],
  input: FetchInput,
  init: RequestInit | undefined,
): Promise<Response> {
  const url = urlOf(input)
  const method = init?.method ?? (isRequest(input) ? input.method : 'GET')
  if (url !== undefined && !LOCAL.test(url.protocol))
    for (const each of bounds) each.request(method, url)
  return natives.fetch(input, { ...init, ...hopsWithin(bounds, input, init) })
}

/** Protocols that connect to nothing. */
const LOCAL = /^(?:data|blob|about):$/

/** A dispatcher for one `fetch`, called once for every hop. */
function hopsWithin(
  bounds: readonly CallBounds[],
  input: FetchInput,
  init: RequestInit | undefined,
): Pick<RequestInit, 'dispatcher'> {
  divideSharedPool()
  const given = (init as { dispatcher?: Dispatcher } | undefined)?.dispatcher
  const dispatcher = given ?? ofRequest(input) ?? sharedDispatcher()
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

/** A request stores its dispatcher under a symbol. */
function ofRequest(input: FetchInput): Dispatcher | undefined {
  return isRequest(input) ? (hiddenIn(input, 'dispatcher') as Dispatcher) : undefined
}

function urlOf(input: FetchInput): URL | undefined {
  const text = isRequest(input) ? input.url : String(input)
  return URL.canParse(text) ? new URL(text) : undefined
}

/** The part of undici's dispatchers that is used here. */
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

/** Symbols of the shared pool of undici, both Node's own and the npm package. */
const SHARED = ['undici.globalDispatcher.1', 'undici.globalDispatcher.2'].map((name) =>
  Symbol.for(name),
)
const globals = globalThis as unknown as Record<symbol, Dispatcher | undefined>

const byCall = new WeakMap<CallBounds, Dispatcher>()
/** Divided pools with the shared pool of each. */
const divided = new Map<Dispatcher, Dispatcher>()

/**
 * Divides undici's shared pool: each guarded call gets its own, so that it neither uses connections
 * of others nor leaves connections to them. The returned undo includes pools that are divided later.
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

/** A dispatcher like `original` with another `dispatch`. */
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

const sharedDispatcher = (): Dispatcher | undefined =>
  SHARED.map((key) => globals[key]).find((each) => each !== undefined)

function poolOf(bounds: readonly CallBounds[], shared: Dispatcher): Dispatcher {
  const innermost = bounds.at(-1)
  if (innermost === undefined) return shared
  let pool = byCall.get(innermost)
  if (pool === undefined) byCall.set(innermost, (pool = likeOther(shared)))
  return pool
}

/** Dispatchers other than agents, such as mocks, cannot be copied and stay shared. */
function likeOther(shared: Dispatcher): Dispatcher {
  const { constructor } = shared as { constructor: Function }
  if (!/^(?:Env)?(?:HttpProxy)?Agent$/.test(constructor.name)) return shared
  const given = hiddenIn(shared, 'options') as object | undefined
  return Reflect.construct(constructor, given ? [{ ...given }] : []) as Dispatcher
}

interface UndiciRequest {
  readonly method: string
  readonly path: string
  readonly origin: string | URL
  /** Content of the `Host` header, if one was given. */
  readonly host?: string | null
  readonly upgrade?: string | null
}

const boundsOf = new WeakMap<UndiciRequest, readonly CallBounds[]>()
const lentFor = new WeakMap<UndiciRequest, net.Socket>()

/**
 * Requests of undici, both Node's own and the npm package. They wait in queues, so each is
 * remembered with the call that made it, and checked when it is about to be sent.
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
      // The npm package may have been loaded since, with a pool of its own.
      divideSharedPool()
    },
  ],
  [
    'undici:client:sendHeaders',
    (message) => {
      const { request, socket } = message as { request: UndiciRequest; socket: net.Socket }
      const bounds = boundsOf.get(request)
      if (bounds === undefined) lendTo(request, socket)
      else judge(bounds, request, socket)
    },
  ],
  ['undici:request:trailers', giveBack],
  ['undici:request:error', giveBack],
]

function judge(bounds: readonly CallBounds[], request: UndiciRequest, socket: net.Socket): void {
  const { method, path, origin, host, upgrade } = request
  const url = new URL(path, origin)
  const isUpgrade = Boolean(upgrade) && method !== 'CONNECT'
  try {
    checkHttpRequest(bounds, { method, url, host: host ?? undefined, isUpgrade })
    checkPeer(bounds, socket, url.hostname)
  } catch (error) {
    socket.destroy(error as Error)
  }
}

/** Somebody else's request, on a connection that a guarded call has opened. */
function lendTo(request: UndiciRequest, socket: net.Socket): void {
  if (!isOfCall(socket)) return
  lentFor.set(request, socket)
  lend(socket, true)
}

function giveBack(message: unknown): void {
  const { request } = message as { request: UndiciRequest }
  const socket = lentFor.get(request)
  if (socket) lend(socket, false)
}
