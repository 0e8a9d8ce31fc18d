import dns from 'node:dns'
import net from 'node:net'
import path from 'node:path'
import { beforeContact, currentSession, replace, type Undo } from '@retake/engine/hook'
import type { CallBounds } from '../../bounds/call-bounds.js'
import { checkedLookup } from './checked-lookup.js'
import { isHttpWork } from './http-requests.js'
import {
  checkOpen,
  type Endpoint,
  endpointOf,
  endWithCall,
  isWatched,
  watchSocket,
} from './watched-sockets.js'
import tls from 'node:tls'
import { currentBounds } from '../current-bounds.js'

type Connect = (this: net.Socket, options: object, callback?: (() => void) | null) => net.Socket

/**
 * Opens a connection on behalf of guarded calls. The host is judged before it is
 * resolved, and every address that may be connected to when it is known. What is
 * judged is what is used: options are read once.
 */
export function connectWithin(
  bounds: readonly CallBounds[],
  socket: net.Socket,
  options: object,
  callback: (() => void) | null,
  native: Connect,
): net.Socket {
  const isHttp = isHttpWork()
  const given = options as Record<string, unknown>
  const { port } = given
  const pipe = asText(given['path'])
  const host = asText(given['host'])
  const endpoint: Endpoint = pipe
    ? { host: '', port: 0, path: socketPath(pipe) }
    : { host: host || 'localhost', port: Number(port) }
  try {
    checkEndpoint(bounds, endpoint, isHttp)
  } catch (error) {
    return refuse(socket, error)
  }
  beforeContact('socket')
  watchSocket(bounds, socket, endpoint)
  const lookup = (given['lookup'] ?? dns.lookup) as typeof dns.lookup
  const own = {
    host,
    port,
    path: pipe || undefined,
    lookup: checkedLookup(bounds, lookup, endpoint),
  }
  const judged = Object.create(given) as object
  for (const [key, value] of Object.entries(own))
    Object.defineProperty(judged, key, { value, writable: true, enumerable: true })
  return native.call(socket, judged, callback)
}

function checkEndpoint(bounds: readonly CallBounds[], endpoint: Endpoint, isHttp: boolean): void {
  const { host, port, path: pipe } = endpoint
  for (const each of bounds) {
    if (pipe !== undefined) {
      each.network((scope) => scope.checkSocket(pipe))
      if (!isHttp) each.network((scope) => scope.checkRaw(pipe))
      continue
    }
    each.host(host, port, !isHttp)
    // No look-up follows.
    if (net.isIP(host) > 0) each.address(host, port, host)
  }
}

/** Read once: an object may say something else the next time. */
const asText = (value: unknown): string | undefined =>
  // oxlint-disable-next-line no-base-to-string
  value === undefined || value === null ? undefined : String(value)

/** Names of abstract sockets start with a zero byte and are no paths. */
const socketPath = (pipe: string): string => (pipe.startsWith('\0') ? pipe : path.resolve(pipe))

/** As Node does when it cannot connect: not before the caller could add listeners. */
export function refuse(socket: net.Socket, error: unknown): net.Socket {
  Object.assign(socket, { connecting: true })
  process.nextTick(() => socket.destroy(error as Error))
  return socket
}

type SecureConnect = (...args: unknown[]) => tls.TLSSocket

/**
 * TLS on behalf of guarded calls. A connection that it opens itself is judged where all
 * are; over one that is given, the handshake would go out without being seen.
 */
export function patchSecureSockets(): Undo {
  const native = tls.connect as SecureConnect
  return replace(tls, 'connect', (...args: unknown[]) => {
    const bounds = currentBounds()
    // A run inside the call opens its own connections, which are judged then.
    return bounds.length === 0 || currentSession() !== undefined
      ? native(...args)
      : secureWithin(bounds, args, native)
  })
}

function secureWithin(
  bounds: readonly CallBounds[],
  args: readonly unknown[],
  native: SecureConnect,
): tls.TLSSocket {
  const under = args.map(givenSocket).find((each) => each !== undefined)
  if (under === undefined) return native(...args)
  if (!isWatched(under)) {
    try {
      checkOpen(bounds, under)
    } catch (error) {
      return refuse(new net.Socket(), error) as tls.TLSSocket
    }
  }
  const socket = native(...args)
  const { remoteAddress: host = '', remotePort: port = 0 } = under
  watchSocket(bounds, socket, endpointOf(under) ?? { host, port })
  return socket
}

function givenSocket(options: unknown): net.Socket | undefined {
  if (typeof options !== 'object' || options === null || !('socket' in options)) return undefined
  return options.socket instanceof net.Socket ? options.socket : undefined
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
