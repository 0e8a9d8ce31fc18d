import type { HeaderPair } from '../events.js'
import type { Message } from './message.js'
import type { SseEvent } from './sse.js'
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
}

/**
 * Knows one API. Decoders never throw: a shape they do not expect reads as
 * absent, because a tape outlives the API it recorded.
 */
export interface ProviderDecoder {
  /** Whose format it is; a compatible server speaks it as well. */
  readonly name: string
  readonly api: string
  /** By path and shape, not only by host: a model may answer from anywhere. */
  matches(request: ProviderRequest): boolean
  decodeRequest(request: ProviderRequest): DecodedRequest
  decodeResponse(answer: ProviderAnswer): DecodedResponse
}
