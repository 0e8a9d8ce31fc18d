import type { HeaderPair } from '../../format/events.js'
import type { ChatDialect } from './chat-dialect.js'
import type { JsonRecord } from '../../format/values/json-shape.js'
import type { PriceTable } from './price.js'
import type { FailedRequest, Reply, ReplyRequest, ScriptedError } from './reply.js'
import type { WireAnswer } from './wire-answer.js'
import type { Message } from './message.js'
import type { SseEvent } from '../../http/sse.js'
import type { Usage } from './usage.js'

/** A request as decoders see it. Its body is parsed only on demand, because conversations are long. */
export interface ProviderRequest {
  readonly method: string
  readonly url: URL
  readonly headers: readonly HeaderPair[]
  /** True if the body is JSON text with these keys, without parsing it. */
  readonly mentions: (...keys: readonly string[]) => boolean
  /** The parsed body; `undefined` if it is not JSON. */
  readonly json: () => unknown
}

/** An answer, as far as it arrived: one JSON document, or a stream of events. */
export interface ProviderAnswer {
  readonly status: number
  readonly json?: unknown
  readonly events?: readonly SseEvent[]
  /** Any other body, such as a JSON array that broke off. */
  readonly text?: string
  readonly headers?: readonly HeaderPair[]
}

export interface DecodedRequest {
  readonly model?: string
  readonly stream: boolean
  readonly messages: readonly Message[]
}

export interface DecodedResponse {
  readonly model?: string
  /** The model's output; more than one message if several choices were requested. */
  readonly messages: readonly Message[]
  readonly usage?: Usage
  /** As the provider states it. Missing if the answer broke off. */
  readonly finishReason?: string
  /** The provider's message if it refused or failed. */
  readonly error?: string
  /** The cost that the provider reports, in US dollars. */
  readonly costUsd?: number
  /** The server that ran the model, if a router names it. */
  readonly servedBy?: string
}

/**
 * One API of a provider: recognises its requests, decodes and encodes its answers. Decoders never
 * throw: an unexpected form counts as missing, because a tape outlives the API that it recorded.
 */
export interface ModelApi {
  /** Owner of the format; `findApi` replaces it by the name of a compatible server. */
  readonly provider: string
  readonly api: string
  /** Request members that `decodeRequest` turns into messages. */
  readonly conversation: readonly string[]
  /** The provider that a URL of this API names, if any. */
  readonly providerAt?: (url: URL) => string
  /** Judges by path and form, not only by host: a model may be served from anywhere. */
  matches(request: ProviderRequest): boolean
  decodeRequest(request: ProviderRequest): DecodedRequest
  /** The request supplies facts that the answer omits: the model, or earlier calls. */
  decodeResponse(answer: ProviderAnswer, request?: ProviderRequest): DecodedResponse
  /** Missing if answers of this API cannot be edited as one document. */
  readonly answers?: AnswerFormat
  /** How the test model server answers requests to this API. */
  readonly scripted?: readonly ScriptedFormat[]
}

/** One event of a stream before framing. `data` is encoded as JSON unless it is text. */
export interface StreamEvent {
  readonly event?: string
  readonly data: unknown
}

export interface StreamOptions {
  /** Events of the recorded stream that is being replaced; empty if there was none. */
  readonly events: readonly SseEvent[]
  readonly request: unknown
  /** Cuts a text into the pieces to stream; about a word each by default. */
  readonly cut?: (text: string) => readonly string[]
}

/** How one API writes its answers: as a document and as a stream. */
export interface AnswerFormat {
  /** The document that an unstreamed call would have returned. */
  assemble(events: readonly SseEvent[]): JsonRecord
  /** The events of a stream that `assemble` turns back into the document. */
  restream(answer: JsonRecord, options: StreamOptions): StreamEvent[]
  /** Lists the reasons why the value is not a valid answer of this API. */
  check(answer: unknown): string[]
  encode(reply: Reply, request: ReplyRequest): JsonRecord
  /** Document fields that contain the model's output and the finish reason. */
  readonly outputFields: readonly string[]
  /** Bytes of one event; a server-sent event by default. */
  readonly frame?: (event: StreamEvent) => string | Uint8Array
  /** The event after the last content of a stream. */
  readonly closing?: StreamEvent
  /** Content type of streams, unless they are server-sent events. */
  readonly streamType?: string
  /** True if a request expects a stream; by default, if its body has `stream: true`. */
  readonly expectsStream?: (request: { readonly url: string; readonly json: unknown }) => boolean
}

/** Answers requests at one path in the format of one API. */
export interface ScriptedFormat {
  /** For example `openai-chat`. */
  readonly format: string
  readonly path: RegExp
  /** True for answers computed from the request, such as embeddings; the reply is then empty. */
  isComputed?(request: ReplyRequest): boolean
  answer(reply: Reply, request: ReplyRequest): WireAnswer
}

export interface ProviderAddress {
  /** Name of its route at the proxy: the first part of the path. */
  readonly route: string
  /** Base URL that SDKs use by default. Missing if there is no public address. */
  readonly base?: string
  /** Variables from which SDKs read a base URL. */
  readonly variables?: readonly string[]
  /** Variables of frameworks, which interpret them in their own way: redirected only if set. */
  readonly whenSet?: readonly string[]
  /** Paths used only by this provider's protocol. */
  readonly paths: RegExp
  /** The address in a given environment; `undefined` if the provider must not be routed there. */
  readonly within?: (env: ProviderEnvironment) => ProviderAddress | undefined
  /** Variables with a key; the test model server sets them to made-up values. */
  readonly keys?: readonly string[]
  /** Other variables that clients need in order to talk to the test model server. */
  readonly testVariables?: Readonly<Record<string, string>>
}

export type ProviderEnvironment = Readonly<Record<string, string | undefined>>

/** A request that arrived at the test model server. */
export interface ArrivedRequest {
  readonly method: string
  /** Without its query. */
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: JsonRecord
}

/** One company, service or server that answers requests to models. */
export interface Provider {
  readonly name: string
  /** APIs that it defined; compatible servers speak those of others. */
  readonly apis?: readonly ModelApi[]
  /** Its hosts that also speak APIs of others. */
  readonly hosts?: RegExp
  /** Recognises its server behind a proxy, by URL parts that only it has. */
  readonly isServer?: (url: URL) => boolean
  /** Recognises requests of its own clients, whatever address they use. */
  readonly isClient?: (request: Pick<ArrivedRequest, 'path' | 'headers'>) => boolean
  readonly address?: ProviderAddress
  readonly prices?: PriceTable
  /** Prefixes of model names at routers and gateways, such as `mistralai` in `mistralai/codestral`. */
  readonly modelPrefixes?: readonly string[]
  /** How its chat completions differ from OpenAI's. */
  readonly dialect?: ChatDialect
  /** Writes an error; in OpenAI's form by default. */
  readonly failure?: (error: ScriptedError, request: FailedRequest) => WireAnswer
  /** Answers requests that do not run a model, such as model lists and token counts. */
  readonly answerListing?: (request: ArrivedRequest) => JsonRecord | undefined
}
