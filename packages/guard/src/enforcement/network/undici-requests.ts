import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type net from 'node:net'
import type { Undo } from '@retake/engine/hook'
import type { CallBounds } from '../../bounds/call-bounds.js'
import { currentBounds } from '../current-bounds.js'
import { divideSharedPool } from './call-dispatcher.js'
import { announceConnect } from './http-work.js'
import { checkOpen, isWatchedBy, isWatched, lend } from './watched-sockets.js'

interface UndiciRequest {
  readonly method: string
  readonly path: string
  readonly origin: string | URL
}

const boundsOf = new WeakMap<UndiciRequest, readonly CallBounds[]>()
const lentFor = new WeakMap<UndiciRequest, net.Socket>()

/**
 * Requests of undici, both Node's own and the npm package. They wait in queues and travel
 * on connections that anybody may have opened: each is remembered with the call that made
 * it, and judged with its connection when it is about to be sent. Costs nothing
 * before the first policy with a network scope.
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
      // The package may have come with a pool of its own after the policy was read.
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
  try {
    const url = new URL(request.path, request.origin)
    for (const each of bounds) {
      each.request(request.method, url)
      if (!isWatchedBy(each, socket)) checkOpen([each], socket)
    }
  } catch (error) {
    socket.destroy(error as Error)
  }
}

/** Somebody else's request, on a connection that a guarded call has opened. */
function lendTo(request: UndiciRequest, socket: net.Socket): void {
  if (!isWatched(socket)) return
  lentFor.set(request, socket)
  lend(socket, true)
}

function giveBack(message: unknown): void {
  const { request } = message as { request: UndiciRequest }
  const socket = lentFor.get(request)
  if (socket) lend(socket, false)
}
