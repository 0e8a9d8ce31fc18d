import { EventEmitter } from 'node:events'
import http2 from 'node:http2'
import { rebuildError } from '@retake/tape/format'
import { bindCheck, currentCheck, currentSession, outsideRuns } from '../../scope.js'
import type { Delivery, Operation, Session } from '../../sessions/session.js'
import { Http2TapeStream } from './http2-stream.js'
import { reportEnding } from './report-ending.js'
import { replace } from '../patch.js'
import type { Undo } from '../patch.js'

/**
 * HTTP/2 clients, taped per stream and never per connection: control frames are
 * flushed at moments of Node's own choosing, headers and data are not.
 */
export function patchHttp2(): Undo {
  const native = http2.connect
  return replace(http2, 'connect', (authority: string | URL, options?: any, listener?: any) => {
    const session = currentSession()
    const settings = typeof options === 'function' ? {} : (options ?? {})
    if (session === undefined || settings.createConnection)
      return native(authority, options, listener)
    const onConnect = typeof options === 'function' ? options : listener
    const bound = bindCheck()
    return new Http2TapeSession(session, new URL(authority), onConnect, () =>
      bound(() => http2.connect(authority, settings)),
    )
  })
}

/**
 * What the agent holds as its HTTP/2 session. Not promised: settings, pings and
 * flow control are the real connection's affair and are not replayed.
 */
export class Http2TapeSession extends EventEmitter {
  destroyed = false
  closed = false
  connecting = true
  readonly encrypted: boolean
  readonly alpnProtocol: string
  readonly type = http2.constants.NGHTTP2_SESSION_CLIENT
  readonly socket = { remoteAddress: '127.0.0.1', ref() {}, unref() {}, setTimeout() {} }
  readonly localSettings = {}
  readonly remoteSettings = {}
  readonly state = {}
  readonly #operation: Operation
  readonly #streams = new Set<Http2TapeStream>()
  /** Requests that have not left yet: they still need the real session open. */
  readonly #unsent = new Set<symbol>()
  #real: http2.ClientHttp2Session | undefined
  #isReferenced = true
  #closeEmitted = false

  constructor(
    readonly session: Session,
    readonly authority: URL,
    onConnect: ((session: unknown, socket: unknown) => void) | undefined,
    readonly connect: () => http2.ClientHttp2Session,
  ) {
    super()
    this.encrypted = authority.protocol === 'https:'
    this.alpnProtocol = this.encrypted ? 'h2' : 'h2c'
    if (onConnect) this.once('connect', onConnect)
    this.#operation = session.perform({
      event: {
        type: 'socket',
        kind: this.encrypted ? 'tls' : 'tcp',
        host: authority.hostname,
        port: Number(authority.port || (this.encrypted ? 443 : 80)),
      },
      start: (operation) => this.#attach(operation),
      handOver: (operation) =>
        this.connecting && this.#real === undefined && this.#attach(operation),
      deliver: (delivery) => this.#deliver(delivery),
    })
  }

  get originSet(): string[] {
    return [this.authority.origin]
  }

  request(
    headers: http2.OutgoingHttpHeaders = {},
    options: http2.ClientSessionRequestOptions = {},
  ): Http2TapeStream {
    if (this.destroyed)
      throw sessionError('ERR_HTTP2_INVALID_SESSION', 'The session has been destroyed')
    if (this.closed)
      throw sessionError(
        'ERR_HTTP2_GOAWAY_SESSION',
        'New streams cannot be created after receiving a GOAWAY',
      )
    currentCheck()?.request(this.authority, headers)
    const unsent = Symbol('request')
    this.#unsent.add(unsent)
    // A request without a body may leave before the constructor returns.
    const stream = new Http2TapeStream(this, headers, options, (sent) => {
      const real = this.#opened().request(sent, options)
      this.#leaves(unsent)
      return real
    })
    this.#streams.add(stream)
    stream.once('close', () => {
      this.#streams.delete(stream)
      this.#leaves(unsent)
      this.#closeWhenIdle()
    })
    return stream
  }

  close(callback?: () => void): void {
    if (callback) this.once('close', callback)
    this.closed = true
    this.#closeWhenIdle()
    this.#closeRealWhenSent()
  }

  destroy(error?: Error): void {
    if (this.destroyed) return
    this.destroyed = true
    this.closed = true
    for (const stream of this.#streams) stream.destroy(error)
    if (error) process.nextTick(() => this.emit('error', error))
    this.#emitClose()
  }

  ref(): void {
    this.#isReferenced = true
    this.#real?.ref()
  }

  unref(): void {
    this.#isReferenced = false
    this.#real?.unref()
  }

  setTimeout(): this {
    return this
  }

  settings(_settings: unknown, callback?: (error: null) => void): void {
    if (callback) process.nextTick(callback, null)
  }

  ping(): boolean {
    return false
  }

  goaway(): void {}

  setLocalWindowSize(): void {}

  /** A session that the tape has opened is opened again behind the agent's back, once it is used. */
  #opened(): http2.ClientHttp2Session {
    return this.#real ?? outsideRuns(() => this.#attach(this.#operation))
  }

  #attach(operation: Operation): http2.ClientHttp2Session {
    const real = (this.#real = this.connect())
    if (!this.#isReferenced) real.unref()
    if (this.connecting)
      real.on('connect', () => operation.complete({ type: 'deliver', part: 'connect' }))
    reportEnding(real, operation)
    return real
  }

  #deliver({ event, native }: Delivery): void {
    if (event.type !== 'deliver') return
    if (event.part === 'connect') {
      // Opened for real while the recorded opening was on its way.
      if (!this.connecting) return
      this.connecting = false
      this.emit('connect', this, this.socket)
    } else if (event.part === 'close') {
      this.destroyed = true
      this.closed = true
      this.#emitClose()
    } else if (event.part === 'error' && event.error) {
      this.emit('error', native ?? rebuildError(event.error))
    }
  }

  #leaves(request: symbol): void {
    this.#unsent.delete(request)
    this.#closeRealWhenSent()
  }

  /**
   * The real session ends by itself once its streams have ended. It must not wait for
   * the agent: one that leaves a stream unread never closes it, and the open
   * connection would keep the process alive.
   */
  #closeRealWhenSent(): void {
    if (this.closed && this.#unsent.size === 0) outsideRuns(() => this.#real?.close())
  }

  #closeWhenIdle(): void {
    if (this.closed && this.#streams.size === 0) this.#emitClose()
  }

  #emitClose(): void {
    if (this.#closeEmitted) return
    this.#closeEmitted = true
    this.destroyed = true
    this.#operation.close()
    outsideRuns(() => {
      this.#real?.on('error', () => {})
      this.#real?.close()
    })
    process.nextTick(() => this.emit('close'))
  }
}

const sessionError = (code: string, message: string): Error =>
  Object.assign(new Error(message), { code })
