import dgram from 'node:dgram'
import dns from 'node:dns'
import net from 'node:net'
import { replace, type Undo, undoAll } from '@retake/engine/hook'
import type { CallBounds } from '../../bounds/call-bounds.js'
import { currentBounds } from '../current-bounds.js'
import { checkedLookup } from './checked-lookup.js'
import { endWithCall, type Endpoint } from './ended-with-call.js'

type Method = (this: dgram.Socket, ...args: unknown[]) => unknown

/** Sockets that guarded calls have created. Those from before a call are not checked. */
const created = new WeakMap<dgram.Socket, { bounds: readonly CallBounds[]; lookup: unknown }>()
let isSending = false

/** Checks where datagrams of guarded calls go: the name, then the address that it means. */
export function patchDatagrams(): Undo {
  const { prototype } = dgram.Socket
  const createSocket = dgram.createSocket as (...args: unknown[]) => dgram.Socket
  const { send, connect, bind } = prototype as unknown as Record<string, Method>
  return undoAll([
    replace(dgram, 'createSocket', (given: unknown, ...rest: unknown[]) => {
      const bounds = currentBounds()
      if (bounds.length === 0) return createSocket(given, ...rest)
      const options = typeof given === 'object' ? { ...given } : { type: given }
      const { lookup = dns.lookup } = options as dgram.SocketOptions
      const socket = createSocket({ ...options, lookup: dns.lookup }, ...rest)
      created.set(socket, { bounds, lookup })
      endWithCall(bounds, {
        once: (event, listener) => socket.once(event, listener),
        destroy: () => socket.close(),
      })
      return socket
    }),
    replace(prototype, 'send', function (this: dgram.Socket, ...args: unknown[]) {
      // `send(message, [offset, length,] port, address, callback)`, distinguished as Node does.
      const isLong = Boolean(args[4]) || (Boolean(args[3]) && typeof args[3] !== 'function')
      return isConnected(this)
        ? send?.apply(this, args)
        : reach(this, args, isLong ? 4 : 2, send as Method)
    }),
    replace(prototype, 'connect', function (this: dgram.Socket, ...args: unknown[]) {
      return reach(this, args, 1, connect as Method)
    }),
    replace(prototype, 'bind', function (this: dgram.Socket, ...args: unknown[]) {
      // Sending also binds a socket, to a random port.
      const { bounds = [] } = (isSending ? undefined : created.get(this)) ?? {}
      for (const each of bounds) each.network((scope) => scope.checkListen())
      return bind?.apply(this, args)
    }),
  ])
}

/** Calls `native` with the checked address in the position of the host. */
function reach(
  socket: dgram.Socket,
  args: readonly unknown[],
  at: number,
  native: Method,
): unknown {
  const { bounds, lookup } = created.get(socket) ?? {}
  if (bounds === undefined) return native.apply(socket, [...args])
  const isV6 = (socket as unknown as { type?: string }).type === 'udp6'
  const given = args[at]
  const host = typeof given === 'string' && given !== '' ? given : isV6 ? '::1' : '127.0.0.1'
  const endpoint: Endpoint = { host, port: Number(args[at - 1]) }
  const refuse = (error: unknown): void => {
    const callback = args.findLast((each) => typeof each === 'function')
    if (callback === undefined) socket.emit('error', error as Error)
    else (callback as (error: unknown) => void)(error)
  }
  const start = (checked: readonly unknown[]): unknown => {
    const before = isSending
    isSending = true
    try {
      return native.apply(socket, [...checked])
    } finally {
      isSending = before
    }
  }
  try {
    for (const each of bounds) each.host(host, endpoint.port, true)
  } catch (error) {
    process.nextTick(refuse, error)
    return undefined
  }
  if (net.isIP(host) > 0) return start(args)
  const family = isV6 ? 6 : 4
  return checkedLookup(bounds, lookup, endpoint)(host, { family }, (error, address) => {
    if (error) refuse(error)
    else start(args.with(at, address))
  })
}

function isConnected(socket: dgram.Socket): boolean {
  try {
    return socket.remoteAddress() !== undefined
  } catch {
    return false
  }
}
