import http from 'node:http'
import https from 'node:https'
import { dressLike, replace, type Undo, undoAll } from '@retake/engine/hook'
import { currentBounds } from '../current-bounds.js'
import type { CallBounds } from '../../bounds/call-bounds.js'
import { AsyncLocalStorage } from 'node:async_hooks'

/** Set while an HTTP client works inside a guarded call: the connections it opens will speak HTTP. */
const storage = new AsyncLocalStorage<true>()
let isAnnounced = false

export function asHttpWork<T>(work: () => T): T {
  return storage.run(true, work)
}

/** The npm package undici says beforehand that it is about to connect. */
export function announceConnect(): void {
  isAnnounced = true
}

/** True if an HTTP client is about to open the connection. Its writes are checked all the same. */
export function isHttpWork(): boolean {
  const wasAnnounced = isAnnounced
  isAnnounced = false
  return wasAnnounced || storage.getStore() === true
}

const poolKeys = new WeakMap<CallBounds, string>()
let count = 0

/** The part of a connection store that belongs to a guarded call: its connections are nobody else's. */
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

/** Requests of `http` and `https` in guarded calls are judged before anything is opened for them. */
export function patchHttpRequests(): Undo {
  const agent = http.Agent.prototype as unknown as {
    addRequest: AddRequest
    getName(options?: object): string
  }
  const { addRequest, getName } = agent
  return undoAll([
    ...[http, https].flatMap((module) =>
      (['request', 'get'] as const).map((name) => patchRequest(module, name)),
    ),
    // Connections are pooled by name: those of others were not judged by the policy of this call.
    replace(agent, 'getName', function (this: http.Agent, options?: object) {
      return getName.call(this, options) + connectionPoolKey(currentBounds())
    }),
    replace(agent, 'addRequest', function (this: http.Agent, request, options, ...rest) {
      const bounds = currentBounds()
      if (bounds.length === 0) return addRequest.call(this, request, options, ...rest)
      try {
        judge(bounds, request, options)
      } catch (error) {
        const failed = request as unknown as { onSocket(socket: null, error: unknown): void }
        return failed.onSocket(null, error)
      }
      return asHttpWork(() => addRequest.call(this, request, options, ...rest))
    } satisfies AddRequest),
  ])
}

function patchRequest(module: object, name: 'request' | 'get'): Undo {
  const native = (module as typeof http)[name] as (...args: unknown[]) => http.ClientRequest
  return replace(
    module,
    name,
    dressLike(
      (...args: unknown[]) =>
        currentBounds().length === 0 ? native(...args) : asHttpWork(() => native(...args)),
      native,
    ),
  )
}

function judge(
  bounds: readonly CallBounds[],
  request: http.ClientRequest,
  options: Record<string, unknown>,
): void {
  // A local socket is judged when it is connected to.
  if (options['socketPath']) return
  const url = urlOf(request, options)
  if (url !== undefined) for (const each of bounds) each.request(request.method, url)
}

/** Target of a request; for a proxy, the target behind it. */
function urlOf(request: http.ClientRequest, options: Record<string, unknown>): URL | undefined {
  const { path, method, protocol } = request
  const text =
    method === 'CONNECT'
      ? `http://${path}`
      : /^[a-z][a-z\d+.-]*:\/\//i.test(path)
        ? path
        : `${protocol}//${hostOf(options)}${path.startsWith('/') ? path : ''}`
  return URL.canParse(text) ? new URL(text) : undefined
}

function hostOf({ host, port }: Record<string, unknown>): string {
  const name = typeof host === 'string' ? host : 'localhost'
  const bare = name.replace(/%.*/s, '')
  return `${name.includes(':') && !name.startsWith('[') ? `[${bare}]` : name}:${String(port)}`
}
