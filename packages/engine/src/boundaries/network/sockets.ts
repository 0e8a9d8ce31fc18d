import net from 'node:net'
import tls from 'node:tls'
import { beforeContact } from '../patching/outside-contact.js'
import {
  bindCheck,
  currentCheck,
  currentSession,
  isOwnWork,
  outsideRuns,
} from '../../kernel/scope.js'
import { replace, type Undo, undoAll } from '../patching/patch.js'
import { isTelemetryExport } from '../patching/telemetry.js'
import { noteSharedConnection, TapeConnection } from './tape-connection.js'
import type { Target } from './written-requests.js'
import http from 'node:http'
import type { Session } from '../../kernel/session.js'

/**
 * Every outgoing connection that no higher seam records: `http`, `https`, `ws`, the npm package
 * undici, database clients. `net.connect` and HTTP agents all use `Socket.prototype.connect`.
 */
export function patchSockets(): Undo {
  return undoAll([patchConnect(), patchTls(), watchWrites('_write'), watchWrites('_writev')])
}

/** Connections that were opened outside of every run: their target, and runs in which that is noted. */
const outsideConnections = new WeakMap<
  net.Socket,
  { readonly target: Target; readonly noted: WeakSet<Session> }
>()

/**
 * Notes that a run writes to a connection that was opened outside of it, such as that of a database
 * client that a module creates: its answers are not on the tape.
 */
function watchWrites(method: '_write' | '_writev'): Undo {
  const native = net.Socket.prototype[method] as (...args: unknown[]) => void
  return replace(net.Socket.prototype, method, function (this: net.Socket, ...args: unknown[]) {
    const session = currentSession()
    const connection = session && outsideConnections.get(this)
    if (connection && !connection.noted.has(session)) {
      connection.noted.add(session)
      noteSharedConnection(session, connection.target, 'outside the run')
    }
    native.apply(this, args)
  })
}

/** Node's internal parser for the many argument forms of `net`. */
type NormalizeArgs = (
  args: unknown[],
) => [options: net.NetConnectOpts & { timeout?: number }, callback: (() => void) | null]
const normalizeArgs = (net as unknown as { _normalizeArgs: NormalizeArgs })._normalizeArgs

function patchConnect(): Undo {
  const native = net.Socket.prototype.connect as (...args: unknown[]) => net.Socket
  return replace(net.Socket.prototype, 'connect', function (this: net.Socket, ...args: unknown[]) {
    const session = currentSession()
    const check = currentCheck()
    // net.connect passes its arguments already normalised, as one array.
    const [options, callback] = Array.isArray(args[0])
      ? (args[0] as ReturnType<NormalizeArgs>)
      : normalizeArgs(args)
    if (session === undefined && check === undefined) {
      beforeContact('socket')
      if (!isOwnWork())
        outsideConnections.set(this, { target: targetOf('tcp', options), noted: new WeakSet() })
      return native.apply(this, args)
    }
    if (session === undefined) return check?.connect(this, options, callback, native) as net.Socket
    if (callback) this.once('connect', callback)
    const bound = bindCheck()
    new TapeConnection(session, this, targetOf('tcp', options), () =>
      bound(() => net.connect(options)),
    )
    return this
  })
}

function patchTls(): Undo {
  const native = tls.connect as (...args: unknown[]) => tls.TLSSocket
  return replace(tls, 'connect', (...args: unknown[]) => {
    const session = currentSession()
    if (session === undefined) return native(...args)
    const bound = bindCheck()
    const [normalized, callback] = normalizeArgs(args)
    const options: tls.ConnectionOptions = {
      ...normalized,
      ...(isObject(args[1]) && args[1]),
      ...(isObject(args[2]) && args[2]),
    }
    const socket = new net.Socket()
    if (callback) socket.once('secureConnect', callback)
    const under = options.socket && TapeConnection.adopted.get(options.socket as net.Socket)
    const target = targetOf('tls', under ? { ...under.target, ...options } : options)
    // Makes a client with its own HTTP/2 implementation use HTTP/1.1, which can be parsed and
    // compared.
    const offered = options.ALPNProtocols
    const sent =
      Array.isArray(offered) && offered.includes('h2')
        ? { ...options, ALPNProtocols: offered.filter((protocol) => protocol !== 'h2') }
        : options
    const connect = (over?: net.Socket): net.Socket =>
      bound(() => native({ ...sent, ...(under && { socket: over ?? under.handOver() }) }))
    new TapeConnection(session, socket, target, connect, under)
    return socket
  })
}

function targetOf(kind: 'tcp' | 'tls', options: Record<string, any>): Target {
  if (options['path'] !== undefined && options['port'] === undefined) {
    return { kind: kind === 'tls' ? 'tls' : 'pipe', path: String(options['path']) }
  }
  return {
    kind,
    host: String(options['host'] ?? options['hostname'] ?? options['servername'] ?? 'localhost'),
    port: Number(options['port'] ?? 0),
  }
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/**
 * HTTP agents pool connections. Each run gets its own pool key, so that a request never uses a
 * connection that another run records. Exports of telemetry use connections outside all runs.
 */
export function patchHttpAgent(): Undo {
  const poolKeys = new WeakMap<Session, string>()
  let count = 0
  const native = http.Agent.prototype as unknown as {
    getName(options?: object): string
    addRequest(...args: unknown[]): void
  }
  const { getName, addRequest } = native
  return undoAll([
    replace(native, 'getName', function (this: http.Agent, options?: object) {
      const name = getName.call(this, options)
      const session = currentSession()
      if (session === undefined) return name
      let poolKey = poolKeys.get(session)
      if (poolKey === undefined) poolKeys.set(session, (poolKey = `:run${++count}`))
      return name + poolKey
    }),
    replace(native, 'addRequest', function (this: http.Agent, ...args: unknown[]) {
      const session = currentSession()
      const add = (): void => addRequest.apply(this, args)
      // Not inside a guarded tool, whose connections must pass its check.
      const isExport = session && currentCheck() === undefined && isTelemetryExport(session)
      return isExport ? outsideRuns(add) : add()
    }),
  ])
}
