import { scriptedInvoke } from './invoke-encode.js'
import { messagesApi } from '../anthropic/decode.js'
import { assembleConverse } from './converse-stream.js'
import { decodeConversation } from './content.js'
import { decodeConverse, streamError } from './converse.js'
import { bedrockPath } from './path.js'
import { decodeTextAnswers, decodeTextRequest, isEmbedding } from './text-models.js'
import { meteredUsage, METRICS } from './usage.js'
import {
  errorMessage,
  parseJson,
  recordOf,
  recordsOf,
  type JsonRecord,
} from '../../values/json-shape.js'
import type { Message } from '../message.js'
import { assembleChat } from '../openai/chat-stream.js'
import { decodeCompletion, decodeMessage } from '../openai/chat.js'
import type { DecodedResponse, ProviderAnswer, ModelApi, ProviderRequest } from '../provider.js'

const BODIES = ['messages', 'prompt', 'inputText', 'message', 'texts']

/**
 * Bedrock's `invoke`, where each family of models has a body of its own: Claude,
 * Nova, Llama, Titan, Cohere, Mistral, and those that speak chat completions.
 * The family is seen from the body, since an id may be that of a profile.
 */
export const bedrockInvoke: ModelApi = {
  provider: 'bedrock',
  api: 'invoke model',

  matches: ({ method, url, mentions }) =>
    method === 'POST' &&
    bedrockPath(url)?.action === 'invoke' &&
    BODIES.some((key) => mentions(key)),

  decodeRequest: (request) => {
    const path = bedrockPath(request.url)
    return {
      ...(path !== undefined && { model: path.model }),
      stream: path?.stream === true,
      messages: decodeMessages(request),
    }
  },

  decodeResponse: (answer) => {
    const { error, usage, ...decoded } = decodeBody(answer)
    const found = error ?? failure(answer)
    const counted = usage ?? meteredUsage(metricsOf(answer), answer.headers)
    // Its model is that of the request: the id in the path says where it ran.
    const { model: _, ...said } = decoded
    return {
      ...said,
      ...(counted !== undefined && { usage: counted }),
      ...(found !== undefined && { error: found }),
    }
  },

  scripted: [scriptedInvoke],
}

const decodeMessages = (request: ProviderRequest): readonly Message[] => {
  const body = recordOf(request.json())
  const messages = recordsOf(body['messages'])
  if (body['anthropic_version'] !== undefined) return messagesApi.decodeRequest(request).messages
  if (messages.length === 0) return decodeTextRequest(body)
  const isUntyped = messages.some(({ content }) =>
    recordsOf(content).some(({ type }) => type === undefined),
  )
  return isUntyped ? decodeConversation(body) : messages.map((message) => decodeMessage(message))
}

const decodeBody = (answer: ProviderAnswer): DecodedResponse => {
  const { events } = answer
  if (events === undefined) return decodeDocument(answer)
  const chunks = events.map(({ data }) => recordOf(parseJson(data)))
  if (chunks.some(({ type }) => type === 'message_start')) return messagesApi.decodeResponse(answer)
  if (chunks.some((chunk) => 'messageStart' in chunk || 'contentBlockDelta' in chunk)) {
    const named = chunks.flatMap((chunk) => Object.entries(chunk))
    return decodeConverse(assembleConverse(named.map(([name, value]) => [name, recordOf(value)])))
  }
  if (chunks.some(({ choices }) => recordsOf(choices).some(isMessage)))
    return decodeCompletion(
      assembleChat(events.map((event) => ({ ...event, data: asDelta(event.data) }))),
    )
  return decodeTextAnswers(chunks)
}

const decodeDocument = (answer: ProviderAnswer): DecodedResponse => {
  const document = recordOf(answer.json)
  if (document['type'] === 'message') return messagesApi.decodeResponse(answer)
  if (document['output'] !== undefined) return decodeConverse(document)
  if (recordsOf(document['choices']).some(isMessage)) return decodeCompletion(document)
  const decoded = decodeTextAnswers([document])
  return isEmbedding(document) ? { ...decoded, finishReason: 'embedded' } : decoded
}

const isMessage = (choice: JsonRecord): boolean => 'message' in choice || 'delta' in choice

/** Mistral on Bedrock streams whole messages where others stream deltas. */
const asDelta = (data: string): string => {
  const chunk = recordOf(parseJson(data))
  const choices = recordsOf(chunk['choices']).map(({ message, ...choice }) =>
    message === undefined ? choice : { ...choice, delta: message },
  )
  return JSON.stringify({ ...chunk, choices })
}

const metricsOf = ({ events = [] }: ProviderAnswer): JsonRecord => {
  const last = events.findLast(({ data }) => data.includes(METRICS))
  return recordOf(recordOf(parseJson(last?.data ?? ''))[METRICS])
}

/** A failed answer, or a failure in the middle of a stream. */
const failure = ({ status, json, events }: ProviderAnswer): string | undefined => {
  if (events !== undefined) return streamError(events)
  return status >= 400 ? errorMessage(json) : undefined
}
