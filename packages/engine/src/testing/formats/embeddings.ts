import { embeddingVector } from '../embedding-vector.js'
import type { ModelRequest } from '../model-request.js'
import { recordIn, recordsIn } from '../records-in.js'
import { replyId, tokensOf } from '../reply.js'
import { jsonAnswer } from '../wire-format.js'
import type { WireFormat } from '../wire-format.js'
import { geminiFailure } from './gemini.js'
import { ollamaFailure } from './ollama.js'
import { openaiFailure } from './openai-failure.js'

const isComputed = (): boolean => true

/** OpenAI's embeddings, and Mistral's; its own client asks for them in base64. */
export const openaiEmbeddings: WireFormat = {
  name: 'openai-embeddings',
  path: /(?<!\/api)\/embeddings$/,
  isComputed,
  answer: (reply, { body }) => {
    const texts = textsIn(body['input'] ?? body['inputs'])
    const tokens = countTokens(texts)
    return jsonAnswer({
      id: replyId(reply, 'embd-'),
      object: 'list',
      data: texts.map((text, index) => {
        const vector = embeddingVector(text, body['dimensions'] ?? body['output_dimension'])
        const embedding = body['encoding_format'] === 'base64' ? asBase64(vector) : vector
        return { object: 'embedding', index, embedding }
      }),
      model: reply.model,
      usage: { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens },
    })
  },
  failure: openaiFailure,
}

/** Gemini's, one or many at a time, and Vertex's `:predict`. */
export const geminiEmbeddings: WireFormat = {
  name: 'gemini-embeddings',
  path: /:(embedContent|batchEmbedContents|predict)$/,
  isComputed,
  answer: (_reply, request) => jsonAnswer(geminiVectors(request)),
  failure: geminiFailure,
}

/** Ollama's, of today (`/api/embed`) and of before (`/api/embeddings`). */
export const ollamaEmbeddings: WireFormat = {
  name: 'ollama-embeddings',
  path: /\/api\/embed(dings)?$/,
  isComputed,
  answer: (reply, { path, body }) => {
    if (/\/api\/embeddings/.test(path))
      return jsonAnswer({ embedding: embeddingVector(String(body['prompt'])) })
    const texts = textsIn(body['input'])
    return jsonAnswer({
      model: reply.model,
      embeddings: texts.map((text) => embeddingVector(text, body['dimensions'])),
      total_duration: 20_000_000,
      load_duration: 1_000_000,
      prompt_eval_count: countTokens(texts),
    })
  },
  failure: ollamaFailure,
}

function geminiVectors({ path, body }: ModelRequest): object {
  if (/:predict(\?|$)/.test(path)) {
    return {
      predictions: recordsIn(body['instances']).map(({ content }) => ({
        embeddings: {
          values: embeddingVector(String(content)),
          statistics: { token_count: tokensOf(String(content)), truncated: false },
        },
      })),
    }
  }
  const requests = 'requests' in body ? recordsIn(body['requests']) : [body]
  const texts = requests.map(({ content }) =>
    recordsIn(recordIn(content)['parts'])
      .map(({ text }) => (typeof text === 'string' ? text : ''))
      .join(''),
  )
  const values = texts.map((text, index) => ({
    values: embeddingVector(text, requests[index]?.['outputDimensionality']),
  }))
  const usageMetadata = { promptTokenCount: countTokens(texts) }
  return path.includes(':embedContent')
    ? { embedding: values[0], usageMetadata }
    : { embeddings: values, usageMetadata }
}

/** One text, several, or lists of tokens that stand for texts. */
export const textsIn = (input: unknown): string[] => {
  if (!Array.isArray(input)) return [String(input)]
  return input.every((item) => typeof item === 'number')
    ? [input.join(' ')]
    : input.map((item: unknown) => (Array.isArray(item) ? item.join(' ') : String(item)))
}

const countTokens = (texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + Math.max(1, tokensOf(text)), 0)

const asBase64 = (vector: readonly number[]): string =>
  Buffer.from(Float32Array.from(vector).buffer).toString('base64')
