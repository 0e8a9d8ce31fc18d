import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { HeaderPair, NewEvent, FrameworkScope } from '@retake/tape/format'
import type { TapeWriter } from '@retake/tape/node'
import { errors, type RetakeError } from '../errors.js'
import { maskHeaders, maskUrl } from '../headers.js'
import type { SecretMask } from '../secrets.js'
import type { CertificateAuthority } from './certificate-authority.js'
import type { ClientProcess } from './client-process.js'
import { CommitQueue } from './commit-queue.js'
import { hideCredentials } from './hide-credentials.js'
import { answerError, REFUSED, tunnelNote } from './proxy-error.js'
import { Outbox } from './outbox.js'
import type { Showing } from './outbox.js'
import { BODY_BYTES_MAX, headerPairs, RequestQueue } from './proxy-request.js'
import type { ProxyServer } from './proxy-server.js'
import { RecordedExchange } from './recorded-exchange.js'
import { findRoute } from './routes.js'
import type { Route } from './routes.js'
import { readTunnel, tunnelTarget } from './tunnels.js'
import type { TunnelTarget } from './tunnels.js'
import { WayOut } from './way-out.js'

export interface RecordingProxyOptions {
  readonly server: ProxyServer
  readonly writer: TapeWriter
  readonly routes: readonly Route[]
  readonly secrets: SecretMask
  /**
   * The recorded program, if there is exactly one: every request to any
   * host is forwarded, and it sees concurrent answers one after the other.
   */
  readonly client?: ClientProcess
  /** Lets the HTTPS of the client be recorded, if the client trusts it. */
  readonly authority?: CertificateAuthority
  /** How other hosts are reached; directly unless set. */
  readonly wayOut?: WayOut
  /** Larger request bodies are refused with status 413. */
  readonly bodyBytesMax?: number
  /** Where in its program a request was made, for programs whose requests tell. */
  readonly scopesOf?: (headers: readonly HeaderPair[]) => readonly FrameworkScope[]
}

/** So many answers under way are worth gathering. */
const BUSY_EXCHANGES = 16

/**
 * Passes requests on to their providers and writes every exchange to the tape:
 * the request before it leaves, each part of the answer before the client sees it.
 */
export class RecordingProxy {
  readonly wayOut: WayOut
  readonly #requests: RequestQueue
  readonly #options: RecordingProxyOptions
  readonly #commits: CommitQueue
  readonly #open = new Set<RecordedExchange>()
  readonly #outbox: Outbox
  readonly #tunnels = new Set<string>()
  #failure: Error | undefined
  #stopped = false
  #exchanges = 0

  constructor(options: RecordingProxyOptions) {
    this.#options = options
    this.wayOut = options.wayOut ?? new WayOut()
    this.#requests = new RequestQueue(options.client)
    this.#outbox = new Outbox(
      () => this.#flush(),
      () => this.#open.size >= BUSY_EXCHANGES,
      options.client,
    )
    this.#commits = new CommitQueue(options.writer)
    options.server.serve({
      handle: (request, response) => this.#handle(request, response),
      refused: (what) => this.#refused(what),
      ...(options.client && { connect: (request, socket) => this.#connect(request, socket) }),
    })
  }

  /** What made recording impossible, such as a full disk: every request was refused since. */
  get failure(): Error | undefined {
    return this.#failure
  }

  /** Number of exchanges on the tape. */
  get exchanges(): number {
    return this.#exchanges
  }

  /** Writes an event; secret values in the body are masked. After a failure nothing is written. */
  append(event: NewEvent, body?: Uint8Array): number {
    const seq = this.buffer(event, body)
    this.#flush()
    return seq
  }

  /** Writes an event together with all others of this turn. Only `whenWritten` may show what it says. */
  buffer(event: NewEvent, body?: Uint8Array): number {
    if (this.#stopped || this.#failure !== undefined) return -1
    this.#outbox.schedule()
    try {
      return this.#options.writer.buffer(event, body && this.#options.secrets.bytes(body))
    } catch (error) {
      this.#failure = asError(error)
      return -1
    }
  }

  /** Calls back when everything held so far is in the file, or could not be: see `failure`. */
  whenWritten(showing: Showing): void {
    this.#outbox.add(showing)
  }

  /** True if what comes next can be shown together with this. */
  isShownWith(showing: Showing, isEnd: boolean): boolean {
    return this.#outbox.isLast(showing, isEnd)
  }

  maskedHeaders(pairs: readonly HeaderPair[]): HeaderPair[] {
    return maskHeaders(this.#options, pairs)
  }

  /** Ends what is under way, as if its clients had gone, and closes the port. The tape stays open. */
  async stop(): Promise<void> {
    for (const exchange of this.#open) exchange.giveUp('The recording was stopped.')
    this.#outbox.release()
    this.#outbox.showAll()
    this.#stopped = true
    this.wayOut.close()
    await this.#options.server.close()
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { routes, secrets, bodyBytesMax = BODY_BYTES_MAX } = this.#options
    const { method = 'GET' } = request
    const target = this.#options.server.targetOf(request)
    const routed = findRoute(routes, target, request.headers.host, this.#options.client)
    if (routed === undefined) {
      this.#refused(`${method} ${maskUrl(target)}: no provider`)
      request.resume()
      return answerError(response, 502, errors.PROXY_NO_ROUTE(method, target, routes))
    }
    const collected = await this.#requests.collect(request, bodyBytesMax)
    if ('problem' in collected) {
      this.#refused(`${method} ${maskUrl(target)}: ${collected.problem}`)
      if (collected.problem === 'too large')
        answerError(response, 413, errors.PROXY_BODY_TOO_LARGE(bodyBytesMax))
      return
    }
    const pairs = headerPairs(request.rawHeaders)
    hideCredentials(secrets, pairs, routed.url)
    const within = this.#options.scopesOf?.(pairs) ?? []
    const op = this.buffer(
      {
        type: 'request',
        seam: 'http',
        method,
        url: secrets.text(maskUrl(routed.url.href)),
        headers: this.maskedHeaders(pairs),
        ...(within.length > 0 && { within }),
      },
      collected.body.length > 0 ? collected.body : undefined,
    )
    if (op >= 0) await this.#commit()
    if (this.#failure !== undefined) return answerError(response, 502, this.#whyNot())
    if (op < 0) return void response.destroy()
    this.#exchanges += 1
    const exchange = new RecordedExchange(this, op, response)
    this.#open.add(exchange)
    exchange.onDone = () => this.#open.delete(exchange)
    exchange.forward({ method, url: routed.url, pairs, body: collected.body })
  }

  /** Records readable tunnels as requests; the rest is forwarded and named. */
  async #connect(request: IncomingMessage, socket: Duplex): Promise<void> {
    const { server, authority } = this.#options
    const target = tunnelTarget(request)
    const what = `a tunnel to ${request.url}`
    if (target === undefined) return server.refuseTunnel(socket, what)
    // Without an authority most tunnels are forwarded, so an unreachable host is reported first.
    const opened = authority ? undefined : await this.#openTunnel(target)
    if (opened === undefined && !authority) return server.refuseTunnel(socket, what)
    const opaque = await readTunnel(server, socket, target, authority)
    if (opaque === undefined) return void opened?.destroy()
    const outside = opened ?? (await this.#openTunnel(target))
    if (outside === undefined) return void socket.destroy()
    this.#tunnelled(tunnelNote(request.url ?? '', opaque.isTls))
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
    return this.wayOut.open(host, port).catch(() => undefined)
  }

  /** Reported once per host. */
  #tunnelled(name: string): void {
    if (this.#tunnels.has(name)) return
    this.#tunnels.add(name)
    const text = 'It was passed on without being read.'
    const consequence = this.#options.authority
      ? 'not recorded; replay refuses it'
      : 'not recorded; replay refuses it; record HTTPS with --tls'
    this.append({ type: 'note', kind: 'boundary', name, text, consequence })
  }

  /** Something came that was not passed on: no exchange, but people should know. */
  #refused(what: string): void {
    const text = this.#options.secrets.text(what)
    const consequence = 'replay refuses it, too'
    this.append({ type: 'note', kind: 'boundary', name: REFUSED, text, consequence })
  }

  #flush(): void {
    if (this.#stopped || this.#failure !== undefined) return
    try {
      this.#options.writer.flush()
    } catch (error) {
      this.#failure = asError(error)
    }
  }

  async #commit(): Promise<void> {
    try {
      await this.#commits.commit()
    } catch (error) {
      this.#failure = asError(error)
    }
  }

  #whyNot(): RetakeError {
    return errors.PROXY_NOT_RECORDING(this.#failure?.message ?? '')
  }
}

const asError = (error: unknown): Error =>
  error instanceof Error ? error : new Error(String(error))
