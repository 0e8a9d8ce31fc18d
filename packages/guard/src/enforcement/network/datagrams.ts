import dgram from 'node:dgram'
import dns from 'node:dns'
import net from 'node:net'
import { replace, type Undo, undoAll } from '@retake/engine/hook'
import type { CallBounds } from '../../bounds/call-bounds.js'
import { currentBounds } from '../current-bounds.js'
import { checkedLookup } from './checked-lookup.js'
import { endWithCall } from './watched-sockets.js'

interface Goal {
  readonly host: string
  readonly port: number
}

type Method = (this: dgram.Socket, ...args: unknown[]) => unknown

/** Sockets that guarded calls have made. Their messages are judged also when they leave later. */
const made = new WeakMap<dgram.Socket, readonly CallBounds[]>()
/** Where a socket is being connected to; the look-up may come later. */
const goals = new WeakMap<dgram.Socket, Goal>()
/** Where a message goes whose name is being looked up right now. */
let underWay: Goal | undefined
let isSending = false
let isBinding = false

/** Datagrams of guarded calls: each names where it goes, and is judged by the address it goes to. */
export function patchDatagrams(): Undo {
  const { prototype } = dgram.Socket
  return undoAll([patchCreate(), patchSend(), patchConnect(), patchBind(prototype)])
}

function patchCreate(): Undo {
  const native = dgram.createSocket as (...args: unknown[]) => dgram.Socket
  return replace(dgram, 'createSocket', (given: unknown, ...rest: unknown[]) => {
    const bounds = currentBounds()
    if (bounds.length === 0) return native(given, ...rest)
    const options = typeof given === 'object' ? { ...given } : { type: given }
    const lookup = (options as dgram.SocketOptions).lookup ?? dns.lookup
    const goal = (): Goal | undefined => underWay ?? goals.get(socket)
    const checked = lookupWithin(bounds, lookup, goal)
    const socket = native({ ...options, lookup: checked }, ...rest)
    made.set(socket, bounds)
    endWithCall(bounds, {
      once: (event, listener) => socket.once(event, listener),
      destroy: () => socket.close(),
    })
    return socket
  })
}

/** A look-up does not know the port; it comes from the call that leads to it. */
const lookupWithin =
  (bounds: readonly CallBounds[], lookup: unknown, goal: () => Goal | undefined) =>
  (name: string, family: unknown, answered: never): unknown => {
    const endpoint = goal() ?? { host: name, port: 0 }
    const resolve = isBinding
      ? (lookup as (...args: unknown[]) => unknown)
      : checkedLookup(bounds, lookup, endpoint)
    return resolve(name, family as object, answered)
  }

const boundsOf = (socket: dgram.Socket): readonly CallBounds[] => {
  const own = made.get(socket) ?? []
  return [...own, ...currentBounds().filter((each) => !own.includes(each))]
}

function patchSend(): Undo {
  const native = dgram.Socket.prototype.send as Method
  return replace(dgram.Socket.prototype, 'send', function (this: dgram.Socket, ...args: unknown[]) {
    const bounds = boundsOf(this)
    if (bounds.length === 0) return native.apply(this, args)
    const remote = remoteOf(this)
    if (remote !== undefined)
      return reach(bounds, this, remote, args, () => native.apply(this, args))
    const { at, ...endpoint } = targetOf(this, args)
    return reach(bounds, this, endpoint, args, () =>
      made.has(this) || net.isIP(endpoint.host) > 0
        ? native.apply(this, args)
        : resolveFirst(bounds, this, endpoint, args, (address) =>
            native.apply(this, args.with(at, address)),
          ),
    )
  })
}

function patchConnect(): Undo {
  const native = dgram.Socket.prototype.connect as Method
  return replace(
    dgram.Socket.prototype,
    'connect',
    function (this: dgram.Socket, ...args: unknown[]) {
      const bounds = boundsOf(this)
      if (bounds.length === 0) return native.apply(this, args)
      const endpoint = goalOf(this, args[0], args[1])
      goals.set(this, endpoint)
      return reach(bounds, this, endpoint, args, () => native.apply(this, args))
    },
  )
}

function reach(
  bounds: readonly CallBounds[],
  socket: dgram.Socket,
  endpoint: Goal,
  args: readonly unknown[],
  native: () => unknown,
): unknown {
  try {
    for (const each of bounds) each.host(endpoint.host, endpoint.port, true)
  } catch (error) {
    process.nextTick(() => refused(socket, args, error))
    return undefined
  }
  return sendTo(endpoint, native)
}

function sendTo(endpoint: Goal, native: () => unknown): unknown {
  const before = [underWay, isSending] as const
  underWay = endpoint
  isSending = true
  try {
    return native()
  } finally {
    ;[underWay, isSending] = before
  }
}

/** To bind is to wait for messages; sending does it too, but nobody knows the port then. */
function patchBind(prototype: dgram.Socket): Undo {
  const native = prototype.bind as Method
  return replace(prototype, 'bind', function (this: dgram.Socket, ...args: unknown[]) {
    if (!isSending) for (const each of boundsOf(this)) each.network((scope) => scope.checkListen())
    isBinding = true
    try {
      return native.apply(this, args)
    } finally {
      isBinding = false
    }
  })
}

/**
 * `send(message, [offset, length,] port, address, callback)`, distinguished as Node does: by the
 * values, whatever their number. `at`: the position of the address.
 */
function targetOf(socket: dgram.Socket, args: readonly unknown[]): Goal & { at: number } {
  const isLong = Boolean(args[4]) || (Boolean(args[3]) && typeof args[3] !== 'function')
  const at = isLong ? 4 : 2
  return { ...goalOf(socket, args[at - 1], args[at]), at }
}

/** Without an address, this machine is meant. */
function goalOf(socket: dgram.Socket, port: unknown, address: unknown): Goal {
  const { type } = socket as unknown as { type?: string }
  const local = type === 'udp6' ? '::1' : '127.0.0.1'
  const host = typeof address === 'string' && address !== '' ? address : local
  return { host, port: Number(port) }
}

/** The other end of a connected socket. */
function remoteOf(socket: dgram.Socket): Goal | undefined {
  try {
    const { address, port } = socket.remoteAddress()
    return { host: address, port }
  } catch {
    return undefined
  }
}

/** Sockets from before the call look names up by themselves, so this is done for them. */
function resolveFirst(
  bounds: readonly CallBounds[],
  socket: dgram.Socket,
  endpoint: Goal,
  args: readonly unknown[],
  send: (address: unknown) => unknown,
): void {
  const { type } = socket as unknown as { type?: string }
  const family = type === 'udp6' ? 6 : 4
  checkedLookup(bounds, dns.lookup, endpoint)(endpoint.host, { family }, (error, address) => {
    if (error) refused(socket, args, error)
    else sendTo(endpoint, () => send(address))
  })
}

function refused(socket: dgram.Socket, args: readonly unknown[], error: unknown): void {
  const callback = args.findLast((each) => typeof each === 'function')
  if (callback === undefined) socket.emit('error', error as Error)
  else (callback as (error: unknown) => void)(error)
}
