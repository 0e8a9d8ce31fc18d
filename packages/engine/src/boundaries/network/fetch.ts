import { rebuildError, recordError } from '@retake/tape'
import type { ResponseEvent } from '@retake/tape'
import { callSite } from '../../call-site.js'
import { maskHeaders, maskUrl } from '../../headers.js'
import { natives } from '../../natives.js'
import { carryBounds, currentBounds, currentSession, outsideRuns } from '../../scope.js'
import type { Delivery, Operation, Session } from '../../sessions/session.js'
import { collectBody } from './fetch-body.js'
import type { CollectedBody, FetchInput } from './fetch-body.js'
import { fetchWithin } from './guarded/fetch-within.js'
import { asFromNetwork } from './network-response.js'
import { replace } from '../patch.js'
import type { Undo } from '../patch.js'

/** `fetch`: the request is an initiation, the head, each chunk and the end are deliveries. */
export function patchFetch(): Undo {
  return replace(
    globalThis,
    'fetch',
    function fetch(input: FetchInput, init?: RequestInit): Promise<Response> {
      const session = currentSession()
      if (session === undefined) {
        const bounds = currentBounds()
        return bounds.length === 0 ? natives.fetch(input, init) : fetchWithin(bounds, input, init)
      }
      return recordedFetch(session, input, init)
    },
  )
}

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

interface DescribedRequest {
  readonly method: string
  readonly url: URL
  readonly headers: Headers
  readonly signal: AbortSignal | undefined
  /** What native fetch is called with; the body and the signal are put in later. */
  readonly init: RequestInit
}

/** Reads what is asked without building a `Request` for the common case: that costs more than the exchange. */
function describeRequest(input: FetchInput, init: RequestInit | undefined): DescribedRequest {
  if (input instanceof Request) {
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
                ...withoutGaps(init),
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
  const url = parseUrl(input)
  const method = (init?.method ?? 'GET').toUpperCase()
  return {
    method,
    url,
    headers: new Headers(init?.headers),
    signal: init?.signal ?? undefined,
    init: { ...init },
  }
}

/** What is there but undefined changes nothing. */
const withoutGaps = (init: RequestInit): RequestInit =>
  Object.fromEntries(Object.entries(init).filter(([, value]) => value !== undefined))

/** All of a request but its address, body and signal. Read one by one: to build one from another takes its body away. */
function settingsOf(request: Request): RequestInit {
  const { method, headers, redirect, credentials, mode, cache } = request
  const { integrity, keepalive, referrer, referrerPolicy } = request
  return {
    method,
    headers,
    redirect,
    credentials,
    mode,
    cache,
    integrity,
    keepalive,
    referrer,
    referrerPolicy,
  } as RequestInit
}

function parseUrl(input: string | URL): URL {
  try {
    return new URL(input)
  } catch (cause) {
    throw new TypeError(`Failed to parse URL from ${String(input)}`, { cause })
  }
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
    answer.operation = session.perform({
      event: {
        type: 'request',
        seam: 'fetch',
        method: request.method,
        url: session.secrets.text(maskUrl(request.url.href)),
        headers: maskHeaders(session, headers),
        ...(site !== undefined && { site }),
      },
      ...(body.bytes && { body: body.bytes }),
      durable: true,
      start: (operation, edited) => {
        if (edited) headers.delete('content-length')
        void answer.goLive(operation, edited ? { bytes: edited } : body)
      },
      deliver: (delivery) => answer.deliver(delivery),
    })
  })
}

/** Statuses whose responses must not have a body. */
const NULL_BODY = new Set([101, 204, 205, 304])

/** One exchange as the agent sees it: a promise of a response, then a stream of its chunks. */
class FetchAnswer {
  operation: Operation | undefined
  #stream: ReadableByteStreamController | undefined
  #native: AbortController | undefined
  #reader: ReadableStreamDefaultReader | undefined
  /** Of the guarded calls that the run was begun in. */
  readonly #bounds = currentBounds()
  readonly #bound = carryBounds()
  readonly #onAbort = (): void => this.#abort()

  constructor(
    readonly request: DescribedRequest,
    readonly resolve: (response: Response) => void,
    readonly reject: (error: unknown) => void,
  ) {
    request.signal?.addEventListener('abort', this.#onAbort, { once: true })
  }

  async goLive(operation: Operation, body: CollectedBody): Promise<void> {
    // A signal makes native fetch a good deal slower; without one only the body can be given up.
    this.#native = this.request.signal && new AbortController()
    try {
      const init: RequestInit = {
        ...this.request.init,
        method: this.request.method,
        headers: this.request.headers,
        signal: this.#native?.signal ?? null,
        ...(this.#bounds.length === 0 && privateDispatcher()),
      }
      delete init.body
      if (body.bytes !== undefined)
        init.body = body.native ?? (body.bytes as RequestInit['body'] & {})
      const response = await (this.#bounds.length === 0
        ? natives.fetch(this.request.url, init)
        : this.#bound(() => fetchWithin(this.#bounds, this.request.url, init)))
      operation.complete(responseHead(operation.session, response), undefined, response)
      if (response.body === null) return
      const reader = response.body.getReader()
      this.#reader = reader
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        operation.complete({ type: 'deliver', part: 'chunk' }, part.value)
      }
      operation.complete({ type: 'deliver', part: 'end' })
    } catch (error) {
      operation.complete(
        { type: 'deliver', part: 'error', error: recordError(error) },
        undefined,
        error,
      )
    }
  }

  deliver({ event, body, native }: Delivery): void {
    if (event.type === 'response') return this.#head(event, native as Response | undefined)
    if (event.type !== 'deliver') return
    if (event.part === 'chunk') this.#chunk(body)
    else if (event.part === 'end') {
      this.#finish()
      this.#stream?.close()
    } else if (event.part === 'error' && event.error) {
      this.#finish()
      this.#fail(native ?? rebuildError(event.error))
    }
  }

  /** `native` is there while recording: the agent gets its cookies, the tape does not. */
  #head(event: Omit<ResponseEvent, 'seq' | 'at' | 'op'>, native: Response | undefined): void {
    const bodiless = event.empty === true || NULL_BODY.has(event.status)
    const stream = bodiless
      ? null
      : new ReadableStream(
          {
            type: 'bytes',
            start: (controller) => void (this.#stream = controller),
            cancel: () => {
              this.#finish()
              outsideRuns(() => this.#giveUp())
            },
          },
          { highWaterMark: 0 },
        )
    if (event.empty === true) this.#finish()
    const shown = native ? { ...event, headers: [...native.headers], url: native.url } : event
    this.resolve(buildResponse(stream, shown))
  }

  /** A byte stream takes the memory of what it is given: it gets a copy. */
  #chunk(bytes: Uint8Array): void {
    if (bytes.length > 0) this.#stream?.enqueue(new Uint8Array(bytes))
  }

  #fail(error: unknown): void {
    if (this.#stream) this.#stream.error(error)
    else this.reject(error)
  }

  #finish(): void {
    this.operation?.close()
    this.request.signal?.removeEventListener('abort', this.#onAbort)
  }

  #abort(): void {
    const reason: unknown = this.request.signal?.reason
    this.#finish()
    // Not the agent's reason: native fetch would overwrite its stack.
    outsideRuns(() => this.#giveUp())
    this.#fail(reason)
  }

  #giveUp(): void {
    if (this.#native) this.#native.abort()
    else this.#reader?.cancel().catch(() => {})
  }
}

function responseHead(
  session: Session,
  response: Response,
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

function buildResponse(
  stream: ReadableStream | null,
  event: Omit<ResponseEvent, 'seq' | 'at' | 'op'>,
): Response {
  const response = new Response(stream, {
    status: event.status,
    statusText: event.statusText,
    headers: event.headers as [string, string][],
  })
  return asFromNetwork(response, {
    url: event.url ?? '',
    redirected: event.redirected ?? false,
    type: event.responseType ?? 'basic',
  })
}

let dispatcher: Pick<RequestInit, 'dispatcher'> | undefined

/**
 * Recorded requests use their own connection pool: one shared with the npm
 * package undici could hand a connection to code that must be captured itself.
 */
function privateDispatcher(): Pick<RequestInit, 'dispatcher'> {
  if (dispatcher === undefined) {
    const shared = globalThis as unknown as Record<
      symbol,
      { constructor: new () => NonNullable<RequestInit['dispatcher']> } | undefined
    >
    const found =
      shared[Symbol.for('undici.globalDispatcher.2')] ??
      shared[Symbol.for('undici.globalDispatcher.1')]
    dispatcher = found ? { dispatcher: new found.constructor() } : {}
  }
  return dispatcher
}

/**
 * Node loads its fetch at the first use. What that does, like compiling a
 * parser, belongs to no run, and it must not find the globals patched.
 */
export function loadFetch(): void {
  outsideRuns(() => new Response())
}

/** Loads it and waits until it is ready, so that a whole-process run starts with nothing under way. */
export async function warmUpFetch(): Promise<void> {
  await outsideRuns(() => natives.fetch('data:text/plain,').then((response) => response.text()))
}
