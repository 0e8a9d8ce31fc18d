import { converseAnswers, scriptedConverse } from './encode.js'
import { assembleConverse, isException } from './converse-stream.js'
import { decodeBlocks, decodeConversation } from './content.js'
import { bedrockPath } from './path.js'
import { decodeConverseUsage } from './usage.js'
import {
  errorMessage,
  optionalText,
  parseJson,
  recordOf,
  type JsonRecord,
} from '../../values/json-shape.js'
import type { DecodedResponse, ProviderAnswer, ModelApi } from '../provider.js'
import type { SseEvent } from '../../http/sse.js'

/** Bedrock's Converse API: one shape for all models, streamed and not. */
export const bedrockConverse: ModelApi = {
  provider: 'bedrock',
  api: 'converse',

  matches: ({ method, url, mentions }) =>
    method === 'POST' && bedrockPath(url)?.action === 'converse' && mentions('messages'),

  decodeRequest: ({ url, json }) => {
    const path = bedrockPath(url)
    return {
      ...(path !== undefined && { model: path.model }),
      stream: path?.stream === true,
      messages: decodeConversation(recordOf(json())),
    }
  },

  decodeResponse: (answer) => decodeConverse(documentOf(answer)),

  answers: converseAnswers,
  scripted: [scriptedConverse],
}

/** Also the body that Nova answers with when it is invoked. */
export const decodeConverse = (answer: JsonRecord): DecodedResponse => {
  const message = recordOf(recordOf(answer['output'])['message'])
  const parts = decodeBlocks(message['content'])
  const usage = decodeConverseUsage(answer)
  const finishReason = optionalText(answer['stopReason'])
  const isWhole = answer['output'] !== undefined
  const error = isWhole ? errorMessage({ error: answer['error'] }) : errorMessage(answer)
  return {
    messages: parts.length === 0 ? [] : [{ role: 'assistant', parts }],
    ...(usage !== undefined && { usage }),
    ...(finishReason !== undefined && { finishReason }),
    ...(error !== undefined && { error }),
  }
}

const documentOf = ({ json, events }: ProviderAnswer): JsonRecord => {
  if (events === undefined) return recordOf(json)
  const error = streamError(events)
  return {
    ...assembleConverse(events.map(({ event, data }) => [event, recordOf(parseJson(data))])),
    ...(error !== undefined && { error }),
  }
}

/** What Bedrock says in the middle of a stream that fails. */
export const streamError = (events: readonly SseEvent[]): string | undefined => {
  const failed = events.find(({ event }) => isException(event))
  return failed && (errorMessage(parseJson(failed.data)) ?? failed.event)
}
