import { natives } from '../../kernel/natives.js'
import { outsideRuns } from '../../kernel/scope.js'
import type { Operation } from '../../kernel/session.js'
import { deliverError } from '../patching/deliver-error.js'

/** The part of the HTTP client below Node's `fetch` that is the same in all supported versions. */
interface Client {
  dispatch(options: SentRequest, handler: AnswerHandler): unknown
}

interface SentRequest {
  readonly origin: string
  readonly path: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | null
}

interface AnswerHandler {
  onConnect(abort: Abort): void
  onHeaders(status: number, raw: Buffer[], resume: () => void, statusText: string): boolean
  onData(bytes: Buffer): boolean
  onComplete(trailers: Buffer[]): void
  onError(error: Error): void
}

type Abort = (reason?: Error) => void

/** Head of an answer; a `Response` has these properties. */
export type ResponseHead = Pick<
  Response,
  'status' | 'statusText' | 'headers' | 'url' | 'redirected' | 'type'
> & { readonly body: unknown }

export interface DirectRequest {
  readonly url: URL
  readonly method: string
  readonly headers: Headers
  /** Options for native `fetch`, without a signal. */
  readonly init: RequestInit
}

interface AnswerReceiver {
  /** Called when the answer begins. Its other parts are reported to the operation. */
  onHead(head: ResponseHead): void
  /** Called when a native `fetch` takes over: it reads the answer, or fails. */
  onAdopted(response: Promise<Response>): void
}

/**
 * Sends a request of `fetch` with the client below native `fetch`, whose streams and copies cost
 * more than sending and recording the request. Sends the same bytes as native `fetch`, and reads
 * plain, successful answers. Every other answer, and every failure, is passed to a native `fetch`
 * that behaves as if it had sent the request, and does the decoding, redirects and errors.
 */
export class DirectExchange implements AnswerHandler {
  readonly #operation: Operation
  readonly #request: DirectRequest
  readonly #receiver: AnswerReceiver
  readonly #client: Client
  #abort: Abort | undefined
  #isAborted = false
  #hasHead = false
  /** Parts of the answer that will be reported next. */
  #head: ResponseHead | undefined
  readonly #pieces: Buffer[] = []
  #ending: (() => void) | undefined
  #isReporting = false
  #hasWaited = false
  /** Aborts the native `fetch` that took over the answer. */
  #adoption: AbortController | undefined
  /** Handler of the native `fetch` that took over, once it is ready for the answer. */
  #adopter: AnswerHandler | undefined
  #failure: Error | undefined

  private constructor(
    operation: Operation,
    request: DirectRequest,
    client: Client,
    receiver: AnswerReceiver,
  ) {
    this.#operation = operation
    this.#request = request
    this.#client = client
    this.#receiver = receiver
  }

  /** Sends a request; undefined if only native `fetch` can send it. */
  static send(
    operation: Operation,
    request: DirectRequest,
    receiver: AnswerReceiver,
  ): DirectExchange | undefined {
    const { url, method, headers, init } = request
    if (init.dispatcher?.constructor.name !== 'Agent' || !isPlain(request)) return undefined
    const { body = null } = init
    const added = addedHeaders(url.protocol, method, body !== null)
    if (added === undefined) return undefined
    const client = init.dispatcher as unknown as Client
    const exchange = new DirectExchange(operation, request, client, receiver)
    const given = Object.fromEntries(headers)
    client.dispatch(
      {
        origin: url.origin,
        path: url.pathname + url.search,
        method,
        // Given headers come first, and replace added ones.
        headers: { ...given, ...added, ...given },
        body: body as SentRequest['body'],
      },
      exchange,
    )
    return exchange
  }

  abort(): void {
    this.#isAborted = true
    this.#abort?.()
    this.#adoption?.abort()
  }

  onConnect(abort: Abort): void {
    this.#abort = abort
    if (this.#isAborted) abort()
  }

  /** If native `fetch` takes over, the answer waits until it is ready. */
  onHeaders(status: number, raw: Buffer[], resume: () => void, statusText: string): boolean {
    if (status < 200) return true
    const headers = new Headers(pairsOf(raw))
    const isEncoded = headers.has('content-encoding')
    if (isEncoded && encoding.size < ORIGINS_MAX) encoding.add(this.#request.url.origin)
    if (status >= 300 || NO_BODY.has(status) || isEncoded) {
      this.#adopt((adopter) => {
        adopter.onConnect((reason) => this.#abort?.(reason))
        adopter.onHeaders(status, raw, resume, statusText)
        resume()
      })
      return false
    }
    this.#hasHead = true
    const { href: url } = this.#request.url
    const rest = { url, redirected: false, type: 'basic', body: true } as const
    this.#head = { status, statusText, headers, ...rest }
    this.#reportSoon()
    return true
  }

  onData(bytes: Buffer): boolean {
    if (this.#adopter) return this.#adopter.onData(bytes)
    this.#pieces.push(bytes)
    this.#reportSoon()
    return true
  }

  onComplete(trailers: Buffer[]): void {
    if (this.#adopter) return this.#adopter.onComplete(trailers)
    this.#ending = () => this.#operation.complete({ type: 'deliver', part: 'end' })
    this.#reportSoon()
  }

  onError(error: Error): void {
    this.#failure = error
    if (this.#adopter) return this.#adopter.onError(error)
    if (this.#adoption || this.#isAborted) return
    if (!this.#hasHead) return this.#adopt(() => {})
    this.#ending = () =>
      deliverError(this.#operation, new TypeError('terminated', { cause: error }))
    this.#reportSoon()
  }

  /**
   * Reports one socket read when the client is done with it, like native `fetch`: the body of one
   * read is one chunk, and the client has requested its turn of the event loop before the agent's.
   * The stack shows whether another turn follows.
   */
  #reportSoon(): void {
    if (this.#isReporting) return
    this.#isReporting = true
    natives.queueMicrotask(() => this.#report())
  }

  #report(): void {
    const isBare = this.#head !== undefined && this.#pieces.length === 0 && !this.#ending
    // Waits as long as native `fetch` before it delivers a head. In that time, the end of an empty
    // answer arrives, before a program can cancel its body.
    if (isBare && !this.#hasWaited) {
      this.#hasWaited = true
      natives.setImmediate(() => this.#report())
      return
    }
    this.#isReporting = false
    if (this.#head) this.#receiver.onHead(this.#head)
    this.#head = undefined
    const pieces = this.#pieces.splice(0)
    if (pieces.length > 0)
      this.#operation.complete(
        { type: 'deliver', part: 'chunk' },
        pieces.length === 1 ? pieces[0] : Buffer.concat(pieces),
      )
    this.#ending?.()
  }

  /**
   * Gives this answer to the first request of the native `fetch`. Later requests, after a redirect,
   * are really sent.
   */
  #adopt(begin: (adopter: AnswerHandler) => void): void {
    const { url, init } = this.#request
    const client = this.#client
    const adoption = new AbortController()
    this.#adoption = adoption
    const dispatcher: Client = {
      dispatch: (options, handler) => {
        if (this.#adopter) return client.dispatch(options, handler)
        this.#adopter = handler
        begin(handler)
        if (this.#failure) handler.onError(this.#failure)
        return true
      },
    }
    const adopted = { ...init, signal: adoption.signal, dispatcher: dispatcher as never }
    this.#receiver.onAdopted(outsideRuns(() => natives.fetch(url, adopted)))
  }
}

/** Origins that encode their answers; their next requests use native `fetch`. */
const encoding = new Set<string>()
const ORIGINS_MAX = 1000

/** Success statuses without a body. */
const NO_BODY: ReadonlySet<number> = new Set([204, 205])

const METHODS: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])

/** Options that do not affect how a request is sent, or that `send` handles. */
const OPTIONS: ReadonlySet<string> = new Set(['method', 'headers', 'body', 'signal', 'dispatcher'])

/** Headers that the client does not send unchanged. */
const CONNECTION_HEADERS = [
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
]

function isPlain({ url, method, headers, init }: DirectRequest): boolean {
  const body = init.body as SentRequest['body'] | undefined
  return (
    METHODS.has(method) &&
    !encoding.has(url.origin) &&
    (body ? method !== 'GET' && body.length > 0 : body !== '') &&
    Object.keys(init).every((name) => OPTIONS.has(name) || Reflect.get(init, name) === undefined) &&
    url.username === '' &&
    url.password === '' &&
    !url.href.includes('#') &&
    !CONNECTION_HEADERS.some((name) => headers.has(name))
  )
}

/** False if the program replaced `fetch` before Retake was loaded, so that its function must be called. */
const isNodesFetch = String(natives.fetch).includes('internal/deps/undici/undici')

type HeaderValues = Readonly<Record<string, string>>

const addedByKind = new Map<string, HeaderValues | undefined>()

/**
 * Headers that native `fetch` adds to a request of this kind, learned from one that is never sent.
 * Undefined until they are known, or if the client of this Node is unknown.
 */
function addedHeaders(
  protocol: string,
  method: string,
  hasBody: boolean,
): HeaderValues | undefined {
  const kind = `${protocol} ${method} ${hasBody}`
  if (addedByKind.has(kind) || !isNodesFetch) return addedByKind.get(kind)
  addedByKind.set(kind, undefined)
  const dispatcher: Client = {
    dispatch: (options, handler) => {
      const { 'content-length': _, 'content-type': __, ...added } = options.headers
      if (isKnownClient(options, handler)) addedByKind.set(kind, added)
      throw new Error('this request is not sent')
    },
  }
  const body = hasBody ? 'body' : null
  natives
    .fetch(`${protocol}//localhost/`, { method, body, dispatcher: dispatcher as never })
    .catch(() => {})
  return undefined
}

const KNOWN_OPTIONS = ['path', 'origin', 'method', 'body', 'headers', 'maxRedirections', 'upgrade']
const KNOWN_HANDLERS = ['onConnect', 'onHeaders', 'onData', 'onComplete', 'onError'] as const

const isKnownClient = (options: SentRequest, handler: AnswerHandler): boolean =>
  Object.keys(options).every((name) => KNOWN_OPTIONS.includes(name)) &&
  KNOWN_HANDLERS.every((name) => typeof handler[name] === 'function')

function pairsOf(raw: readonly Buffer[]): [string, string][] {
  const pairs: [string, string][] = []
  for (let at = 0; at + 1 < raw.length; at += 2)
    pairs.push([String(raw[at]), raw[at + 1]?.toString('latin1') ?? ''])
  return pairs
}
