import { decodeParts } from './gemini-content.js'
import { CallNumbers } from './call-numbers.js'
import {
  countOf,
  errorMessage,
  filledText,
  isRecord,
  listOf,
  optionalText,
  recordOf,
  recordsOf,
  textOf,
  type JsonRecord,
} from './json-shape.js'
import { textPart, type Message } from './message.js'
import type { DecodedResponse, ProviderDecoder } from './provider-decoder.js'
import { NO_USAGE } from './usage.js'

/** OpenAI's embeddings, which Azure, Mistral, vLLM and others speak as well. */
export const openaiEmbeddings: ProviderDecoder = {
  name: 'openai',
  api: 'embeddings',

  matches: ({ method, url, mentions }) =>
    method === 'POST' && url.pathname.endsWith('/embeddings') && mentions('input'),

  decodeRequest: ({ url, json }) => {
    const body = recordOf(json())
    const model = filledText(body['model']) ?? /\/deployments\/([^/]+)\//.exec(url.pathname)?.[1]
    const { input } = body
    return {
      ...(model !== undefined && { model }),
      stream: false,
      messages: (Array.isArray(input) ? input : [input]).map(asked),
    }
  },

  decodeResponse: ({ json }) => {
    const answer = recordOf(json)
    const usage = recordOf(answer['usage'])
    const input = countOf(usage['prompt_tokens']) ?? countOf(usage['total_tokens'])
    const model = filledText(answer['model'])
    const decoded = embedded(answer, listOf(answer['data']).length > 0, input)
    return { ...(model !== undefined && { model }), ...decoded }
  },
}

const GEMINI_PATH = /\/([^/:]+):(embedContent|batchEmbedContents)$/

/** Gemini's embeddings. The answer may leave the tokens out; then its cost is not known. */
export const geminiEmbeddings: ProviderDecoder = {
  name: 'google',
  api: 'embed content',

  matches: ({ method, url, mentions }) =>
    method === 'POST' &&
    GEMINI_PATH.test(url.pathname) &&
    (mentions('content') || mentions('requests')),

  decodeRequest: ({ url, json }) => {
    const body = recordOf(json())
    const model = GEMINI_PATH.exec(url.pathname)?.[1]
    const requests = Array.isArray(body['requests']) ? recordsOf(body['requests']) : [body]
    return {
      ...(model !== undefined && { model }),
      stream: false,
      messages: requests.map(({ content }) => ({
        role: 'user',
        parts: decodeParts(recordOf(content)['parts'], new CallNumbers()),
      })),
    }
  },

  decodeResponse: ({ json }) => {
    const answer = recordOf(json)
    const isThere = isRecord(answer['embedding']) || Array.isArray(answer['embeddings'])
    return embedded(answer, isThere, countOf(recordOf(answer['usageMetadata'])['promptTokenCount']))
  },
}

/** Input may be text, or tokens that stand for it. */
const asked = (input: unknown): Message => ({
  role: 'user',
  parts: [
    typeof input === 'string'
      ? textPart(textOf(input))
      : { type: 'other', kind: 'tokens', value: input },
  ],
})

const embedded = (
  answer: JsonRecord,
  isThere: boolean,
  input: number | undefined,
): DecodedResponse => {
  const error = errorMessage(isThere ? { error: answer['error'] } : answer)
  return {
    messages: [],
    ...(input !== undefined && { usage: { ...NO_USAGE, input } }),
    ...(isThere && { finishReason: optionalText(answer['finishReason']) ?? 'embedded' }),
    ...(error !== undefined && { error }),
  }
}
