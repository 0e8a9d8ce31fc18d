import { toBase64 } from '../../format/values/bytes.js'
import { countOf, defined, filledText, listOf, recordOf } from '../../format/values/json-shape.js'
import {
  countTokens,
  decodeEmbedding,
  embeddingVector,
  textsIn,
} from '../specification/embedding.js'
import type { ModelApi } from '../specification/provider.js'
import { replyId } from '../specification/reply.js'
import { jsonAnswer } from '../specification/wire-answer.js'
import { requestedModel } from './chat.js'
import { promptMessages } from './completions.js'

/** OpenAI's embeddings, also used by Azure, Mistral, vLLM and others. */
export const openaiEmbeddings: ModelApi = {
  provider: 'openai',
  api: 'embeddings',
  conversation: ['input'],

  matches: ({ method, url, mentions }) =>
    method === 'POST' && url.pathname.endsWith('/embeddings') && mentions('input'),

  decodeRequest: (request) => {
    const body = recordOf(request.json())
    const model = requestedModel(request, body)
    return defined({ model, stream: false, messages: promptMessages(body['input']) })
  },

  decodeResponse: ({ json }) => {
    const answer = recordOf(json)
    const usage = recordOf(answer['usage'])
    const input = countOf(usage['prompt_tokens']) ?? countOf(usage['total_tokens'])
    const isThere = listOf(answer['data']).length > 0
    return defined({
      model: filledText(answer['model']),
      ...decodeEmbedding(answer, isThere, input),
    })
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
            const embedding =
              body['encoding_format'] === 'base64'
                ? toBase64(new Uint8Array(Float32Array.from(vector).buffer))
                : vector
            return { object: 'embedding', index, embedding }
          }),
          model: reply.model,
          usage: { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens },
        })
      },
    },
  ],
}
