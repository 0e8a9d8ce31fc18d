import { type ParsedUrlQueryInput as Query, stringify } from 'node:querystring'
import { type ErrorClasses, type HeaderPair, rebuildError } from '@retake/tape/format'
import { callSite } from '../kernel/call-site.js'
import { maskHeaders, maskUrl } from '../headers.js'
import { bindCheck, currentSession, isProcessRun, outsideRuns } from '../kernel/scope.js'
import type { Delivery, Operation, Session } from '../kernel/session.js'
import { deliverError } from '../boundaries/patching/deliver-error.js'
import { ownerOf, replace, undoAll, type Undo } from '../boundaries/patching/patch.js'
import { whenLoaded } from '../boundaries/patching/when-loaded.js'
import { type CollectedBody, collectBody } from '../boundaries/network/fetch.js'
import {
  globalDispatcher,
  symbolProperty,
  whenNodesAgent,
} from '../boundaries/network/global-dispatcher.js'
import type { Integration } from './integration.js'

/**
 * Requests in runs of functions. Its agents, pools and low-resolution
 * timer serve all runs of a process, so their connections and ticks belong to none of them. Each
 * request is sent outside the run and recorded like one of `fetch`, without decoding its content.
 * Everything above `dispatch` is part of the run: redirects, retries, `undici.fetch`.
 *
 * In a run of a whole program, everything belongs to the run: connections are recorded instead.
 * Except below a `RetryAgent`: recorded `fetch` cannot copy it, so its connections are shared.
 *
 * Not captured: informational answers (1xx), and events of a dispatcher (`connect`, `drain`).
 * Upgrades and CONNECT are recorded at their sockets.
 */
export const undici: Integration = {
  package: 'undici',
  versions: '>=6',
  install() {
    const undos: Undo[] = []
    const patched = new Set<object>()
    const patchClass = (prototype: object, errorClasses: ErrorClasses): void => {
      const owner = ownerOf(prototype, 'dispatch')
      if (owner === undefined || patched.has(owner)) return
      patched.add(owner)
      undos.push(patchDispatch(owner as Dispatching, errorClasses))
    }
    const found = (exports: unknown): void => {
      const { Agent, RetryAgent, errors } = (exports ?? {}) as Partial<UndiciLibrary>
      if (typeof Agent !== 'function' || errors === undefined) return
      patchClass(Agent.prototype, errors)
      if (RetryAgent) undos.push(watchRetries(RetryAgent.prototype))
      // The package uses the dispatcher of Node's fetch if that was loaded first.
      const shared = globalDispatcher()
      if (shared?.constructor.name === 'Agent') patchClass(shared, errors)
      undos.push(whenNodesAgent((NodesAgent) => patchClass(NodesAgent.prototype as object, errors)))
    }
    return undoAll([() => undoAll(undos)(), whenLoaded(/(^|[\\/])undici([\\/]index\.js)?$/, found)])
  },
}

interface UndiciLibrary {
  readonly Agent: Function & { readonly prototype: object }
  readonly RetryAgent?: Function & { readonly prototype: Dispatching }
  readonly errors: ErrorClasses
}

interface SentRequest {
  readonly origin?: string | URL
  readonly path: string
  readonly method: string
  readonly headers?: unknown
  readonly body?: unknown
  readonly query?: unknown
  readonly upgrade?: unknown
}

/** Both interfaces of undici: up to version 7, and (with `onRequestStart`) from version 7 on. */
interface AnswerHandler {
  onConnect?(abort: Abort, context: null): void
  onResponseStarted?(): void
  onHeaders?(status: number, raw: Buffer[], resume: () => void, statusText: string): unknown
  onData?(bytes: Buffer): unknown
  onComplete?(trailers: Buffer[]): void
  onError?(error: unknown): void
  onRequestStart?(controller: Controller, context: null): void
  onResponseStart?(
    controller: Controller,
    status: number,
    headers: HeaderObject,
    statusText: string,
  ): void
  onResponseData?(controller: Controller, bytes: Buffer): void
  onResponseEnd?(controller: Controller, trailers: HeaderObject): void
  onResponseError?(controller: Controller, error: unknown): void
}

type Abort = (reason?: unknown) => void
type HeaderObject = Record<string, string | string[]>
type HeaderValue = string | number

interface Controller {
  rawHeaders?: Buffer[] | null
  rawTrailers?: Buffer[] | null
  readonly paused: boolean
  readonly aborted: boolean
  readonly reason: unknown
  abort: Abort
  pause(): void
  resume(): void
}

type Dispatch = (this: object, options: SentRequest, handler: AnswerHandler) => unknown
interface Dispatching {
  readonly dispatch: Dispatch
}

function patchDispatch(owner: Dispatching, errorClasses: ErrorClasses): Undo {
  const native = owner.dispatch
  return replace(owner, 'dispatch', function (this: object, options, handler) {
    const session = currentSession()
    if (isRetrying) retried.add(this)
    const isRecorded = session && (!isProcessRun(session) || retried.has(this))
    const url = isRecorded ? urlOf(this, options, handler) : undefined
    if (session === undefined || url === undefined) return native.call(this, options, handler)
    const send = (sent: SentRequest, receiver: AnswerHandler): unknown =>
      native.call(this, sent, receiver)
    new UndiciExchange(session, { url, options, handler, errorClasses, send }).begin()
    return true
  } satisfies Dispatch)
}

/** Dispatchers below a `RetryAgent`; known from its calls, because it hides them. */
const retried = new WeakSet<object>()
let isRetrying = false

function watchRetries(prototype: Dispatching): Undo {
  const native = prototype.dispatch
  return replace(prototype, 'dispatch', function (this: object, options, handler) {
    isRetrying = true
    try {
      return native.call(this, options, handler)
    } finally {
      isRetrying = false
    }
  } satisfies Dispatch)
}

/** Undefined for anything but a plain request; undici reports what is wrong with it. */
function urlOf(dispatcher: object, options: unknown, handler: unknown): URL | undefined {
  if (typeof options !== 'object' || options === null) return undefined
  if (typeof handler !== 'object' || handler === null) return undefined
  const {
    origin = symbolProperty(dispatcher, 'url'),
    path,
    query,
    method,
    upgrade,
  } = options as SentRequest
  if (upgrade || method === 'CONNECT' || typeof path !== 'string') return undefined
  try {
    const url = new URL(path.startsWith('/') ? new URL(String(origin)).origin + path : path)
    if (typeof query === 'object' && query !== null) url.search = stringify(query as Query)
    return url
  } catch {
    return undefined
  }
}

interface DispatchedCall {
  readonly url: URL
  readonly options: SentRequest
  readonly handler: AnswerHandler
  readonly errorClasses: ErrorClasses
  readonly send: (options: SentRequest, handler: AnswerHandler) => unknown
}

/** One request as the agent sees it: calls of its handler, in recorded turns. */
class UndiciExchange {
  readonly #headers: HeaderPair[]
  readonly #controller: Controller
  #operation: Operation | undefined
  #isOver = false
  #isPaused = false
  /** Parts that arrived while the agent had paused. */
  readonly #waiting: Delivery[] = []
  /** Of the real request; missing on replay. */
  #abortReal: Abort | undefined
  #resumeReal: (() => void) | undefined

  constructor(
    readonly session: Session,
    readonly call: DispatchedCall,
  ) {
    this.#headers = pairsOfGiven(call.options.headers)
    this.#controller = this.#makeController()
  }

  begin(): void {
    this.#try(() => {
      if (this.#isNewer) this.call.handler.onRequestStart?.(this.#controller, null)
      else this.call.handler.onConnect?.(this.#controller.abort, null)
    })
    if (this.#isOver) return
    const body = this.#collect()
    if (!(body instanceof Promise)) return this.#perform(body)
    body.then(
      (collected) => this.#isOver || this.#perform(collected),
      (error: unknown) => this.#fail(error),
    )
  }

  get #isNewer(): boolean {
    return typeof this.call.handler.onRequestStart === 'function'
  }

  #collect(): CollectedBody | Promise<CollectedBody> {
    const { body } = this.call.options
    if (body === null || body === undefined) return {}
    const isList = typeof body === 'object' && Symbol.iterator in body && !ArrayBuffer.isView(body)
    const isForm = typeof (body as { append?: unknown }).append === 'function'
    const content =
      isList && !isForm
        ? Buffer.concat(
            Array.from(body as Iterable<string | Uint8Array>, (part) => Buffer.from(part)),
          )
        : body
    const headers = new Headers(this.#headers as [string, string][])
    return collectBody(this.session, '', { body: content as RequestInit['body'] & {} }, headers)
  }

  #perform(body: CollectedBody): void {
    if (body.isForm === true && body.contentType !== undefined)
      this.#headers.push(['content-type', body.contentType])
    const site = callSite()
    const session = this.session
    const bound = bindCheck()
    this.#operation = session.perform({
      event: {
        type: 'request',
        seam: 'fetch',
        method: this.call.options.method.toUpperCase(),
        url: session.secrets.text(maskUrl(this.call.url.href)),
        headers: maskHeaders(session, this.#headers),
        ...(site !== undefined && { site }),
      },
      ...(body.bytes && { body: body.bytes }),
      durable: 'deferrable',
      start: (operation, edited) => bound(() => this.#goLive(operation, edited ?? body.bytes)),
      deliver: (delivery) => {
        if (this.#isOver) return
        if (this.#isPaused || this.#waiting.length > 0) this.#waiting.push(delivery)
        else this.#hand(delivery)
      },
    })
  }

  #goLive(operation: Operation, bytes: Uint8Array | undefined): void {
    const hasOwnLength = this.#headers.some(([name, value]) => {
      return name.toLowerCase() === 'content-length' && Number(value) !== (bytes?.length ?? 0)
    })
    // A changed body, or one that was a stream, has another length.
    const headers = this.#headers.filter(
      ([name]) => !hasOwnLength || name.toLowerCase() !== 'content-length',
    )
    const sent = {
      ...this.call.options,
      headers: headers.flat(),
      body: bytes === undefined ? null : Buffer.from(bytes),
    }
    const receiver = this.#isNewer ? this.#newerReceiver(operation) : this.#receiver(operation)
    try {
      this.call.send(sent, receiver)
    } catch (error) {
      deliverError(operation, error)
    }
  }

  #receiver(operation: Operation): AnswerHandler {
    return {
      onConnect: (abort) => this.#connected(abort),
      onHeaders: (status, raw, resume, statusText) => {
        this.#resumeReal = resume
        this.#report(operation, status, raw, statusText)
        return !this.#isPaused
      },
      onData: (bytes) => {
        operation.complete({ type: 'deliver', part: 'chunk' }, bytes)
        return !this.#isPaused
      },
      onComplete: (trailers) => reportEnd(operation, pairsOf(trailers)),
      onError: (error) => deliverError(operation, error),
    }
  }

  #newerReceiver(operation: Operation): AnswerHandler {
    const pause = (controller: Controller): void => {
      if (this.#isPaused) controller.pause()
    }
    return {
      onRequestStart: (controller) => {
        this.#resumeReal = () => controller.resume()
        this.#connected((reason) => controller.abort(reason))
      },
      onResponseStart: (controller, status, headers, statusText) => {
        this.#report(operation, status, controller.rawHeaders ?? rawOf(headers), statusText)
        pause(controller)
      },
      onResponseData: (controller, bytes) => {
        operation.complete({ type: 'deliver', part: 'chunk' }, bytes)
        pause(controller)
      },
      onResponseEnd: (controller, trailers) =>
        reportEnd(operation, pairsOf(controller.rawTrailers ?? rawOf(trailers))),
      onResponseError: (_, error) => deliverError(operation, error),
    }
  }

  #connected(abort: Abort): void {
    this.#abortReal = abort
    if (this.#isOver) abort()
  }

  #report(operation: Operation, status: number, raw: readonly unknown[], text: string): void {
    if (status < 200) return
    const headers = pairsOf(raw)
    const isEncoded = headers.some(([name]) => name.toLowerCase() === ENCODING)
    operation.complete(
      {
        type: 'response',
        status,
        statusText: text,
        headers: maskHeaders(this.session, headers),
        ...(isEncoded && { encoded: true }),
      },
      undefined,
      headers,
    )
  }

  #hand({ event, body, native }: Delivery): void {
    const handler = this.call.handler
    const controller = this.#controller
    if (event.type === 'response') {
      const { status, statusText, encoded } = event
      // Given answers, unlike recorded ones, are never encoded.
      const headers = ((native as HeaderPair[] | undefined) ?? event.headers).filter(
        ([name]) => encoded === true || name.toLowerCase() !== ENCODING,
      )
      const raw = (controller.rawHeaders = headers
        .flat()
        .map((text) => Buffer.from(text, 'latin1')))
      this.#try(() => {
        handler.onResponseStarted?.()
        if (this.#isNewer)
          handler.onResponseStart?.(controller, status, objectOf(headers), statusText)
        else this.#pauseIf(handler.onHeaders?.(status, raw, controller.resume, statusText))
      })
      if (event.empty === true) this.#end([])
    } else if (event.type !== 'deliver') return
    else if (event.part === 'chunk') {
      const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
      this.#try(() => {
        if (this.#isNewer) handler.onResponseData?.(controller, bytes)
        else this.#pauseIf(handler.onData?.(bytes))
      })
    } else if (event.part === 'end') this.#end((event.value as HeaderPair[] | undefined) ?? [])
    else if (event.part === 'error' && event.error)
      this.#fail(native ?? rebuildError(event.error, this.call.errorClasses))
  }

  #end(trailers: readonly HeaderPair[]): void {
    if (this.#isOver) return
    this.#finish()
    const raw = trailers.flat().map((text) => Buffer.from(text, 'latin1'))
    this.#controller.rawTrailers = raw
    try {
      if (this.#isNewer) this.call.handler.onResponseEnd?.(this.#controller, objectOf(trailers))
      else this.call.handler.onComplete?.(raw)
    } catch (error) {
      this.#reject(error)
    }
  }

  #fail(error: unknown): void {
    if (this.#isOver) return
    this.#finish()
    this.#reject(error)
  }

  #reject(error: unknown): void {
    if (this.#isNewer) this.call.handler.onResponseError?.(this.#controller, error)
    else this.call.handler.onError?.(error)
  }

  #finish(): void {
    this.#isOver = true
    this.#operation?.close()
  }

  /** An error of the agent's handler aborts its request. */
  #try(call: () => void): void {
    try {
      call()
    } catch (error) {
      this.#controller.abort(error)
    }
  }

  #pauseIf(answer: unknown): void {
    if (answer === false) this.#isPaused = true
  }

  #makeController(): Controller {
    const isPaused = (): boolean => this.#isPaused
    const state = { aborted: false, reason: undefined as unknown }
    return {
      rawHeaders: null,
      rawTrailers: null,
      get paused() {
        return isPaused()
      },
      get aborted() {
        return state.aborted
      },
      get reason() {
        return state.reason
      },
      abort: (reason) => {
        if (this.#isOver) return
        const Aborted = this.call.errorClasses['RequestAbortedError']
        const error = reason ?? (Aborted ? Reflect.construct(Aborted, []) : new Error('aborted'))
        Object.assign(state, { aborted: true, reason: error })
        this.#fail(error)
        outsideRuns(() => this.#abortReal?.())
      },
      pause: () => {
        this.#isPaused = true
      },
      resume: () => {
        if (!this.#isPaused) return
        this.#isPaused = false
        queueMicrotask(() => {
          while (!this.#isPaused && !this.#isOver) {
            const delivery = this.#waiting.shift()
            if (delivery === undefined) return
            this.#hand(delivery)
          }
        })
        outsideRuns(() => this.#resumeReal?.())
      },
    }
  }
}

const ENCODING = 'content-encoding'

function reportEnd(operation: Operation, trailers: readonly HeaderPair[]): void {
  operation.complete({
    type: 'deliver',
    part: 'end',
    ...(trailers.length > 0 && { value: trailers }),
  })
}

/** Names and values alternate; a newer undici may pass strings. */
function pairsOf(raw: readonly unknown[]): HeaderPair[] {
  const text = (part: unknown): string =>
    Buffer.isBuffer(part) ? part.toString('latin1') : `${(part as HeaderValue | undefined) ?? ''}`
  const pairs: HeaderPair[] = []
  for (let at = 0; at + 1 < raw.length; at += 2) pairs.push([text(raw[at]), text(raw[at + 1])])
  return pairs
}

const rawOf = (headers: HeaderObject): string[] =>
  Object.entries(headers).flatMap(([name, value]) => [value].flat().flatMap((each) => [name, each]))

/** Names in lower case; repeated headers are lists. */
function objectOf(pairs: readonly HeaderPair[]): HeaderObject {
  const headers: HeaderObject = {}
  for (const [given, value] of pairs) {
    const name = given.toLowerCase()
    const before = headers[name]
    headers[name] = before === undefined ? value : [before, value].flat()
  }
  return headers
}

/** Headers in any of the forms that undici accepts: a flat list, pairs, or an object. */
function pairsOfGiven(headers: unknown): HeaderPair[] {
  if (typeof headers !== 'object' || headers === null) return []
  if (Array.isArray(headers) && !Array.isArray(headers[0])) return pairsOf(headers)
  const entries =
    Symbol.iterator in headers
      ? [...(headers as Iterable<[string, unknown]>)]
      : Object.entries(headers)
  return entries.flatMap(([name, value]) =>
    value === undefined
      ? []
      : [value as HeaderValue | HeaderValue[]]
          .flat()
          .map((each): HeaderPair => [name, String(each)]),
  )
}
