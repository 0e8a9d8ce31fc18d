import { countTokens, decodeEmbedding, embeddingVector } from '../specification/embedding.js'
import { countOf, defined, isRecord, type JsonRecord } from '../../format/values/json-shape.js'
import { recordOf, recordsOf, textOf } from '../../format/values/json-shape.js'
import { CallNumbers, type Message } from '../specification/message.js'
import type { ModelApi } from '../specification/provider.js'
import { tokensOf, type ReplyRequest } from '../specification/reply.js'
import { jsonAnswer } from '../specification/wire-answer.js'
import { decodeParts } from './gemini.js'

const PATH = /\/([^/:]+):(embedContent|batchEmbedContents)$/

/** Gemini's embeddings. The answer may omit token counts; then the cost is unknown. */
export const geminiEmbeddings: ModelApi = {
  provider: 'google',
  api: 'embed content',
  conversation: ['requests', 'content'],

  matches: ({ method, url, mentions }) =>
    method === 'POST' && PATH.test(url.pathname) && (mentions('content') || mentions('requests')),

  decodeRequest: ({ url, json }) => {
    const body = recordOf(json())
    const model = PATH.exec(url.pathname)?.[1]
    const requests = Array.isArray(body['requests']) ? recordsOf(body['requests']) : [body]
    return defined({
      model,
      stream: false,
      messages: requests.map(({ content }): Message => ({
        role: 'user',
        parts: decodeParts(recordOf(content)['parts'], new CallNumbers()),
      })),
    })
  },

  decodeResponse: ({ json }) => {
    const answer = recordOf(json)
    const isThere = isRecord(answer['embedding']) || Array.isArray(answer['embeddings'])
    return decodeEmbedding(
      answer,
      isThere,
      countOf(recordOf(answer['usageMetadata'])['promptTokenCount']),
    )
  },
  scripted: [
    {
      format: 'gemini-embeddings',
      // Vertex uses `:predict`.
      path: /:(embedContent|batchEmbedContents|predict)$/,
      isComputed: () => true,
      answer: (_reply, request) => jsonAnswer(encodeVectors(request)),
    },
  ],
}

const encodeVectors = ({ path, body }: ReplyRequest): JsonRecord => {
  if (/:predict(\?|$)/.test(path)) {
    return {
      predictions: recordsOf(body['instances']).map(({ content }) => ({
        embeddings: {
          values: embeddingVector(String(content)),
          statistics: { token_count: tokensOf(String(content)), truncated: false },
        },
      })),
    }
  }
  const requests = 'requests' in body ? recordsOf(body['requests']) : [body]
  const texts = requests.map(({ content }) =>
    recordsOf(recordOf(content)['parts'])
      .map(({ text }) => textOf(text))
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
