import type http2 from 'node:http2'
import { Duplex } from 'node:stream'
import { fromWire, rebuildError, toWire } from '@retake/tape/format'
import type { HeaderPair } from '@retake/tape/format'
import { callSite } from '../../call-site.js'
import { maskHeaders, maskUrl } from '../../headers.js'
import { outsideRuns } from '../../scope.js'
import type { Delivery, Operation } from '../../sessions/session.js'
import { deliverError } from '../deliver-error.js'
import type { Http2TapeSession } from './http2.js'
import { TapeTimer } from '../tape-timer.js'

type Done = (error?: Error | null) => void
type Headers = Record<string, string | string[] | number | undefined>

/**
 * One HTTP/2 exchange. The request is an event once the agent has ended it; its
 * answer comes in parts through the gate. A stream that must be answered before
 * the agent has finished writing (bidirectional streaming) is not supported.
 */
export class Http2TapeStream extends Duplex {
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
    options.signal?.addEventListener(
      'abort',
      () => this.destroy(abortError(options.signal?.reason)),
      { once: true },
    )
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
      this.#timer = new TapeTimer('timeout', ms, () => this.emit('timeout'), [])
      this.#timer.unref()
    }
    return this
  }

  priority(): void {}

  #send(body: Uint8Array): void {
    const { session } = this.session
    const { method, url, headers } = this.#describe()
    const site = callSite()
    this.#operation = session.perform({
      event: {
        type: 'request',
        seam: 'http2',
        method,
        url: session.secrets.text(maskUrl(url)),
        headers: maskHeaders(session, headers),
        ...(site !== undefined && { site }),
      },
      body,
      durable: true,
      start: (operation, edited) => this.#goLive(operation, edited ?? body),
      deliver: (delivery) => this.#deliver(delivery),
    })
  }

  #describe(): { method: string; url: string; headers: HeaderPair[] } {
    const pairs: HeaderPair[] = []
    const pseudo: Record<string, string> = {}
    for (const [name, value] of Object.entries(this.sentHeaders)) {
      if (value === undefined) continue
      if (name.startsWith(':')) pseudo[name] = String(value)
      else for (const one of [value].flat()) pairs.push([name, String(one)])
    }
    const authority = pseudo[':authority'] ?? this.session.authority.host
    const scheme = pseudo[':scheme'] ?? this.session.authority.protocol.slice(0, -1)
    return {
      method: pseudo[':method'] ?? 'GET',
      url: `${scheme}://${authority}${pseudo[':path'] ?? '/'}`,
      headers: pairs,
    }
  }

  #headersFor(body: Uint8Array): http2.OutgoingHttpHeaders {
    const name = Object.keys(this.sentHeaders).find((key) => /^content-length$/i.test(key))
    return name === undefined
      ? this.sentHeaders
      : { ...this.sentHeaders, [name]: String(body.length) }
  }

  #goLive(operation: Operation, body: Uint8Array): void {
    const real = (this.#real = this.open(this.#headersFor(body)))
    if (real === undefined) return
    real.on('response', (headers) => {
      const pairs = pairsOf(headers)
      operation.complete(responseHead(operation, headers, pairs), undefined, pairs)
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
    else if (event.part === 'close') this.#closed(Number(event.value))
    else if (event.part === 'error' && event.error) {
      this.#operation?.close()
      this.destroy((native ?? rebuildError(event.error)) as Error)
    }
  }

  #closed(code: number): void {
    this.rstCode = code
    this.#operation?.close()
    if (this.readableEnded || this.destroyed) return
    // The other side closed before its end: what is buffered may still be read.
    if (code !== 0) this.destroy()
    else this.push(null)
  }
}

function pairsOf(headers: Headers): HeaderPair[] {
  const pairs: HeaderPair[] = []
  for (const [name, value] of Object.entries(headers)) {
    if (name === ':status' || value === undefined) continue
    for (const one of [value].flat()) pairs.push([name, String(one)])
  }
  return pairs
}

function responseHead(operation: Operation, headers: Headers, pairs: readonly HeaderPair[]) {
  return {
    type: 'response' as const,
    status: Number(headers[':status']),
    statusText: '',
    headers: maskHeaders(operation.session, pairs),
  }
}

/** Node's shape: no prototype, repeated values in one string, cookies in a list. */
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

function abortError(reason: unknown): Error {
  const error = new Error('The operation was aborted', { cause: reason })
  error.name = 'AbortError'
  return Object.assign(error, { code: 'ABORT_ERR' })
}
