import { embeddingVector } from '../embedding-vector.js'
import type { ModelRequest } from '../model-request.js'
import { recordsIn } from '../records-in.js'
import { tokensOf } from '../reply.js'
import type { Reply } from '../reply.js'
import { messageEvents, messageOf } from './anthropic.js'
import { conversation, converseEvents } from './bedrock-converse.js'
import { textsIn } from './embeddings.js'
import { completionChunks, completionOf } from './openai-chat.js'

/** The bodies of one family of models, whole and streamed. */
export interface BedrockFamily {
  readonly whole: (reply: Reply, request: ModelRequest) => object
  readonly chunks: (reply: Reply, request: ModelRequest) => readonly object[]
}

/** By the body, as the family may not be in the id; where both take a prompt, by the id. */
export function familyOf({ body, model = '' }: ModelRequest): BedrockFamily {
  if ('anthropic_version' in body) return claude
  if ('inputText' in body) return model.includes('embed') ? titanEmbedding : titan
  if ('texts' in body) return cohereEmbedding
  if ('message' in body) return cohere
  if ('prompt' in body) return model.includes('mistral') ? mistral : llama
  return 'inferenceConfig' in body || 'schemaVersion' in body || hasBareBlocks(body['messages'])
    ? nova
    : chat
}

/** Nova's blocks of content have no type. */
const hasBareBlocks = (messages: unknown): boolean =>
  recordsIn(messages).some(({ content }) =>
    recordsIn(content).some((block) => 'text' in block && !('type' in block)),
  )

const claude: BedrockFamily = { whole: messageOf, chunks: messageEvents }

const nova: BedrockFamily = {
  whole: conversation,
  chunks: (reply) => converseEvents(reply).map(([type, value]) => ({ [type]: value })),
}

/** Models that answer with chat completions on Bedrock, too. */
const chat: BedrockFamily = { whole: completionOf, chunks: completionChunks }

const finishAs = (reply: Reply, stop: string, length: string): string =>
  reply.finish === 'length' ? length : stop

const llama: BedrockFamily = {
  whole: (reply) => ({
    generation: reply.text,
    prompt_token_count: reply.usage.input,
    generation_token_count: reply.usage.output,
    stop_reason: finishAs(reply, 'stop', 'length'),
  }),
  chunks: (reply) =>
    [...reply.pieces, ''].map((generation, index, all) => ({
      generation,
      prompt_token_count: index === 0 ? reply.usage.input : null,
      generation_token_count:
        index === all.length - 1 ? reply.usage.output : Math.min(index + 1, reply.usage.output),
      stop_reason: index === all.length - 1 ? finishAs(reply, 'stop', 'length') : null,
    })),
}

const mistral: BedrockFamily = {
  whole: (reply) => ({
    outputs: [{ text: reply.text, stop_reason: finishAs(reply, 'stop', 'length') }],
  }),
  chunks: (reply) =>
    [...reply.pieces, ''].map((text, index, all) => ({
      outputs: [
        {
          text,
          stop_reason: index === all.length - 1 ? finishAs(reply, 'stop', 'length') : null,
        },
      ],
    })),
}

const titan: BedrockFamily = {
  whole: (reply) => ({
    inputTextTokenCount: reply.usage.input,
    results: [
      {
        tokenCount: reply.usage.output,
        outputText: reply.text,
        completionReason: finishAs(reply, 'FINISH', 'LENGTH'),
      },
    ],
  }),
  chunks: (reply) =>
    (reply.pieces.length === 0 ? [''] : reply.pieces).map((outputText, index, all) => ({
      outputText,
      index: 0,
      totalOutputTextTokenCount: index === all.length - 1 ? reply.usage.output : null,
      completionReason: index === all.length - 1 ? finishAs(reply, 'FINISH', 'LENGTH') : null,
      inputTextTokenCount: index === 0 ? reply.usage.input : null,
    })),
}

const cohere: BedrockFamily = {
  whole: (reply) => ({
    response_id: `response-${reply.number}`,
    generation_id: `generation-${reply.number}`,
    text: reply.text,
    finish_reason: finishAs(reply, 'COMPLETE', 'MAX_TOKENS'),
    ...cohereCalls(reply),
  }),
  chunks: (reply) => [
    ...reply.pieces.map((text) => ({ is_finished: false, event_type: 'text-generation', text })),
    ...(reply.toolCalls.length === 0
      ? []
      : [{ is_finished: false, event_type: 'tool-calls-generation', ...cohereCalls(reply) }]),
    {
      is_finished: true,
      event_type: 'stream-end',
      finish_reason: finishAs(reply, 'COMPLETE', 'MAX_TOKENS'),
      response: { text: reply.text },
    },
  ],
}

const cohereCalls = ({ toolCalls }: Reply): object =>
  toolCalls.length === 0
    ? {}
    : { tool_calls: toolCalls.map(({ name, args }) => ({ name, parameters: args })) }

const titanEmbedding: BedrockFamily = {
  whole: (_reply, { body }) => ({
    embedding: embeddingVector(String(body['inputText']), body['dimensions']),
    inputTextTokenCount: tokensOf(String(body['inputText'])),
  }),
  chunks: () => [],
}

const cohereEmbedding: BedrockFamily = {
  whole: (reply, { body }) => ({
    id: `embedding-${reply.number}`,
    response_type: 'embeddings_floats',
    texts: body['texts'],
    embeddings: textsIn(body['texts']).map((text) => embeddingVector(text)),
  }),
  chunks: () => [],
}
