import type { HeaderPair, RequestEvent } from '../format/events.js'
import { joinBytes, utf8 } from '../format/values/bytes.js'
import { headerValue } from '../http/http1.js'
import { findApi } from '../providers/find-provider.js'
import { parseJson } from '../format/values/json-shape.js'
import { type Message, type ToolCallPart, toolCallsIn } from '../providers/specification/message.js'
import type {
  DecodedRequest,
  DecodedResponse,
  ModelApi,
  ProviderRequest,
} from '../providers/specification/provider.js'
import type { SseEvent } from '../http/sse.js'
import { readStream } from '../http/event-frames.js'
import type { Usage } from '../providers/specification/usage.js'
import { type AnswerFrame, answerFrames, type FrameLimits } from './answer-frames.js'
import { answerHead, type AnswerHead, type HttpAnswer, readAnswer } from './http-answer.js'
import type { StepOp } from './run-index.js'
import type { StepContext } from './step-base.js'

/**
 * The last request that was read. Conversations are long and are read several times in a row, but
 * storing all of them would take memory quadratic in the length of a run.
 */
export class RequestCache {
  #seq = -1
  #text: { readonly value: string | undefined } | undefined
  #messages: readonly Message[] | undefined

  text(seq: number, read: () => string | undefined): string | undefined {
    this.#turnTo(seq)
    this.#text ??= { value: read() }
    return this.#text.value
  }

  messages(seq: number, read: () => readonly Message[]): readonly Message[] {
    this.#turnTo(seq)
    return (this.#messages ??= read())
  }

  #turnTo(seq: number): void {
    if (seq === this.#seq) return
    this.#seq = seq
    this.#text = undefined
    this.#messages = undefined
  }
}

export interface ExchangeRequest {
  readonly method: string
  readonly url: string
  readonly headers: readonly HeaderPair[]
  readonly body: Uint8Array
  /** Undefined if the body is not UTF-8. */
  readonly text: string | undefined
  /** Undefined if the body is not JSON. */
  readonly json: unknown
}

export interface ExchangeResponse extends Omit<HttpAnswer, 'undecoded'> {
  readonly body: Uint8Array
  readonly text: string | undefined
  readonly json: unknown
  /** The events of a stream: server-sent events, lines of JSON, or messages of an AWS event stream. */
  readonly events: readonly SseEvent[] | undefined
  /** Why the stream could not be read to its end, such as a wrong checksum. */
  readonly problem: string | undefined
  readonly undecoded: string | undefined
}

/** An HTTP exchange, and the conversation in it if it went to a model. */
export interface Exchange {
  /** Name of the API; `http` if it is unknown. */
  readonly api: string
  readonly request: ExchangeRequest
  readonly response: ExchangeResponse | undefined
  /** Messages as sent, in the common format of all providers. */
  readonly messages: readonly Message[]
  readonly answer: readonly Message[]
  readonly toolCalls: readonly ToolCallPart[]
  readonly model: string | undefined
  readonly usage: Usage | undefined
  readonly finishReason: string | undefined
  readonly error: string | undefined
  /** The server that ran the model, if a router names it. */
  readonly servedBy: string | undefined
}

/**
 * Reads one request lazily. Decoded results are cached, bodies are not: a list of titles reads each
 * answer once and no conversation.
 */
export class ExchangeReader {
  #provider: ModelApi | undefined
  #request: ProviderRequest | undefined
  #head: { readonly value: AnswerHead | undefined } | undefined
  #decoded: DecodedResponse | undefined
  #model: { readonly name: string | undefined } | undefined

  constructor(
    private readonly context: Pick<StepContext, 'tape' | 'index' | 'decoders' | 'requests'>,
    private readonly op: StepOp & { readonly event: RequestEvent },
  ) {}

  get provider(): ModelApi {
    return (this.#provider ??= findApi(this.#providerRequest()))
  }

  /** Read from events alone, except on sockets, where the bytes contain it. */
  get head(): AnswerHead | undefined {
    if (this.#head === undefined) {
      const answer = this.op.event.socket === undefined ? answerHead(this.op) : this.#answer()
      this.#head = { value: answer && answerHeadOf(answer) }
    }
    return this.#head.value
  }

  get decoded(): DecodedResponse {
    if (this.#decoded !== undefined) return this.#decoded
    const wire = this.#answer()
    this.#head ??= { value: wire && answerHeadOf(wire) }
    this.#decoded = wire === undefined ? { messages: [] } : this.#decodeOpened(openResponse(wire))
    return this.#decoded
  }

  /** From the answer, or from the request if there is none. */
  get model(): string | undefined {
    this.#model ??= { name: this.decoded.model ?? this.#decodeRequest().model }
    return this.#model.name
  }

  requestText(): string | undefined {
    const { seq } = this.op.event
    return this.context.requests.text(seq, () => utf8(this.context.tape.body(seq)))
  }

  requestMessages(): readonly Message[] {
    return this.context.requests.messages(this.op.event.seq, () => this.#decodeRequest().messages)
  }

  read(): Exchange {
    const { method, url, headers, seq } = this.op.event
    const { messages: answer, usage, finishReason, error, servedBy } = this.decoded
    const body = this.context.tape.body(seq)
    const text = utf8(body)
    const json = text === undefined ? undefined : parseJson(text)
    const wire = this.#answer()
    return {
      api: this.provider.api,
      request: { method, url, headers, body, text, json },
      response: wire === undefined ? undefined : openResponse(wire),
      messages: this.requestMessages(),
      answer,
      toolCalls: toolCallsIn(answer),
      model: this.model,
      usage,
      finishReason,
      error,
      servedBy,
    }
  }

  /** A streamed answer as it grew; empty if it was not streamed. */
  answerFrames(limits?: FrameLimits): readonly AnswerFrame[] {
    const wire = this.#answer()
    if (wire === undefined) return []
    const whole = openResponse(wire)
    return answerFrames(whole, (part) => this.#decodeOpened({ ...whole, ...part }).messages, limits)
  }

  #decodeRequest(): DecodedRequest {
    return this.provider.decodeRequest(this.#providerRequest())
  }

  #decodeOpened(response: ExchangeResponse): DecodedResponse {
    return decodeOpened(this.provider, response, this.#providerRequest())
  }

  #answer(): HttpAnswer | undefined {
    const { socket } = this.op.event
    const onSameSocket = socket === undefined ? undefined : this.context.index.bySocket.get(socket)
    return readAnswer(this.context.tape, this.op, onSameSocket ?? [], this.context.decoders)
  }

  #providerRequest(): ProviderRequest {
    return (this.#request ??= providerRequest(this.op.event, () => this.requestText() ?? ''))
  }
}

// A masked or malformed URL still gives a result.
const providerRequest = (
  { method, url, headers }: Pick<ExchangeRequest, 'method' | 'url' | 'headers'>,
  read: () => string,
): ProviderRequest => ({
  method,
  url: URL.canParse(url) ? new URL(url) : new URL('http://unknown.invalid/'),
  headers,
  mentions: (...keys) => {
    const text = read()
    return text.trimStart().startsWith('{') && keys.every((key) => text.includes(`"${key}"`))
  },
  json: () => parseJson(read()),
})

const decodeOpened = (
  provider: ModelApi,
  { status, headers, json, events, text, problem }: ExchangeResponse,
  request: ProviderRequest,
): DecodedResponse => {
  const decoded = provider.decodeResponse(
    {
      status,
      headers,
      ...(events === undefined ? { json } : { events }),
      ...(events === undefined && json === undefined && text !== undefined && { text }),
    },
    request,
  )
  return problem === undefined ? decoded : { ...decoded, error: decoded.error ?? problem }
}

/** A request to a model that is not on a tape. `undefined` if it does not go to a model. */
export const readModelRequest = (
  request: Pick<ExchangeRequest, 'method' | 'url' | 'headers'> & { readonly text: string },
) => {
  const read = providerRequest(request, () => request.text)
  const api = findApi(read)
  if (api.api === 'http') return undefined
  return {
    model: api.decodeRequest(read).model,
    usageOf: (answer: Pick<HttpAnswer, 'status' | 'headers'> & { body: Uint8Array }) => {
      const { status, headers, body } = answer
      const wire = {
        status,
        headers,
        statusText: '',
        complete: true,
        chunks: [{ at: 0, bytes: body }],
      }
      return decodeOpened(api, openResponse(wire), read).usage
    },
  }
}

const answerHeadOf = ({ status, statusText, complete }: AnswerHead): AnswerHead => ({
  status,
  statusText,
  complete,
})

const openResponse = (wire: HttpAnswer): ExchangeResponse => {
  const body = joinBytes(wire.chunks.map(({ bytes }) => bytes))
  const text = wire.undecoded === undefined ? utf8(body) : undefined
  const stream =
    wire.undecoded === undefined
      ? readStream(headerValue(wire.headers, 'content-type') ?? '', wire.chunks)
      : undefined
  return {
    ...wire,
    undecoded: wire.undecoded,
    body,
    text,
    json: stream !== undefined || text === undefined ? undefined : parseJson(text),
    events: stream?.events,
    problem: stream?.problem,
  }
}
