import type { FetchInput } from '../../kernel/boundary-check.js'
import path from 'node:path'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { rebuildError, type ResponseEvent, SITE_NOTE, defined } from '@retake/tape/format'
import { calledFrom, callSite, adoptSignalOrigin, findSiteLater } from '../../kernel/call-site.js'
import { errors } from '../../errors.js'
import { maskHeaders, maskUrl } from '../../headers.js'
import { natives } from '../../kernel/natives.js'
import { bindCheck, currentCheck, currentSession, outsideRuns } from '../../kernel/scope.js'
import type { Delivery, Operation, Session } from '../../kernel/session.js'
import { replace, replaceLazyClass, undoAll, type Undo } from '../patching/patch.js'
import { listenForAbort } from './abort-signals.js'
import { deliverError } from '../patching/deliver-error.js'
import { inTurn } from '../patching/in-turn.js'
import { DirectExchange, type DirectRequest, type ResponseHead } from './fetch-direct.js'
import {
  type AgentClass,
  type Dispatcher,
  globalDispatcher,
  symbolProperty,
  loadNodesFetch,
  nodesAgentClass,
  NODES_UNDICI,
} from './global-dispatcher.js'

/** `fetch`: the request is an initiation; the head, each chunk and the end are deliveries. */
export function patchFetch(): Undo {
  return undoAll([
    replace(
      globalThis,
      'fetch',
      function fetch(input: FetchInput, init?: RequestInit): Promise<Response> {
        const session = currentSession()
        if (session === undefined) return (currentCheck() ?? natives).fetch(input, init)
        return recordedFetch(session, input, init)
      },
    ),
    ...LOADED_WITH_FETCH.map((name) => replaceLazyClass(name, undefined, loadNodesFetch)),
  ])
}

/**
 * The first use of any of these loads Node's whole fetch, which compiles a parser; that belongs to
 * no run.
 */
const LOADED_WITH_FETCH = [
  'CloseEvent',
  'EventSource',
  'FormData',
  'Headers',
  'MessageEvent',
  'Response',
  'WebSocket',
]

/** A request of Node's fetch or the package undici, as announced on their diagnostics channel. */
interface AnnouncedRequest {
  readonly upgrade?: unknown
  onError(error: Error): void
}

/**
 * Requests of clients that stored `fetch` before Retake was imported, and so bypass the boundary.
 * They are announced on a channel: noted while recording, refused while a tape answers.
 */
export function watchCopiedFetch(): Undo {
  const onRequest = (message: unknown): void => {
    const session = currentSession()
    const { request } = message as { readonly request: AnnouncedRequest }
    // Global WebSockets use the same channel but are captured at their sockets. So is the package
    // undici, which may use Node's dispatcher.
    if (session === undefined || request.upgrade || !calledFrom(NODES_UNDICI, 4)) return
    if (calledFrom(PACKAGE_UNDICI, 30)) return
    if (session.remote === 'tape') return refuse(session, request)
    session.note({
      kind: 'boundary',
      name: COPY,
      text: 'a client stored fetch before Retake was loaded; import retake first, or start with node --import retake/preload',
      consequence: 'stops',
    })
  }
  subscribe(REQUEST_CHANNEL, onRequest)
  return () => void unsubscribe(REQUEST_CHANNEL, onRequest)
}

/** Fails the request. A subscriber must not throw, because that would end the process. */
function refuse(session: Session, request: AnnouncedRequest): void {
  const error = errors.BOUNDARY_NOT_REPLAYABLE(COPY)
  try {
    session.refuse?.(error)
  } catch {
    // Already reported by the session.
  }
  if (session.remote === 'tape') request.onError(error)
}

const REQUEST_CHANNEL = 'undici:request:create'
const PACKAGE_UNDICI = path.join('node_modules', 'undici', 'lib')
const COPY = 'a copy of fetch'

async function recordedFetch(
  session: Session,
  input: FetchInput,
  init: RequestInit | undefined,
): Promise<Response> {
  const request = describeRequest(input, init)
  if (!/^https?:$/.test(request.url.protocol)) return outsideRuns(() => natives.fetch(input, init))
  if (request.signal?.aborted === true) throw request.signal.reason
  const body = collectBody(session, input, init, request.headers)
  return exchange(session, request, body instanceof Promise ? await body : body)
}

function exchange(
  session: Session,
  request: DescribedRequest,
  body: CollectedBody,
): Promise<Response> {
  if (request.signal?.aborted === true) return Promise.reject(request.signal.reason)
  const site = callSite()
  const { headers } = request
  if (body.contentType !== undefined && (body.isForm === true || !headers.has('content-type')))
    headers.set('content-type', body.contentType)
  return new Promise((resolve, reject) => {
    const answer = new FetchAnswer(request, resolve, reject)
    const operation = session.perform({
      event: {
        type: 'request',
        seam: 'fetch',
        method: request.method,
        url: session.secrets.text(maskUrl(request.url.href)),
        headers: maskHeaders(session, headers),
        ...(site !== undefined && { site }),
      },
      ...(body.bytes && { body: body.bytes }),
      durable: 'deferrable',
      joins: true,
      start: (operation, edited) => {
        if (edited) headers.delete('content-length')
        answer.send(operation, edited ? { bytes: edited } : body)
      },
      deliver: (delivery) => answer.deliver(delivery),
    })
    answer.operation = operation
    if (site !== undefined) return
    if (request.signal) adoptSignalOrigin(request.signal, () => true)
    findSiteLater(resolve, (found) =>
      session.note({
        kind: 'attachment',
        name: SITE_NOTE,
        site: found,
        text: String(operation.id),
      }),
    )
  })
}

/** Node's own class, even if a server such as `@hono/node-server` put another one in front of it. */
function nativeClass<T extends 'Request' | 'Response'>(name: T): (typeof globalThis)[T] {
  let prototype = globalThis[name].prototype as object
  for (;;) {
    const parent = Object.getPrototypeOf(prototype) as object
    if (Object.getPrototypeOf(parent) === null)
      return prototype.constructor as (typeof globalThis)[T]
    prototype = parent
  }
}

export const isRequest = (input: FetchInput): input is Request =>
  input instanceof nativeClass('Request')

export interface CollectedBody {
  /** Absent when the request has no body. */
  readonly bytes?: Uint8Array
  /** The same content in a form that native fetch handles faster than bytes. */
  readonly native?: string
  /** The content type that the body implies. */
  readonly contentType?: string
  /**
   * True for a form whose boundary was replaced by a recorded one, so that the content type differs
   * from the given one.
   */
  readonly isForm?: boolean
}

/**
 * The bytes that a request will send. Strings and buffers are known immediately; streams, blobs and
 * forms are read first, in a recorded turn.
 */
export function collectBody(
  session: Session,
  input: FetchInput,
  init: RequestInit | undefined,
  headers: Headers,
): CollectedBody | Promise<CollectedBody> {
  const body = init?.body ?? undefined
  if (body === undefined)
    return isRequest(input) && input.body !== null
      ? readBody(
          session,
          input,
          headers.get('content-type')?.startsWith('multipart/form-data;') === true,
        )
      : {}
  if (typeof body === 'string')
    return { bytes: Buffer.from(body), native: body, contentType: 'text/plain;charset=UTF-8' }
  if (body instanceof URLSearchParams) {
    return {
      bytes: Buffer.from(String(body)),
      contentType: 'application/x-www-form-urlencoded;charset=UTF-8',
    }
  }
  if (ArrayBuffer.isView(body))
    return { bytes: new Uint8Array(body.buffer, body.byteOffset, body.byteLength).slice() }
  if (body instanceof ArrayBuffer) return { bytes: new Uint8Array(body).slice() }
  const bound = bindCheck()
  const wrapper = outsideRuns(() => bound(() => new (nativeClass('Response'))(body as never)))
  return readBody(session, wrapper, body instanceof FormData && !headers.has('content-type'))
}

function readBody(
  session: Session,
  source: Request | Response,
  isForm = false,
): Promise<CollectedBody> {
  const contentType = source.headers.get('content-type') ?? undefined
  // The source may be code of a tool, which must remain checked.
  const bound = bindCheck()
  return new Promise((resolve, reject) => {
    inTurn<{ readonly buffer: ArrayBuffer } | { readonly error: unknown }>(
      session,
      'fetch.body',
      (done) =>
        void bound(() => source.arrayBuffer()).then(
          (buffer) => done({ buffer }),
          (error: unknown) => done({ error }),
        ),
      (outcome) => {
        if ('error' in outcome) return reject(outcome.error)
        const collected = {
          bytes: new Uint8Array(outcome.buffer),
          ...(contentType !== undefined && { contentType }),
        }
        resolve(isForm ? withRecordedBoundary(session, collected) : collected)
      },
    )
  })
}

/**
 * Replaces the multipart boundary with a recorded one, because Node draws it at random inside
 * fetch, out of reach of patches.
 */
function withRecordedBoundary(
  session: Session,
  body: { bytes: Uint8Array; contentType?: string },
): CollectedBody {
  const drawn = /boundary=(\S+)/.exec(body.contentType ?? '')?.[1]
  if (drawn === undefined) return body
  const boundary = session.draw('FormData boundary', () => drawn)
  const text = Buffer.from(body.bytes).toString('latin1').replaceAll(drawn, boundary)
  return {
    bytes: Buffer.from(text, 'latin1'),
    contentType: `multipart/form-data; boundary=${boundary}`,
    isForm: true,
  }
}

/** A request of `fetch` without its body. */
interface DescribedRequest extends DirectRequest {
  readonly signal: AbortSignal | undefined
}

/**
 * Reads a request. In the common case it does not build a `Request`, which would cost more than the
 * exchange.
 */
function describeRequest(input: FetchInput, init: RequestInit | undefined): DescribedRequest {
  if (isRequest(input)) {
    if ((init?.body ?? undefined) === undefined && input.bodyUsed)
      throw new TypeError(
        'Cannot construct a Request with a Request object that has already been used.',
      )
    const given = settingsOf(input)
    const request =
      init === undefined
        ? input
        : outsideRuns(
            () =>
              new Request(input.url, {
                ...given,
                // An undefined option means the same as a missing one.
                ...defined(init),
                body: null,
                signal: null,
              }),
          )
    return {
      method: request.method,
      url: new URL(request.url),
      headers: new Headers(request.headers),
      signal: init?.signal === null ? undefined : (init?.signal ?? input.signal),
      init: init === undefined ? given : settingsOf(request),
    }
  }
  return {
    url: parseUrl(input),
    method: (init?.method ?? 'GET').toUpperCase(),
    headers: new Headers(init?.headers),
    signal: init?.signal ?? undefined,
    init: { ...init },
  }
}

/**
 * Everything in a request except URL, body and signal. Copied one by one, because building one
 * request from another consumes its body.
 */
const settingsOf = (request: Request): RequestInit =>
  Object.fromEntries(SETTINGS.map((name) => [name, request[name]]))

const SETTINGS = [
  ...(['method', 'headers', 'redirect', 'credentials', 'mode', 'cache'] as const),
  ...(['integrity', 'keepalive', 'referrer', 'referrerPolicy'] as const),
]

function parseUrl(input: string | URL): URL {
  try {
    return new URL(input)
  } catch (cause) {
    throw new TypeError(`Failed to parse URL from ${String(input)}`, { cause })
  }
}

/** Properties of a response from the network that its constructor cannot set. */
interface NetworkFacts {
  readonly url: string
  readonly redirected: boolean
  readonly type: string
}

const facts = new WeakMap<Response, NetworkFacts>()
const bodies = new WeakMap<Response, AnswerBody>()

/**
 * The body of an answer while it arrives. Becomes a stream only if the agent needs one: most agents
 * read it whole, and a stream costs more than the rest of a response.
 */
class AnswerBody {
  readonly #parts: Uint8Array[] = []
  #outcome: { readonly error?: unknown } | undefined
  #controller: ReadableByteStreamController | undefined
  /** A response with the stream, or with the content that was read. */
  #response: Response | undefined
  #reader: (() => void) | undefined
  #isRead = false

  constructor(readonly onCancel: () => void) {}

  get isRead(): boolean {
    return this.#response?.bodyUsed ?? this.#isRead
  }

  add(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    // A byte stream takes ownership of the memory that it gets, so it gets a copy.
    if (this.#controller) this.#controller.enqueue(new Uint8Array(bytes))
    else this.#parts.push(bytes)
  }

  end(outcome: { readonly error?: unknown } = {}): void {
    this.#outcome ??= outcome
    if (this.#controller) settle(this.#controller, outcome)
    this.#reader?.()
  }

  /** The whole body as text. Undefined if there is a stream, or it was already read; then `response` answers. */
  text(): Promise<string> | undefined {
    if (this.#response !== undefined || this.#isRead) return undefined
    this.#isRead = true
    return new Promise((resolve, reject) => {
      this.#reader = () => {
        const parts = this.#parts.splice(0)
        if (this.#outcome !== undefined && 'error' in this.#outcome) reject(this.#outcome.error)
        else resolve(decoder.decode(parts.length === 1 ? parts[0] : Buffer.concat(parts)))
      }
      if (this.#outcome !== undefined) this.#reader()
    })
  }

  /** A native response with the same body. */
  response(headers: Headers): Response {
    if (this.#response !== undefined) return this.#response
    const Native = nativeClass('Response')
    this.#response = this.#isRead ? new Native('read') : new Native(this.#stream(), { headers })
    if (this.#isRead) void this.#response.text()
    return this.#response
  }

  #stream(): ReadableStream {
    return new ReadableStream(
      {
        type: 'bytes',
        start: (controller) => {
          this.#controller = controller
          for (const part of this.#parts.splice(0)) controller.enqueue(new Uint8Array(part))
          if (this.#outcome) settle(controller, this.#outcome)
        },
        cancel: this.onCancel,
      },
      { highWaterMark: 0 },
    )
  }
}

const decoder = new TextDecoder()

function settle(
  controller: ReadableByteStreamController,
  outcome: { readonly error?: unknown },
): void {
  if ('error' in outcome) controller.error(outcome.error)
  else controller.close()
}

const immutable = (): never => {
  throw new TypeError('immutable')
}

/** Created with the first response, because touching `Response` loads Node's fetch. */
let prototypes: { readonly response: object; readonly headers: object } | undefined

/**
 * Makes a response look like one from the network: sets its URL and makes its headers immutable.
 * Uses shared prototypes, because own properties would cost more than the rest of the response.
 */
export function asFromNetwork(response: Response, from: NetworkFacts, body?: AnswerBody): Response {
  prototypes ??= makePrototypes()
  facts.set(response, from)
  if (body !== undefined) bodies.set(response, body)
  Object.setPrototypeOf(response, prototypes.response)
  Object.setPrototypeOf(response.headers, prototypes.headers)
  return response
}

/** The response whose body is a stream; a new one if no stream was requested yet. */
const withStream = (response: Response): Response =>
  bodies.get(response)?.response(response.headers) ?? response

const method = (value: Function): PropertyDescriptor => ({
  value,
  writable: true,
  configurable: true,
})

function makePrototypes(): NonNullable<typeof prototypes> {
  const native = nativeClass('Response').prototype
  const reading = Object.fromEntries(
    (['arrayBuffer', 'blob', 'bytes', 'formData'] as const)
      .filter((name) => name in native)
      .map((name) => [
        name,
        method(function (this: Response) {
          return (Reflect.get(native, name) as () => unknown).call(withStream(this))
        }),
      ]),
  )
  const fact = (name: keyof NetworkFacts): PropertyDescriptor => ({
    get(this: Response) {
      return facts.get(this)?.[name]
    },
    configurable: true,
  })
  return {
    response: Object.create(native, {
      url: fact('url'),
      redirected: fact('redirected'),
      type: fact('type'),
      ...reading,
      text: method(function (this: Response): Promise<string> {
        return bodies.get(this)?.text() ?? native.text.call(withStream(this))
      }),
      json: method(function (this: Response): Promise<unknown> {
        const text = bodies.get(this)?.text()
        return (
          text?.then((json) => JSON.parse(json) as unknown) ?? native.json.call(withStream(this))
        )
      }),
      body: {
        get(this: Response): unknown {
          return Reflect.get(native, 'body', withStream(this))
        },
        configurable: true,
      },
      bodyUsed: {
        get(this: Response): unknown {
          return bodies.get(this)?.isRead ?? Reflect.get(native, 'bodyUsed', this)
        },
        configurable: true,
      },
      clone: method(function (this: Response): Response {
        const copy = native.clone.call(withStream(this))
        const from = facts.get(this)
        return from ? asFromNetwork(copy, from) : copy
      }),
    }),
    headers: Object.create(Headers.prototype, {
      append: method(immutable),
      delete: method(immutable),
      set: method(immutable),
    }),
  }
}

/** Statuses that do not allow a body. */
const NULL_BODY = new Set([101, 204, 205, 304])

/** One exchange as the agent sees it: a promise of a response, then a stream of its chunks. */
class FetchAnswer {
  operation: Operation | undefined
  #body: AnswerBody | undefined
  #direct: DirectExchange | undefined
  #native: AbortController | undefined
  #reader: ReadableStreamDefaultReader | undefined
  /** The check of the tool in which the request was made. */
  readonly #check = currentCheck()
  readonly #bound = bindCheck()
  readonly #onAbort = (): void => {
    const reason: unknown = this.request.signal?.reason
    this.#finish()

    // Omits the agent's reason, whose stack native fetch would overwrite.
    outsideRuns(() => this.#giveUp())
    this.#fail(reason)
  }

  constructor(
    readonly request: DescribedRequest,
    readonly resolve: (response: Response) => void,
    readonly reject: (error: unknown) => void,
  ) {
    if (request.signal) listenForAbort(request.signal, this.#onAbort)
  }

  send(operation: Operation, body: CollectedBody): void {
    const { url, method, headers, signal } = this.request
    const init: RequestInit = {
      ...this.request.init,
      method,
      headers,
      signal: null,
      ...(this.#check === undefined && privateDispatcher(this.request.init.dispatcher)),
    }
    delete init.body
    if (body.bytes !== undefined)
      init.body = body.native ?? (body.bytes as RequestInit['body'] & {})
    // A checked call uses its own client.
    if (this.#check === undefined)
      this.#direct = DirectExchange.send(
        operation,
        { url, method, headers, init },
        {
          onHead: (head) =>
            operation.complete(responseHead(operation.session, head), undefined, head),
          onAdopted: (response) => void this.#readNative(operation, () => response),
        },
      )
    if (this.#direct !== undefined) return
    // Only if the agent has a signal, because native fetch is much slower with one. Without it, the
    // body can still be cancelled.
    if (signal) {
      this.#native = new AbortController()
      init.signal = this.#native.signal
    }
    const client = this.#check ?? natives
    void this.#readNative(operation, () => this.#bound(() => client.fetch(url, init)))
  }

  async #readNative(operation: Operation, fetch: () => Promise<Response>): Promise<void> {
    try {
      const response = await fetch()
      operation.complete(responseHead(operation.session, response), undefined, response)
      if (response.body === null) return
      const reader = response.body.getReader()
      this.#reader = reader
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        operation.complete({ type: 'deliver', part: 'chunk' }, part.value)
      }
      operation.complete({ type: 'deliver', part: 'end' })
    } catch (error) {
      deliverError(operation, error)
    }
  }

  deliver({ event, body, native }: Delivery): void {
    if (event.type === 'response') return this.#head(event, native as ResponseHead | undefined)
    if (event.type !== 'deliver') return
    if (event.part === 'chunk') this.#body?.add(body)
    else if (event.part === 'end') {
      this.#finish()
      this.#body?.end()
    } else if (event.part === 'error' && event.error) {
      this.#finish()
      this.#fail(native ?? rebuildError(event.error))
    }
  }

  /** `native` is set while recording: the agent gets the cookies, the tape does not. */
  #head(event: Omit<ResponseEvent, 'seq' | 'at' | 'op'>, native: ResponseHead | undefined): void {
    const bodiless = event.empty === true || NULL_BODY.has(event.status)
    if (!bodiless)
      this.#body = new AnswerBody(() => {
        this.#finish()
        outsideRuns(() => this.#giveUp())
      })
    if (event.empty === true) this.#finish()
    const shown = native ? { ...event, headers: [...native.headers], url: native.url } : event
    const body = this.#body
    const response = new (nativeClass('Response'))(null, {
      status: shown.status,
      statusText: shown.statusText,
      headers: shown.headers as [string, string][],
    })
    const { url = '', redirected = false, responseType: type = 'basic' } = shown
    this.resolve(asFromNetwork(response, { url, redirected, type }, body))
  }

  #fail(error: unknown): void {
    if (this.#body) this.#body.end({ error })
    else this.reject(error)
  }

  #finish(): void {
    this.operation?.close()
    this.request.signal?.removeEventListener('abort', this.#onAbort)
  }

  #giveUp(): void {
    this.#direct?.abort()
    if (this.#native) this.#native.abort()
    else this.#reader?.cancel().catch(() => {})
  }
}

function responseHead(
  session: Session,
  response: ResponseHead,
): Omit<ResponseEvent, 'seq' | 'at' | 'op'> {
  return {
    type: 'response',
    status: response.status,
    statusText: response.statusText,
    headers: maskHeaders(session, response.headers),
    url: session.secrets.text(maskUrl(response.url)),
    ...(response.redirected && { redirected: true }),
    ...(response.type !== 'basic' && { responseType: response.type }),
    ...(response.body === null && { empty: true }),
  }
}

type DispatcherInit = Pick<RequestInit, 'dispatcher'>

const copies = new WeakMap<Dispatcher, DispatcherInit>()

/**
 * Recorded requests use their own connection pool. A pool shared with the npm package undici could
 * give a connection to code that must be captured itself. A dispatcher that cannot be copied, for
 * example a proxy, is used unchanged.
 */
function privateDispatcher(given: Dispatcher | null | undefined): DispatcherInit {
  const shared = given ?? globalDispatcher()
  if (shared === undefined) return {}
  let copy = copies.get(shared)
  if (copy === undefined) copies.set(shared, (copy = copyOfAgent(shared)))
  return copy
}

/**
 * A new agent with the options of `shared`; empty if they include code of the program. It is Node's
 * agent even if `shared` is the npm package's: sending a request with the package would start its
 * shared timer outside the run, where a replay does not start it.
 */
function copyOfAgent(shared: Dispatcher): DispatcherInit {
  if (shared.constructor.name !== 'Agent') return {}
  const OwnAgent = shared.constructor as AgentClass
  const plain = new OwnAgent()
  const isAgent =
    shared.dispatch === plain.dispatch &&
    symbolProperty(shared, 'factory') === symbolProperty(plain, 'factory')
  const options = symbolProperty(shared, 'options')
  if (!isAgent || hasFunctions(options)) return {}
  return { dispatcher: new (nodesAgentClass() ?? OwnAgent)(options as object | undefined) }
}

/** Also true if it cannot be known. */
function hasFunctions(options: unknown): boolean {
  let found = false
  try {
    JSON.stringify(options, (_, value: unknown) => {
      found ||= typeof value === 'function'
      return value
    })
  } catch {
    return true
  }
  return found
}
