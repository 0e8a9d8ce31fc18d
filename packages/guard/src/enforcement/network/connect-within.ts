import dns from 'node:dns'
import net from 'node:net'
import path from 'node:path'
import { beforeContact, replace, type Undo } from '@retake/engine/hook'
import type { CallBounds } from '../../bounds/call-bounds.js'
import { currentBounds } from '../current-bounds.js'
import { checkedLookup } from './checked-lookup.js'
import { endWithCall, type Endpoint } from './ended-with-call.js'
import { isHttpWork } from './http-requests.js'

type Connect = (this: net.Socket, options: object, callback?: (() => void) | null) => net.Socket

/**
 * Opens a connection on behalf of guarded calls. The host is checked before it is resolved, and
 * every address that may be connected to as soon as it is known.
 */
export function connectWithin(
  bounds: readonly CallBounds[],
  socket: net.Socket,
  options: object,
  callback: (() => void) | null,
  native: Connect,
): net.Socket {
  const isHttp = isHttpWork()
  const {
    path: pipe,
    host,
    port,
    lookup = dns.lookup,
  } = options as Partial<net.IpcSocketConnectOpts> & Partial<net.TcpSocketConnectOpts>
  const endpoint: Endpoint = { host: host || 'localhost', port: Number(port) }
  try {
    for (const each of bounds) {
      if (pipe) checkPipe(each, pipe, isHttp)
      else {
        each.host(endpoint.host, endpoint.port, !isHttp)
        // No look-up follows.
        if (net.isIP(endpoint.host) > 0) each.address(endpoint.host, endpoint.port, endpoint.host)
      }
    }
  } catch (error) {
    // As Node does when it cannot connect: not before the caller could add listeners.
    Object.assign(socket, { connecting: true })
    process.nextTick(() => socket.destroy(error as Error))
    return socket
  }
  beforeContact('socket')
  endWithCall(bounds, socket)
  const checked = {
    value: checkedLookup(bounds, lookup, endpoint),
    writable: true,
    enumerable: true,
  }
  return native.call(socket, Object.create(options, { lookup: checked }) as object, callback)
}

function checkPipe(bounds: CallBounds, pipe: string, isHttp: boolean): void {
  // Names of abstract sockets start with a zero byte and are not paths.
  const location = pipe.startsWith('\0') ? pipe : path.resolve(pipe)
  bounds.network((scope) => scope.checkSocket(location))
  if (!isHttp) bounds.network((scope) => scope.checkRaw(location))
}

type Listen = (this: net.Server, ...args: unknown[]) => net.Server

/** Under a network scope a guarded call may not listen; without one its server ends with it. */
export function patchListening(): Undo {
  const native = net.Server.prototype.listen as Listen
  return replace(net.Server.prototype, 'listen', function (this: net.Server, ...args: unknown[]) {
    const bounds = currentBounds()
    if (bounds.length === 0) return native.apply(this, args)
    try {
      for (const each of bounds) each.network((scope) => scope.checkListen())
    } catch (error) {
      process.nextTick(() => this.emit('error', error))
      return this
    }
    endWithCall(bounds, {
      once: (event, listener) => this.once(event, listener),
      destroy: () => this.close(),
    })
    return native.apply(this, args)
  })
}
