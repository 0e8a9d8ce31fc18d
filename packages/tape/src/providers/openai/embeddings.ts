import { toBase64 } from '../../format/bytes.js'
import { countTokens, decodeEmbedding, embeddingVector, textsIn } from '../embedding.js'
import { countOf, filledText, listOf, recordOf, textOf } from '../../values/json-shape.js'
import { textPart, type Message } from '../message.js'
import type { ModelApi } from '../provider.js'
import { replyId } from '../reply.js'
import { jsonAnswer } from '../wire-answer.js'

/** OpenAI's embeddings, which Azure, Mistral, vLLM and others also speak. */
export const openaiEmbeddings: ModelApi = {
  provider: 'openai',
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
      messages: (Array.isArray(input) ? input : [input]).map(inputMessage),
    }
  },

  decodeResponse: ({ json }) => {
    const answer = recordOf(json)
    const usage = recordOf(answer['usage'])
    const input = countOf(usage['prompt_tokens']) ?? countOf(usage['total_tokens'])
    const model = filledText(answer['model'])
    const decoded = decodeEmbedding(answer, listOf(answer['data']).length > 0, input)
    return { ...(model !== undefined && { model }), ...decoded }
  },
  scripted: [
    {
      format: 'openai-embeddings',
      path: /(?<!\/api)\/embeddings$/,
      isComputed: () => true,
      // OpenAI's own client requests base64.
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
    },
  ],
}

/** Input may be text, or tokens that stand for it. */
const inputMessage = (input: unknown): Message => ({
  role: 'user',
  parts: [
    typeof input === 'string'
      ? textPart(textOf(input))
      : { type: 'other', kind: 'tokens', value: input },
  ],
})

const asBase64 = (vector: readonly number[]): string =>
  toBase64(new Uint8Array(Float32Array.from(vector).buffer))
