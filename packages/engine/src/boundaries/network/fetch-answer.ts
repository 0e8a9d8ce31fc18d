import { rebuildError } from '@retake/tape/format'
import type { ResponseEvent } from '@retake/tape/format'
import { maskHeaders, maskUrl } from '../../headers.js'
import { natives } from '../../natives.js'
import { bindCheck, currentCheck, outsideRuns } from '../../scope.js'
import type { Delivery, Operation, Session } from '../../sessions/session.js'
import { deliverError } from '../deliver-error.js'
import type { CollectedBody } from './fetch-body.js'
import type { DescribedRequest } from './fetch-request.js'
import { asFromNetwork } from './network-response.js'

/** Statuses whose responses must not have a body. */
const NULL_BODY = new Set([101, 204, 205, 304])

/** One exchange as the agent sees it: a promise of a response, then a stream of its chunks. */
export class FetchAnswer {
  operation: Operation | undefined
  #stream: ReadableByteStreamController | undefined
  #native: AbortController | undefined
  #reader: ReadableStreamDefaultReader | undefined
  /** Of the tool that the run was begun in. */
  readonly #check = currentCheck()
  readonly #bound = bindCheck()
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
        ...(this.#check === undefined && privateDispatcher()),
      }
      delete init.body
      if (body.bytes !== undefined)
        init.body = body.native ?? (body.bytes as RequestInit['body'] & {})
      const client = this.#check ?? natives
      const response = await this.#bound(() => client.fetch(this.request.url, init))
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
