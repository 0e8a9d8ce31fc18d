import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import {
  type Durability,
  type FrameworkScope,
  type HeaderPair,
  type NewEvent,
  type ProxyDetails,
  type RecordedError,
  recordError,
} from '@retake/tape/format'
import { TapeWriter } from '@retake/tape/node'
import { errors } from '../errors.js'
import { maskHeaders, maskUrl } from '../headers.js'
import { maskedEnvironment, type SecretMask } from '../secrets/secrets.js'
import { EMPTY } from '../kernel/session.js'
import { withoutSession } from './base-url-variables.js'
import type { CertificateAuthority } from './certificate-authority.js'
import type { ClientProcess } from './client-process.js'
import {
  BODY_BYTES_MAX,
  endToEnd,
  forwardedHeaders,
  headerPairs,
  hideCredentials,
  RequestQueue,
  shownHeaders,
} from './proxy-request.js'
import {
  answerProxyError,
  breakOff,
  clientGone,
  REFUSED,
  tunnelNote,
  upstreamFailure,
} from './proxy-error.js'
import { Outbox, type Showing } from './outbox.js'
import { HEADER_BYTES_MAX, type ProxyServer } from './proxy-server.js'
import { findRoute, redirectOn, type Route } from './routes.js'
import { describeRefusal, type ProxyRefusal } from '../texts/proxy-divergence.js'
import { readTunnel, tunnelTarget, type TunnelTarget } from './tunnels.js'
import { UpstreamConnections, asError } from './upstream-connections.js'

export interface ProxyTapeOptions {
  readonly tape: string
  readonly id: string
  readonly name: string
  readonly proxy: ProxyDetails
  /** The command that runs with the proxy, so that a replay can run it again. */
  readonly command?: readonly string[]
  readonly tags?: readonly string[] | undefined
  /** `machine` unless set. */
  readonly durability?: Durability | undefined
  readonly sign?: boolean | undefined
}

/** A new tape for the requests of a program through a proxy. */
export function openProxyTape(options: ProxyTapeOptions): TapeWriter {
  const { tape, id, name, proxy, command, tags, durability = 'machine', sign } = options
  return TapeWriter.create(
    tape,
    {
      type: 'run',
      id,
      name,
      startedAt: Date.now(),
      scope: 'process',
      node: process.version,
      ...(sign && { receipts: true }),
      durability,
    },
    {
      ...(command !== undefined && {
        command,
        env: maskedEnvironment(withoutSession(process.env)),
      }),
      cwd: process.cwd(),
      ...(tags && { tags }),
      platform: `${process.platform} ${process.arch}`,
      // Passwords in addresses are omitted: a replay sends nothing, and compares addresses without
      // them.
      proxy: {
        ...proxy,
        routes: proxy.routes.map(({ name: route, upstream }) => ({
          name: route,
          upstream: maskUrl(upstream).replace(/\/+$/, ''),
        })),
      },
    },
  )
}

export interface RecordingProxyOptions {
  readonly server: ProxyServer
  readonly writer: TapeWriter
  readonly routes: readonly Route[]
  readonly secrets: SecretMask
  /**
   * The recorded program, if there is exactly one. Its requests to any host are forwarded, and it
   * sees concurrent answers one after another.
   */
  readonly client?: ClientProcess
  /** Allows the client's HTTPS to be recorded, if the client trusts it. */
  readonly authority?: CertificateAuthority
  /** How other hosts are reached; directly by default. */
  readonly upstream?: UpstreamConnections
  /** Larger request bodies are refused with status 413. */
  readonly bodyBytesMax?: number
  /** Framework scopes of a request, for programs whose requests contain them. */
  readonly scopesOf?: (headers: readonly HeaderPair[]) => readonly FrameworkScope[]
}

/** Number of concurrent answers from which gathering pays off. */
const BUSY_EXCHANGES = 16

/**
 * Forwards requests to their providers and writes every exchange to the tape: the request before it
 * is sent, each part of the answer before the client sees it.
 */
export class RecordingProxy {
  readonly upstream: UpstreamConnections
  readonly #requests: RequestQueue
  readonly #options: RecordingProxyOptions
  readonly #open = new Set<RecordedExchange>()
  /** Parts of answers, to be shown once everything buffered is in the file, or `failure` is set. */
  readonly outbox: Outbox
  readonly #tunnels = new Set<string>()
  /** The failure that ended the recording, such as a full disk. Every later request is refused. */
  failure: Error | undefined
  exchanges = 0
  #stopped = false

  constructor(options: RecordingProxyOptions) {
    this.#options = options
    this.upstream = options.upstream ?? new UpstreamConnections()
    this.#requests = new RequestQueue(options.client)
    this.outbox = new Outbox(
      () => this.#flush(),
      () => this.#open.size >= BUSY_EXCHANGES,
      options.client,
    )
    options.server.serve({
      handle: (request, response) => this.#handle(request, response),
      refused: (refusal) => this.#refused(refusal),
      ...(options.client && { connect: (request, socket) => this.#connect(request, socket) }),
    })
  }

  /** Writes an event; secret values in the body are masked. After a failure nothing is written. */
  append(event: NewEvent, body?: Uint8Array): number {
    const seq = this.buffer(event, body)
    this.#flush()
    return seq
  }

  /** Writes an event together with all others of this turn. Only the outbox may show its content. */
  buffer(event: NewEvent, body?: Uint8Array): number {
    if (this.#stopped || this.failure !== undefined) return -1
    this.outbox.schedule()
    try {
      const masked = this.#options.secrets.body(event, body ?? EMPTY)
      return this.#options.writer.buffer(event, body && masked)
    } catch (error) {
      this.failure = asError(error)
      return -1
    }
  }

  maskedHeaders(pairs: readonly HeaderPair[]): HeaderPair[] {
    return maskHeaders(this.#options, pairs)
  }

  /**
   * Ends exchanges in progress, as if their clients had disconnected, and closes the port. The tape
   * stays open.
   */
  async stop(): Promise<void> {
    for (const exchange of this.#open) exchange.giveUp('The recording was stopped.')
    this.outbox.release()
    this.outbox.showAll()
    this.#stopped = true
    this.upstream.close()
    await this.#options.server.close()
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { routes, secrets, bodyBytesMax = BODY_BYTES_MAX } = this.#options
    const { method = 'GET' } = request
    const target = this.#options.server.targetOf(request)
    const url = findRoute(routes, target, request.headers.host, this.#options.client)
    if (url === undefined) {
      this.#refused({ reason: 'no provider', request: `${method} ${maskUrl(target)}` })
      request.resume()
      return answerProxyError(response, 502, errors.PROXY_NO_ROUTE(method, target, routes))
    }
    const collected = await this.#requests.collect(request, bodyBytesMax)
    if ('problem' in collected) {
      this.#refused({ reason: collected.problem, request: `${method} ${maskUrl(target)}` })
      if (collected.problem === 'too large')
        answerProxyError(response, 413, errors.PROXY_BODY_TOO_LARGE(bodyBytesMax))
      return
    }
    const pairs = headerPairs(request.rawHeaders)
    hideCredentials(secrets, pairs, url)
    const within = this.#options.scopesOf?.(pairs) ?? []
    const op = this.buffer(
      {
        type: 'request',
        seam: 'http',
        method,
        url: secrets.text(maskUrl(url.href)),
        headers: this.maskedHeaders(pairs),
        ...(within.length > 0 && { within }),
      },
      collected.body.length > 0 ? collected.body : undefined,
    )
    if (op >= 0) await this.#commit()
    if (this.failure !== undefined)
      return answerProxyError(response, 502, errors.PROXY_NOT_RECORDING(this.failure.message))
    if (op < 0) return void response.destroy()
    this.exchanges += 1
    const exchange = new RecordedExchange(this, op, response, (location) =>
      redirectOn(routes, { target, url }, location),
    )
    this.#open.add(exchange)
    exchange.onDone = () => this.#open.delete(exchange)
    exchange.forward({ method, url, pairs, body: collected.body })
  }

  /** Records readable tunnels as requests; forwards and reports the others. */
  async #connect(request: IncomingMessage, socket: Duplex): Promise<void> {
    const { server, authority } = this.#options
    const target = tunnelTarget(request)
    if (target === undefined) return server.refuseTunnel(socket, request.url)
    // Without an authority most tunnels are forwarded, so an unreachable host is reported first.
    const opened = authority ? undefined : await this.#openTunnel(target)
    if (opened === undefined && !authority) return server.refuseTunnel(socket, request.url)
    const opaque = await readTunnel(server, socket, target, authority)
    if (opaque === undefined) return void opened?.destroy()
    const outside = opened ?? (await this.#openTunnel(target))
    if (outside === undefined) return void socket.destroy()
    // Reports an unread tunnel, once per host.
    const name = tunnelNote(request.url ?? '', opaque.isTls)
    if (!this.#tunnels.has(name)) {
      this.#tunnels.add(name)
      const text = 'It was forwarded unread.'
      const consequence = this.#options.authority ? 'not-recorded' : 'needs-tls'
      this.append({ type: 'note', kind: 'boundary', name, text, consequence })
    }
    for (const [from, to] of [
      [socket, outside],
      [outside, socket],
    ] as const) {
      from.on('error', () => to.destroy())
      from.on('close', () => to.destroy())
      from.pipe(to)
    }
  }

  #openTunnel({ host, port }: TunnelTarget): Promise<Duplex | undefined> {
    return this.upstream.open(host, port).catch(() => undefined)
  }

  /** Reports something that was not forwarded, and so is not an exchange. */
  #refused(refusal: ProxyRefusal): void {
    const text = this.#options.secrets.text(describeRefusal(refusal))
    this.append({ type: 'note', kind: 'boundary', name: REFUSED, text, consequence: 'refused' })
  }

  #flush(): void {
    if (this.#stopped || this.failure !== undefined) return
    try {
      this.#options.writer.flush()
    } catch (error) {
      this.failure = asError(error)
    }
  }

  /** Output-commit rule: resolves when everything appended so far is on disk. */
  async #commit(): Promise<void> {
    const { writer } = this.#options
    try {
      await new Promise<void>((resolve, reject) => {
        const settle = (failure?: Error): void => (failure ? reject(failure) : resolve())
        // At the end of this turn, so that requests that came together share a sync.
        setImmediate(() => {
          try {
            writer.whenDurable(settle)
          } catch (error) {
            reject(error)
          }
        })
      })
    } catch (error) {
      this.failure = asError(error)
    }
  }
}

interface Forwarded {
  readonly method: string
  readonly url: URL
  readonly pairs: readonly HeaderPair[]
  readonly body: Buffer
}

/** Parts of an answer that are shown together. */
interface Unseen extends Showing {
  readonly chunks: Buffer[]
  ending?: () => void
}

/**
 * One request on its way upstream, and its answer on the way back. Ends exactly once. Arriving data
 * is buffered for the tape immediately, and shown to the client when it is on the tape.
 */
class RecordedExchange {
  onDone: () => void = () => {}
  #upstream: ClientRequest | undefined
  #answer: IncomingMessage | undefined
  #done = false
  /** True once part of the answer is on its way to the client. */
  #isShown = false
  /** The latest part that the client has not seen yet. */
  #unseen: Unseen | undefined

  constructor(
    readonly proxy: RecordingProxy,
    readonly op: number,
    readonly response: ServerResponse,
    /** The address of a redirect, as the client needs it. */
    readonly redirect: (location: string) => string,
  ) {
    response.on('close', () => this.giveUp('The client closed the connection.'))
  }

  forward({ method, url, pairs, body }: Forwarded): void {
    if (this.response.destroyed) return this.giveUp('The client closed the connection.')
    try {
      this.#upstream = this.proxy.upstream.request(url, {
        method,
        headers: forwardedHeaders(pairs, url.host, body.length),
        maxHeaderSize: HEADER_BYTES_MAX,
      })
    } catch (error) {
      return this.#fail(error)
    }
    this.#upstream.on('response', (answer) => this.#begin(answer))
    this.#upstream.on('error', (error) => this.#fail(error))
    this.#upstream.end(body)
  }

  /** Called when the answer is no longer needed. */
  giveUp(why: string): void {
    if (!this.#finish({ error: clientGone(why) })) return
    this.#upstream?.destroy()
  }

  #begin(answer: IncomingMessage): void {
    if (this.#done) return void answer.destroy()
    this.#answer = answer
    const { statusCode = 502, statusMessage = '' } = answer
    const pairs = endToEnd(headerPairs(answer.rawHeaders))
    try {
      this.response.sendDate = false
      // Only prepared; sent with the first write. Names are in lower case, as on the tape, so that
      // a client sees the same bytes on replay.
      const headers = pairs.map(([name, value]): HeaderPair => [name.toLowerCase(), value])
      const shown = shownHeaders(statusCode, headers, this.redirect)
      this.response.writeHead(statusCode, statusMessage, shown)
    } catch (error) {
      // A head that Node accepts but cannot write, such as status 42.
      return this.#fail(error)
    }
    this.proxy.buffer({
      type: 'response',
      op: this.op,
      status: statusCode,
      statusText: statusMessage,
      headers: this.proxy.maskedHeaders(pairs),
    })
    this.#queue()
    answer.on('data', (chunk: Buffer) => {
      if (this.#done) return
      this.proxy.buffer({ type: 'deliver', op: this.op, part: 'chunk' }, chunk)
      this.#queue().chunks.push(chunk)
    })
    answer.on('end', () => {
      if (!answer.complete) return this.#fail(new Error('The answer broke off.'))
      if (this.#finish({})) this.#endWith(() => this.response.end())
    })
    answer.on('error', (error) => this.#fail(error))
    answer.on('close', () => answer.complete || this.#fail(new Error('The answer broke off.')))
  }

  /**
   * Handles a failure of the other side: before its answer began, the client gets an error; later,
   * the client's answer breaks off, too.
   */
  #fail(error: unknown): void {
    const recorded = recordError(error)
    // Emits `data` for bytes that arrived before the failure.
    this.#answer?.read()
    if (!this.#finish({ error: recorded })) return
    this.#upstream?.destroy()
    this.#endWith(() => {
      // Pieces written in this turn are sent first.
      if (this.response.headersSent) setImmediate(breakOff, this.response)
      else answerProxyError(this.response, 502, upstreamFailure(recorded))
    })
  }

  #endWith(ending: () => void): void {
    this.#queue({ isEnd: true }).ending = ending
  }

  #queue({ isEnd = false } = {}): Unseen {
    if (this.#unseen && this.proxy.outbox.isLast(this.#unseen, isEnd)) return this.#unseen
    const unseen: Unseen = { of: isEnd ? {} : this, chunks: [], show: () => this.#show(unseen) }
    this.#unseen = unseen
    this.proxy.outbox.add(unseen)
    return unseen
  }

  /** Sends what has arrived: each piece in its own write, a head alone immediately. */
  #show(unseen: Unseen): void {
    if (this.#unseen === unseen) this.#unseen = undefined
    if (this.proxy.failure) return this.#notRecorded(this.proxy.failure)
    let isFlowing = true
    for (const chunk of unseen.chunks) isFlowing = this.response.write(chunk)
    if (unseen.ending) return unseen.ending()
    if (!this.#isShown && unseen.chunks.length === 0) this.response.flushHeaders()
    this.#isShown = true
    if (isFlowing) return
    this.#answer?.pause()
    this.response.once('drain', () => this.#answer?.resume())
  }

  /** Ends the exchange: a client must not see anything that is not on the tape. */
  #notRecorded(failure: Error): void {
    this.#finish({})
    this.#upstream?.destroy()
    if (this.#isShown) breakOff(this.response)
    else if (this.response.headersSent) this.response.destroy()
    else answerProxyError(this.response, 502, errors.PROXY_NOT_RECORDING(failure.message))
  }

  #finish({ error }: { readonly error?: RecordedError }): boolean {
    if (this.#done) return false
    this.#done = true
    this.proxy.buffer({
      type: 'deliver',
      op: this.op,
      part: error ? 'error' : 'end',
      ...(error && { error }),
    })
    this.onDone()
    return true
  }
}
