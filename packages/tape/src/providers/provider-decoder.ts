import type { HeaderPair } from '../format/events.js'
import type { Message } from './message.js'
import type { SseEvent } from '../http/sse.js'
import type { Usage } from './usage.js'

/** A request as decoders see it. Its body is read only when asked for: conversations are long. */
export interface ProviderRequest {
  readonly method: string
  readonly url: URL
  readonly headers: readonly HeaderPair[]
  /** Whether the body is JSON text in which these words stand as keys, without parsing it. */
  readonly mentions: (...keys: readonly string[]) => boolean
  /** The parsed body, or `undefined` when it is no JSON. */
  readonly json: () => unknown
}

/** What came back: one JSON document or a stream of events, as far as it came. */
export interface ProviderAnswer {
  readonly status: number
  readonly json?: unknown
  readonly events?: readonly SseEvent[]
  /** The body where it is neither, such as a JSON array that broke off. */
  readonly text?: string
  readonly headers?: readonly HeaderPair[]
}

export interface DecodedRequest {
  readonly model?: string
  readonly stream: boolean
  /** The whole conversation as sent. */
  readonly messages: readonly Message[]
}

export interface DecodedResponse {
  readonly model?: string
  /** What the model said; more than one message when several choices were asked for. */
  readonly messages: readonly Message[]
  readonly usage?: Usage
  /** In the provider's own word. Absent when the answer broke off. */
  readonly finishReason?: string
  /** The provider's message when it refused or failed. */
  readonly error?: string
  /** What the provider says it charged, in US dollars. */
  readonly costUsd?: number
  /** Who ran the model, when a router says so. */
  readonly servedBy?: string
}

/**
 * Knows one API. Decoders never throw: a shape they do not expect reads as
 * absent, because a tape outlives the API it recorded.
 */
export interface ProviderDecoder {
  /** Who answers, where the host tells; else whose format it is: compatible servers speak it too. */
  readonly name: string
  readonly api: string
  /** By path and shape, not only by host: a model may answer from anywhere. */
  matches(request: ProviderRequest): boolean
  decodeRequest(request: ProviderRequest): DecodedRequest
  /** The request tells what the answer leaves out: the model, or which calls there were before. */
  decodeResponse(answer: ProviderAnswer, request?: ProviderRequest): DecodedResponse
}
