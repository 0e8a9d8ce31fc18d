import net from 'node:net'
import { constants } from 'node:os'
import type { CallBounds } from '../../bounds/call-bounds.js'
import { GuardError } from '../../guard-error.js'
import { guardErrors } from '../../guard-errors.js'
import { expectUnheard } from '../../bounds/unheard-refusals.js'
import { replace, type Undo, undoAll } from '@retake/engine/hook'
import { currentBounds } from '../current-bounds.js'
import { type Http1RequestHead, Http1Scanner } from '@retake/tape/format'

/** Where a socket leads. */
export interface Endpoint {
  readonly host: string
  readonly port: number
  /** A socket or pipe of this machine. */
  readonly path?: string
}

/**
 * Looks at what guarded calls write to one connection. Where HTTP is spoken, every request
 * is judged by its method and by the host it names, which need not be the one
 * connected to: a proxy forwards requests.
 */
class SocketWatch {
  readonly #scanner = new Http1Scanner('request', {
    onHead: (head) => {
      this.#isInMessage = true
      this.#judge(head)
    },
    dropBodies: true,
  })
  #isInMessage = false
  #isOpaque = false

  constructor(
    readonly bounds: readonly CallBounds[],
    readonly socket: net.Socket,
    readonly endpoint: Endpoint,
  ) {}

  /** Throws when these bytes must not leave. */
  check(bytes: Uint8Array): void {
    if (this.#isOpaque || bytes.length === 0) return
    if (this.#scanner.push(bytes).length > 0) this.#isInMessage = false
    const scanner = this.#scanner
    if (scanner.upgraded) this.#isOpaque = true
    else if (scanner.notHttp || scanner.failure !== undefined) {
      this.#refuseRaw()
      this.#isOpaque = true
    }
    // Clients send a head as a whole; half of one says nothing about the rest.
    else if (!scanner.idle && !this.#isInMessage) this.#refuseRaw()
  }

  #refuseRaw(): void {
    const { host, port, path } = this.endpoint
    for (const each of this.bounds)
      each.network((scope) => scope.checkRaw(path ?? `${host}:${port}`))
  }

  #judge(head: Http1RequestHead): void {
    const url = this.#urlOf(head)
    for (const each of this.bounds) {
      each.request(head.method, url)
      // CONNECT only opens a connection.
      if (head.method !== 'CONNECT') each.sent()
    }
  }

  #urlOf({ method, target, headers }: Http1RequestHead): URL {
    const header = (wanted: string) => headers.find(([name]) => name.toLowerCase() === wanted)?.[1]
    const { path, host, port } = this.endpoint
    if (path !== undefined) return new URL(`unix:${path}`)
    const isSecure = (this.socket as { encrypted?: boolean }).encrypted === true
    const isUpgrade = header('upgrade') !== undefined && /upgrade/i.test(header('connection') ?? '')
    const scheme = `${isUpgrade ? 'ws' : 'http'}${isSecure ? 's' : ''}`
    if (method === 'CONNECT') return parse(`http://${target}`, this)
    if (/^[a-z][a-z\d+.-]*:\/\//i.test(target)) return parse(target, this)
    const url = parse(`${scheme}://${header('host') ?? hostText(host, port)}`, this)
    if (url.port === '' && !/:\d+$/.test(header('host') ?? '')) url.port = String(port)
    return withTarget(url, target)
  }
}

/** An unreadable URL is judged by the endpoint of the socket. */
function parse(text: string, { endpoint: { host, port } }: SocketWatch): URL {
  return URL.canParse(text) ? new URL(text) : new URL(`http://${hostText(host, port)}`)
}

const hostText = (host: string, port: number): string =>
  net.isIPv6(host) ? `[${host.replace(/%.*/s, '')}]:${port}` : `${host}:${port}`

/** Adds a request target to a URL, without changing its host. */
export function withTarget(url: URL, target: string): URL {
  if (!target.startsWith('/')) return url
  const query = target.indexOf('?')
  url.pathname = query < 0 ? target : target.slice(0, query)
  url.search = query < 0 ? '' : target.slice(query)
  return url
}

/** Sockets that guarded calls have opened. */
const opened = new WeakMap<net.Socket, SocketWatch>()
let hasOpened = false
/** Sockets of others that guarded calls write to, by call. */
const borrowed = new WeakMap<CallBounds, WeakMap<net.Socket, SocketWatch>>()
/** Sockets that currently send a request of somebody else. */
const lent = new WeakSet<net.Socket>()

/** From now on the socket belongs to these calls, and ends with the first of them. */
export function watchSocket(
  bounds: readonly CallBounds[],
  socket: net.Socket,
  endpoint: Endpoint,
): void {
  hasOpened = true
  opened.set(socket, new SocketWatch(bounds, socket, endpoint))
  endWithCall(bounds, socket)
}

/** Ends a connection with the call that has opened it. */
export function endWithCall(bounds: readonly CallBounds[], socket: Ending): void {
  const releases = bounds.map((each) =>
    each.onEnd(() => {
      if (lent.has(socket as net.Socket)) return
      const error = cutOff(each.tool)
      expectUnheard(error)
      socket.destroy(error)
    }),
  )
  socket.once('close', () => {
    for (const release of releases) release()
  })
}

/**
 * A connection that is reset, as clients know it: those that were being closed ignore it, where
 * they would report any other error to the whole program.
 */
function cutOff(tool: string): Error {
  const cause = new GuardError(guardErrors.callOver(tool))
  const fields = { code: 'ECONNRESET', errno: -constants.errno.ECONNRESET, syscall: 'read' }
  return Object.assign(new Error(cause.message, { cause }), fields)
}

interface Ending {
  once(event: 'close', listener: () => void): unknown
  destroy(error?: Error): unknown
}

/** Marks whether a pooled socket currently sends a request of somebody else. */
export function lend(socket: net.Socket, isLent: boolean): void {
  if (isLent) lent.add(socket)
  else lent.delete(socket)
}

export const endpointOf = (socket: net.Socket): Endpoint | undefined => opened.get(socket)?.endpoint

export const isWatched = (socket: net.Socket): boolean => hasOpened && opened.has(socket)

export const isWatchedBy = (bounds: CallBounds, socket: net.Socket): boolean =>
  opened.get(socket)?.bounds.includes(bounds) === true

/** Throws when these bytes must not be written by these calls, or to a socket of other ones. */
export function checkWrite(
  bounds: readonly CallBounds[],
  socket: net.Socket,
  bytes: Uint8Array,
): void {
  const own = opened.get(socket)
  if (!lent.has(socket)) own?.check(bytes)
  const strangers = own === undefined ? bounds : bounds.filter((each) => !own.bounds.includes(each))
  if (strangers.length > 0) borrow(strangers, socket)?.check(bytes)
}

/** A socket that was there before, or is another call's: it may be used if it could have been opened. */
export function borrow(bounds: readonly CallBounds[], socket: net.Socket): SocketWatch | undefined {
  const innermost = bounds.at(-1)
  if (innermost === undefined || isFromOutside(socket)) return undefined
  let watches = borrowed.get(innermost)
  if (watches === undefined) borrowed.set(innermost, (watches = new WeakMap()))
  let watch = watches.get(socket)
  if (watch === undefined) {
    checkOpen(bounds, socket)
    watch = new SocketWatch(bounds, socket, endpointAt(socket))
    watches.set(socket, watch)
  }
  return watch
}

/** Judges an open connection by the address at its other end. */
export function checkOpen(bounds: readonly CallBounds[], socket: net.Socket): void {
  if (isFromOutside(socket)) return
  const judge = (): void => {
    const { host, port } = endpointAt(socket)
    for (const each of bounds) {
      each.host(host, port, false)
      each.address(socket.remoteAddress ?? '', port, host)
    }
  }
  if (!socket.connecting) return judge()
  socket.prependOnceListener('connect', () => {
    try {
      judge()
    } catch (error) {
      socket.destroy(error as Error)
    }
  })
}

/** Not a connection of this process to somewhere: somebody connected to it, or it is a pipe to a child. */
const isFromOutside = (socket: net.Socket): boolean =>
  ((socket as { server?: unknown }).server ?? undefined) !== undefined ||
  (!socket.connecting && socket.remoteAddress === undefined)

function endpointAt(socket: net.Socket): Endpoint {
  const host = (socket as { _host?: string | null })._host ?? socket.remoteAddress ?? ''
  return endpointOf(socket) ?? { host, port: socket.remotePort ?? 0 }
}

type Write = (this: net.Socket, ...args: unknown[]) => unknown

/**
 * Checks writes of guarded calls, and writes to connections they have opened. A
 * connection from a pool was not opened by the call that uses it: it is judged here.
 */
export function patchSocketWrites(): Undo {
  return undoAll([patchWriter('write'), patchWriter('end')])
}

function patchWriter(name: 'write' | 'end'): Undo {
  const native = net.Socket.prototype[name] as Write
  return replace(net.Socket.prototype, name, function (this: net.Socket, ...args: unknown[]) {
    const bounds = currentBounds()
    if (bounds.length === 0 && !isWatched(this)) return native.apply(this, args)
    const bytes = bytesOf(args)
    if (bytes === undefined) return native.apply(this, args)
    try {
      checkWrite(bounds, this, bytes)
    } catch (error) {
      const callback = args.find((each) => typeof each === 'function') as
        | ((error: unknown) => void)
        | undefined
      this.destroy(error as Error)
      if (callback) process.nextTick(callback, error)
      return name === 'end' ? this : false
    }
    return native.apply(this, args)
  })
}

function bytesOf([chunk, encoding]: readonly unknown[]): Uint8Array | undefined {
  if (typeof chunk === 'string')
    return Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8')
  return ArrayBuffer.isView(chunk)
    ? new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    : undefined
}
