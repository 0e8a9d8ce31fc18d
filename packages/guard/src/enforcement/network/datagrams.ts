import dgram from 'node:dgram'
import dns from 'node:dns'
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
    const endpoint = targetOf(args) ?? remoteOf(this)
    return reach(bounds, this, endpoint, args, () => native.apply(this, args))
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
      const [port, address] = args
      const endpoint = {
        host: typeof address === 'string' ? address : '127.0.0.1',
        port: Number(port),
      }
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
    const callback = args.at(-1)
    process.nextTick(() => {
      if (typeof callback === 'function') callback(error)
      else socket.emit('error', error as Error)
    })
    return undefined
  }
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

/** `send(message, [offset, length,] port, address, callback)`. */
function targetOf([, ...rest]: readonly unknown[]): Goal | undefined {
  const given = rest.filter((each) => typeof each !== 'function')
  const [port, address] = given.length >= 3 ? given.slice(2) : given
  if (port === undefined || port === null) return undefined
  return { host: typeof address === 'string' ? address : '127.0.0.1', port: Number(port) }
}

function remoteOf(socket: dgram.Socket): Goal {
  try {
    const { address, port } = socket.remoteAddress()
    return { host: address, port }
  } catch {
    return { host: '127.0.0.1', port: 0 }
  }
}
