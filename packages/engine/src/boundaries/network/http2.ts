import { EventEmitter } from 'node:events'
import http2 from 'node:http2'
import { fromWire, type HeaderPair, rebuildError, toWire } from '@retake/tape/format'
import { bindCheck, currentCheck, currentSession, outsideRuns } from '../../kernel/scope.js'
import type { Delivery, Operation, Session } from '../../kernel/session.js'
import { abortError, deliverError, reportEnding } from '../patching/deliver-error.js'
import { replace, type Undo } from '../patching/patch.js'
import { Duplex } from 'node:stream'
import { siteField } from '../../kernel/call-site.js'
import { maskHeaders, maskUrl } from '../../headers.js'
import { TapeTimer } from '../patching/tape-timer.js'

/**
 * HTTP/2 clients, recorded per stream instead of per connection, because Node decides when control
 * frames are flushed, but not when headers and data are.
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
 * The agent's HTTP/2 session. Not promised: settings, pings and flow control belong to the real
 * connection and are not replayed.
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
  /** Requests that were not sent yet and still need the real session. */
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
    // A request without a body may be sent before the constructor returns.
    const stream = new Http2TapeStream(this, headers, options, (sent) => {
      // Opens the real counterpart of a session from the tape. The agent does not notice.
      const opened = this.#real ?? outsideRuns(() => this.#attach(this.#operation))
      const real = opened.request(sent, options)
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
      // The real session was opened before the recorded opening was delivered.
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
   * Ends the real session once its requests are sent. Must not wait for the agent: an agent that
   * leaves a stream unread never closes it, and the open connection would keep the process alive.
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

type Done = (error?: Error | null) => void
type Headers = Record<string, string | string[] | number | undefined>

/**
 * One HTTP/2 exchange. The request becomes an event when the agent has ended it; its answer comes
 * in parts through the gate. Bidirectional streaming, where the answer starts before the request
 * ends, is not supported.
 */
class Http2TapeStream extends Duplex {
  readonly id = 1
  rstCode = 0
  aborted = false
  readonly pending = false
  readonly headersSent = true
  readonly sentHeaders: http2.OutgoingHttpHeaders
  readonly #body: Uint8Array[] = []
  #operation: Operation | undefined
  #real: http2.ClientHttp2Stream | undefined
  #timer: TapeTimer | undefined

  constructor(
    readonly session: Http2TapeSession,
    headers: http2.OutgoingHttpHeaders,
    options: http2.ClientSessionRequestOptions,
    readonly open: (headers: http2.OutgoingHttpHeaders) => http2.ClientHttp2Stream | undefined,
  ) {
    super({ autoDestroy: true })
    this.sentHeaders = headers
    const method = String(headers[':method'] ?? 'GET')
    const isBodiless = options.endStream ?? ['GET', 'HEAD', 'DELETE'].includes(method)
    if (isBodiless) this.end()
    options.signal?.addEventListener('abort', () => this.destroy(abortError(options.signal)), {
      once: true,
    })
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: Done): void {
    this.#body.push(chunk)
    done()
  }

  override _final(done: Done): void {
    this.#send(Buffer.concat(this.#body))
    done()
  }

  override _read(): void {}

  override _destroy(error: Error | null, done: Done): void {
    this.#timer?.stop()
    if (this.#operation?.closed === false) {
      this.#operation.close()
      outsideRuns(() => {
        this.#real?.on('error', () => {})
        this.#real?.close(this.rstCode || 8)
      })
    }
    done(error)
  }

  close(code = 0, callback?: () => void): void {
    if (callback) this.once('close', callback)
    this.rstCode = code
    if (!this.destroyed) this.destroy()
  }

  setTimeout(ms: number, callback?: () => void): this {
    this.#timer?.stop()
    if (callback) this.once('timeout', callback)
    if (ms > 0) {
      this.#timer = new TapeTimer('timeout', ms, () => this.emit('timeout'))
      this.#timer.unref()
    }
    return this
  }

  priority(): void {}

  #send(body: Uint8Array): void {
    const { session, authority } = this.session
    const {
      ':method': method = 'GET',
      ':scheme': scheme = authority.protocol.slice(0, -1),
      ':authority': host = authority.host,
      ':path': path = '/',
    } = this.sentHeaders
    const url = `${String(scheme)}://${String(host)}${String(path)}`
    this.#operation = session.perform({
      event: {
        type: 'request',
        seam: 'http2',
        method: String(method),
        url: session.secrets.text(maskUrl(url)),
        headers: maskHeaders(session, pairsOf(this.sentHeaders)),
        ...siteField(),
      },
      body,
      durable: true,
      start: (operation, edited) => this.#goLive(operation, edited ?? body),
      deliver: (delivery) => this.#deliver(delivery),
    })
  }

  #goLive(operation: Operation, body: Uint8Array): void {
    const length = Object.keys(this.sentHeaders).find((key) => /^content-length$/i.test(key))
    const sent =
      length === undefined
        ? this.sentHeaders
        : { ...this.sentHeaders, [length]: String(body.length) }
    const real = (this.#real = this.open(sent))
    if (real === undefined) return
    real.on('response', (headers) => {
      const pairs = pairsOf(headers)
      const status = Number(headers[':status'])
      const masked = maskHeaders(operation.session, pairs)
      operation.complete(
        { type: 'response', status, statusText: '', headers: masked },
        undefined,
        pairs,
      )
    })
    real.on('trailers', (headers) =>
      operation.complete({ type: 'deliver', part: 'trailers', value: toWire({ ...headers }) }),
    )
    real.on('data', (data: Uint8Array) =>
      operation.complete({ type: 'deliver', part: 'chunk' }, data),
    )
    real.on('end', () => operation.complete({ type: 'deliver', part: 'end' }))
    real.on('close', () =>
      operation.complete({ type: 'deliver', part: 'close', value: real.rstCode }),
    )
    real.on('error', (error) => deliverError(operation, error))
    if (!real.writableEnded) real.end(body)
  }

  #deliver({ event, body, native }: Delivery): void {
    if (event.type === 'response') {
      const pairs = (native as HeaderPair[] | undefined) ?? event.headers
      this.emit('response', headersOf(event.status, pairs), 0)
      return
    }
    if (event.type !== 'deliver') return
    if (event.part === 'chunk') this.push(Buffer.from(body))
    else if (event.part === 'end') this.push(null)
    else if (event.part === 'trailers') this.emit('trailers', fromWire(event.value), 0)
    else if (event.part === 'close') {
      this.rstCode = Number(event.value)
      this.#operation?.close()
      const isOver = this.readableEnded || this.destroyed
      if (!isOver && this.rstCode !== 0) this.destroy()
      // The other side closed early; buffered data can still be read.
      else if (!isOver) this.push(null)
    } else if (event.part === 'error' && event.error) {
      this.#operation?.close()
      this.destroy((native ?? rebuildError(event.error)) as Error)
    }
  }
}

function pairsOf(headers: Headers): HeaderPair[] {
  const pairs: HeaderPair[] = []
  for (const [name, value] of Object.entries(headers)) {
    if (name.startsWith(':') || value === undefined) continue
    for (const one of [value].flat()) pairs.push([name, String(one)])
  }
  return pairs
}

/** Headers in Node's form: no prototype, repeated values joined, cookies in a list. */
function headersOf(status: number, pairs: readonly HeaderPair[]): Headers {
  const headers: Headers = Object.create(null)
  headers[':status'] = status
  for (const [name, value] of pairs) {
    const present = headers[name]
    if (name === 'set-cookie') headers[name] = [...((present as string[] | undefined) ?? []), value]
    else headers[name] = present === undefined ? value : `${String(present)}, ${value}`
  }
  return headers
}
