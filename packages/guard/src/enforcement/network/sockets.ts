import { AsyncLocalStorage } from 'node:async_hooks'
import dgram from 'node:dgram'
import dns, { type LookupAddress, type LookupOptions } from 'node:dns'
import net from 'node:net'
import { constants } from 'node:os'
import path from 'node:path'
import type { TLSSocket } from 'node:tls'
import { attempt } from '@retake/tape/format'
import { beforeContact, replace, type Undo, undoAll } from '@retake/engine/hook'
import { type CallBounds, endWith, ignoreIfUncaught } from '../../bounds/call-bounds.js'
import { endpointText } from '../../bounds/network-bounds.js'
import { GuardError, guardErrors } from '../../denials/guard-error.js'
import { checkFirst, currentBounds, refusalIn } from '../../bounds/current-bounds.js'
import { watchRequests } from './written-requests.js'

interface Endpoint {
  readonly host: string
  readonly port: number
}

interface Ending {
  once(event: 'close', listener: () => void): unknown
  destroy(error?: Error): unknown
}

/** Sockets of guarded calls that currently send a request of other code. */
const lent = new WeakSet<object>()
const opened = new WeakSet<object>()

/** Ends a connection with the call that opened it. */
export function endWithCall(bounds: readonly CallBounds[], socket: Ending): void {
  opened.add(socket)
  const end = ({ tool }: CallBounds): void => {
    if (lent.has(socket)) return
    // Looks like a connection reset, which clients ignore while they close a connection.
    const cause = new GuardError(guardErrors.GUARD_CALL_OVER(tool))
    const fields = { code: 'ECONNRESET', errno: -constants.errno.ECONNRESET, syscall: 'read' }
    const error = Object.assign(new Error(cause.message, { cause }), fields)
    ignoreIfUncaught(error)
    socket.destroy(error)
  }
  socket.once('close', endWith(bounds, end))
}

export const isOfCall = (socket: net.Socket): boolean => opened.has(socket)

export function lend(socket: net.Socket, isLent: boolean): void {
  if (isLent) lent.add(socket)
  else lent.delete(socket)
}

/** Set while an HTTP client works inside a guarded call. Its connections will use HTTP. */
const httpWork = new AsyncLocalStorage<true>()
let isAnnounced = false

export const asHttpWork = <T>(work: () => T): T => httpWork.run(true, work)

/** Called when the npm package undici is about to connect. */
export function announceConnect(): void {
  isAnnounced = true
}

/** Checks a DNS query, which reveals the name to other servers. */
export function checkQuery(
  bounds: readonly CallBounds[],
  name: string,
  [host]: readonly unknown[],
): Error | undefined {
  if (typeof host !== 'string' || host === '') return undefined
  const isBackwards = name === 'reverse' || name === 'lookupService'
  return refusalIn(() => {
    for (const each of bounds) {
      if (isBackwards) each.host(host, 0, false)
      else each.network((scope) => scope.checkLookup(host))
    }
  })
}

const DNS_PORT = 53

export function patchNameServers(): Undo {
  const resolver = Object.getPrototypeOf(dns.Resolver.prototype) as object
  return undoAll(
    [dns, dns.promises, resolver].map((target) =>
      checkFirst(target, 'setServers', (each, [servers]) => {
        for (const server of Array.isArray(servers) ? servers.map(String) : []) {
          const [, bracketed, plain, port] =
            /^(?:\[(.+)\]|([^:]+|.*:.*:.*?))(?::(\d+))?$/.exec(server) ?? []
          each.host(bracketed ?? plain ?? server, Number(port ?? DNS_PORT), true)
        }
      }),
    ),
  )
}

type Answered = (error: Error | null, address?: unknown, family?: number) => void
type Lookup = (host: string, options: LookupOptions, answered: Answered) => unknown

/**
 * A lookup that checks its results, so that the checked address is the one that is used. One
 * forbidden address is enough to refuse a name, except `localhost`, which has one per family.
 */
const checkedLookup =
  (bounds: readonly CallBounds[], lookup: unknown, endpoint: Endpoint): Lookup =>
  (name, options, answered) =>
    (lookup as Lookup)(name, options, (error, found, family) => {
      if (error) return answered(error)
      let used = Array.isArray(found) ? (found as readonly LookupAddress[]) : undefined
      // oxlint-disable-next-line no-base-to-string
      const single = String(found)
      const refusal = refusalIn(() => {
        used &&= usableOf(bounds, used, endpoint)
        for (const address of used?.map((each) => each.address) ?? [single])
          for (const each of bounds) each.address(address, endpoint.port, endpoint.host)
      })
      if (refusal) answered(refusal)
      else answered(null, used ?? single, family)
    })

function usableOf(
  bounds: readonly CallBounds[],
  found: readonly LookupAddress[],
  { host, port }: Endpoint,
): readonly LookupAddress[] {
  if (!/^(?:.+\.)?localhost\.?$/i.test(host)) return found
  const scopes = bounds.flatMap((each) => each.scopes)
  const allowed = found.filter(({ address }) =>
    scopes.every(({ network }) => !network?.checkAddress(address, port, host)),
  )
  return allowed.length > 0 ? allowed : found
}

type Connect = (this: net.Socket, options: object, callback?: (() => void) | null) => net.Socket

/**
 * Opens a connection for guarded calls. Checks the host before it is resolved, and every resolved
 * address.
 */
export function connectWithin(
  bounds: readonly CallBounds[],
  socket: net.Socket,
  options: object,
  callback: (() => void) | null,
  native: Connect,
): net.Socket {
  // Whether an HTTP client is about to open the connection.
  const wasAnnounced = isAnnounced
  isAnnounced = false
  const isHttp = wasAnnounced || httpWork.getStore() === true
  const {
    path: pipe,
    host: given,
    port: number,
    lookup = dns.lookup,
  } = options as Partial<net.IpcSocketConnectOpts> & Partial<net.TcpSocketConnectOpts>
  const [host, port] = [given || 'localhost', Number(number)]
  const refusal = refusalIn(() => {
    for (const each of bounds) {
      if (pipe) {
        // The name of an abstract socket starts with a null byte and is not a path.
        const location = pipe.startsWith('\0') ? pipe : path.resolve(pipe)
        each.network((scope) => scope.checkSocket(location))
        if (!isHttp) each.network((scope) => scope.checkRaw(location))
      } else {
        each.host(host, port, !isHttp)
        // An address is not looked up, so it is checked here.
        if (net.isIP(host) > 0) each.address(host, port, host)
      }
    }
  })
  if (refusal) {
    // Fails like Node: after the caller had a chance to add listeners.
    Object.assign(socket, { connecting: true })
    process.nextTick(() => socket.destroy(refusal))
    return socket
  }
  beforeContact('socket')
  endWithCall(bounds, socket)
  watchRequests(socket, bounds, {
    isSecure: (socket as Partial<TLSSocket>).encrypted === true,
    host: pipe ? `unix:${pipe}` : endpointText(host, port),
  })
  const checked = {
    value: checkedLookup(bounds, lookup, { host, port }),
    writable: true,
    enumerable: true,
  }
  return native.call(socket, Object.create(options, { lookup: checked }) as object, callback)
}

type Listen = (this: net.Server, ...args: unknown[]) => net.Server

/** A guarded call with a network scope may not listen. Without one, its server ends with the call. */
export function patchListening(): Undo {
  const native = net.Server.prototype.listen as Listen
  return replace(net.Server.prototype, 'listen', function (this: net.Server, ...args: unknown[]) {
    const bounds = currentBounds()
    if (bounds.length === 0) return native.apply(this, args)
    const refusal = refusalIn(() => {
      checkListening(bounds)
      // A local socket is an entry of a folder.
      const [first] = args
      const { path: named } = (first ?? {}) as { readonly path?: unknown }
      const pipe = typeof first === 'string' && Number.isNaN(Number(first)) ? first : named
      if (typeof pipe === 'string' && !pipe.startsWith('\0'))
        for (const each of bounds) each.file('write', pipe)
    })
    if (refusal) {
      process.nextTick(() => this.emit('error', refusal))
      return this
    }
    endWithCall(bounds, {
      once: (event, listener) => this.once(event, listener),
      destroy: () => this.close(),
    })
    return native.apply(this, args)
  })
}

function checkListening(bounds: readonly CallBounds[]): void {
  for (const each of bounds) each.network((scope) => scope.checkListen())
}

type Method = (this: dgram.Socket, ...args: unknown[]) => unknown

/** Datagram sockets created by guarded calls. Older sockets are not checked. */
const created = new WeakMap<dgram.Socket, { bounds: readonly CallBounds[]; lookup: unknown }>()
let isSending = false

/** Checks the destination of datagrams: the name, then the resolved address. */
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
      return attempt(() => this.remoteAddress() !== undefined, false)
        ? send?.apply(this, args)
        : sendToChecked(this, args, isLong ? 4 : 2, send as Method)
    }),
    replace(prototype, 'connect', function (this: dgram.Socket, ...args: unknown[]) {
      return sendToChecked(this, args, 1, connect as Method)
    }),
    replace(prototype, 'bind', function (this: dgram.Socket, ...args: unknown[]) {
      // Sending also binds the socket, to a random port.
      if (!isSending) checkListening(created.get(this)?.bounds ?? [])
      return bind?.apply(this, args)
    }),
  ])
}

/** Checks the host at index `at` of the arguments, and replaces it by the checked address. */
function sendToChecked(
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
  const port = Number(args[at - 1])
  const refuse = (error: Error): void => {
    const callback = args.findLast((each) => typeof each === 'function')
    if (callback === undefined) socket.emit('error', error)
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
  const refusal = refusalIn(() => {
    for (const each of bounds) each.host(host, port, true)
  })
  if (refusal) return process.nextTick(refuse, refusal)
  if (net.isIP(host) > 0) return start(args)
  const family = isV6 ? 6 : 4
  return checkedLookup(bounds, lookup, { host, port })(host, { family }, (error, address) => {
    if (error) refuse(error)
    else start(args.with(at, address))
  })
}
