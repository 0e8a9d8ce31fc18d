import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { type RecordedError, type Tape } from '@retake/tape/format'
import { maskHeaders, maskUrl } from '../headers.js'
import { checkIntact } from '../runs/open-for-replay.js'
import type { SecretMask } from '../secrets/secrets.js'
import type { ComparedRequest } from '../player/content-matcher.js'
import { type Divergence, withText } from '../texts/divergence-text.js'
import { AnswerOrder } from './answer-order.js'
import type { CertificateAuthority } from './certificate-authority.js'
import type { ClientProcess } from './client-process.js'
import { headerPairs, hideCredentials, RequestQueue, shownHeaders } from './proxy-request.js'
import { describeRefusal, type ProxyRefusal, requestName } from '../texts/proxy-divergence.js'
import { matchersThatIgnore, type RequestMatcher } from './matchers.js'
import {
  answerProxyError,
  breakOff,
  isClientGone,
  REFUSED,
  tunnelNote,
  upstreamFailure,
} from './proxy-error.js'
import type { ProxyServer } from './proxy-server.js'
import { findRoute, redirectOn, type Route } from './routes.js'
import { type NearestRequest, type TapedExchange, TapedExchanges } from './taped-exchanges.js'
import { errors } from '../errors.js'
import { readTunnel, tunnelTarget } from './tunnels.js'

export interface ReplayingProxyOptions {
  readonly server: ProxyServer
  readonly tape: Tape
  readonly routes: readonly Route[]
  readonly secrets: SecretMask
  readonly matchers: readonly RequestMatcher[]
  /**
   * The replayed program, if there is exactly one. Its concurrent requests are answered in the
   * recorded order.
   */
  readonly client?: ClientProcess
  /** Serves the HTTPS of the client, if the client trusts it. */
  readonly authority?: CertificateAuthority
  /** Reproduces the recorded pauses. */
  readonly paced?: boolean
  /** Called for every request; with a divergence if it was not served. */
  readonly onRequest?: (what: string, divergence: Divergence | undefined) => void
}

/**
 * Answers from a tape and never sends anything. A request that is not on the tape gets status 502
 * with the difference; later requests are served again.
 */
export class ReplayingProxy {
  readonly exchanges: TapedExchanges
  readonly misses: Divergence[] = []
  /** Targets that were forwarded unrecorded while recording, and are refused now. */
  readonly refusedTunnels = new Set<string>()
  /** Names of the notes of the recording. */
  readonly #notes = new Set<string>()
  readonly #requests: RequestQueue
  readonly #options: ReplayingProxyOptions
  /** Refusals of the recording that have not been repeated yet. */
  readonly #refusals: string[] = []
  readonly #order: AnswerOrder
  /** Number of requests that were answered from the tape. */
  served = 0

  constructor(options: ReplayingProxyOptions) {
    checkIntact(options.tape)
    this.#options = options
    this.#requests = new RequestQueue(options.client)
    this.exchanges = new TapedExchanges(options.tape, options.matchers)
    this.#order = new AnswerOrder(this.exchanges.all, options.client)
    for (const event of options.tape.events()) {
      if (event.type !== 'note') continue
      if (event.name === REFUSED) this.#refusals.push(event.text ?? '')
      this.#notes.add(event.name)
    }
    options.server.serve({
      handle: (request, response) => this.#handle(request, response),
      refused: (refusal) => this.#refused(refusal),
      ...(options.client && { connect: (request, socket) => this.#connect(request, socket) }),
    })
  }

  async stop(): Promise<void> {
    this.#order.off()
    await this.#options.server.close()
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { routes, tape, paced = false, onRequest } = this.#options
    const { method = 'GET' } = request
    const target = this.#options.server.targetOf(request)
    const url = findRoute(routes, target, request.headers.host, this.#options.client)
    const collected = await this.#requests.collect(request)
    if (url === undefined) {
      this.#refused({ reason: 'no provider', request: `${method} ${maskUrl(target)}` })
      return answerProxyError(response, 502, errors.PROXY_NO_ROUTE(method, target, routes))
    }
    if ('problem' in collected) {
      this.#refused({ reason: collected.problem, request: `${method} ${maskUrl(target)}` })
      return void response.destroy()
    }
    // The request as it would be on the tape.
    const body = collected.body
    const { secrets } = this.#options
    const pairs = headerPairs(request.rawHeaders)
    hideCredentials(secrets, pairs, url)
    const current = {
      method,
      url: secrets.text(maskUrl(url.href)),
      headers: maskHeaders(this.#options, pairs),
      body: secrets.bytes(body),
    }
    const found = this.exchanges.take(current)
    const what = `${current.method} ${current.url}`
    if (found === undefined) {
      const { divergence, nearest } = explainMiss(current, this.exchanges.nearest(current))
      this.misses.push(divergence)
      this.#order.off()
      onRequest?.(what, divergence)
      const error = errors.PROXY_MISS(what, divergence.explanation)
      return answerProxyError(response, 502, error, { nearest })
    }
    this.served += 1
    onRequest?.(what, undefined)
    const redirect = (location: string): string => redirectOn(routes, { target, url }, location)
    await replayExchange(tape, found, response, { paced, order: this.#order, redirect })
  }

  async #connect(request: IncomingMessage, socket: Duplex): Promise<void> {
    const { server, authority } = this.#options
    const target = tunnelTarget(request)
    if (target === undefined || (!authority && target.port === HTTPS_PORT))
      return server.refuseTunnel(socket, request.url)
    if ((await readTunnel(server, socket, target, authority)) === undefined) return
    this.#refused({ reason: 'tunnel', target: request.url ?? '' })
    socket.destroy()
  }

  /**
   * Not a divergence if the recording refused it, too. Tunnels that were forwarded unrecorded are
   * reported separately.
   */
  #refused(refusal: ProxyRefusal): void {
    if (refusal.reason === 'tunnel') {
      const { target } = refusal
      if ([true, false].some((isTls) => this.#notes.has(tunnelNote(target, isTls))))
        return void this.refusedTunnels.add(target)
    }
    const what = describeRefusal(refusal)
    const at = this.#refusals.indexOf(this.#options.secrets.text(what))
    if (at >= 0) return void this.#refusals.splice(at, 1)
    const miss = withText({ ...UNEXPECTED, code: 'request-refused', refusal })
    this.misses.push(miss)
    this.#options.onRequest?.(what, miss)
  }
}

/** `nearest` is for the body of the answer. */
function explainMiss(request: ComparedRequest, near: NearestRequest | undefined) {
  const current = requestName(request)
  if (near === undefined)
    return { divergence: withText({ ...UNEXPECTED, code: 'request-unknown', current }) }
  const { request: recorded, mismatches, times } = near
  const { seq, method, url } = recorded
  const nearest = { event: seq, method, url, differences: mismatches }
  if (times > 0) {
    const facts = { ...UNEXPECTED, seq, recorded, current, times }
    return { divergence: withText({ ...facts, code: 'request-repeated' }), nearest }
  }
  const matchers = matchersThatIgnore(mismatches)
  const divergence = withText({
    seq,
    kind: 'different',
    code: 'request-differs',
    current,
    recorded,
    mismatches,
    ...(matchers && { matchers }),
  })
  return { divergence, nearest }
}

const UNEXPECTED = { seq: 0, kind: 'unexpected', mismatches: [] } as const

/**
 * Grace period for a client that disconnected in the recording but does not now; then its
 * connection is closed.
 */
const PATIENCE_MS = 30_000

/** Time after which a client that has not received a piece counts as not reading. */
const BLOCKED_MS = 50

/**
 * Sends a recorded answer: status, headers, and each recorded piece in its own write. It ends as
 * recorded: complete, broken off, or open until the client disconnects.
 */
async function replayExchange(
  tape: Tape,
  exchange: TapedExchange,
  response: ServerResponse,
  {
    paced,
    order,
    redirect,
  }: {
    readonly paced: boolean
    readonly order: AnswerOrder
    readonly redirect: (location: string) => string
  },
): Promise<void> {
  const { request, parts } = exchange
  const started = performance.now()
  order.begin(exchange)
  response.on('close', () => order.done(exchange))
  for (const [index, part] of parts.entries()) {
    if (paced) await pause(part.at - request.at - (performance.now() - started), response)
    if (part.type === 'deliver' && part.error && isClientGone(part.error)) order.pass(exchange)
    else await order.turn(exchange, index)
    if (response.destroyed) return
    if (part.type === 'response') {
      response.sendDate = false
      const headers = shownHeaders(part.status, part.headers, redirect)
      response.writeHead(part.status, part.statusText, headers)
      response.flushHeaders()
    } else if (part.type === 'deliver' && part.part === 'chunk') {
      await write(response, tape.body(part.seq), () => order.pass(exchange))
    } else if (part.type === 'deliver' && part.part === 'end') {
      return void response.end()
    } else if (part.type === 'deliver' && part.error) {
      return fail(response, part.error, part.at - request.at)
    }
  }
  if (response.headersSent) breakOff(response)
  else
    answerProxyError(response, 502, errors.PROXY_ANSWER_CUT_OFF(`${request.method} ${request.url}`))
}

async function fail(response: ServerResponse, error: RecordedError, ms: number): Promise<void> {
  if (isClientGone(error)) {
    await pause(ms + PATIENCE_MS, response)
    response.destroy()
  } else if (response.headersSent) breakOff(response)
  else answerProxyError(response, 502, upstreamFailure(error))
}

/** Resolves when the piece has been sent, so that the next one is a separate piece. */
function write(response: ServerResponse, bytes: Uint8Array, onBlocked: () => void): Promise<void> {
  return new Promise((resolve) => {
    const blocked = setTimeout(onBlocked, BLOCKED_MS)
    const left = (): void => {
      clearTimeout(blocked)
      response.off('close', left)
      setImmediate(resolve)
    }
    response.once('close', left)
    response.write(bytes, left)
  })
}

/** Ends early if the client disconnects. */
function pause(ms: number, response: ServerResponse): Promise<void> {
  if (ms <= 0 || response.destroyed) return Promise.resolve()
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      response.off('close', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    response.on('close', done)
  })
}

const HTTPS_PORT = 443
