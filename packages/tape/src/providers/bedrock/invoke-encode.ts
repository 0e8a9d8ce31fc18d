import { toBase64 } from '../../format/bytes.js'
import { messageAnswers } from '../anthropic/encode.js'
import { embeddingVector, textsIn } from '../embedding.js'
import { recordOf, recordsOf, type JsonRecord } from '../../values/json-shape.js'
import { completionChunks, encodeCompletion } from '../openai/encode.js'
import type { AnswerFormat, ScriptedFormat } from '../provider.js'
import { cutReply, replyId, tokensOf, type Reply, type ReplyRequest } from '../reply.js'
import { jsonAnswer, streamAnswer, type WireAnswer } from '../wire-answer.js'
import { converseAnswers } from './encode.js'
import { METRICS } from './usage.js'

/** Bedrock's InvokeModel, where each family of models has its own body. */
export const scriptedInvoke: ScriptedFormat = {
  format: 'bedrock-invoke',
  path: /\/model\/.+\/invoke(-with-response-stream)?$/,
  isComputed: ({ body, model = '' }) => 'texts' in body || model.includes('embed'),
  answer: (reply, request) => (request.stream ? streamed(reply, request) : whole(reply, request)),
}

const requestId = (reply: Reply) => ({ 'x-amzn-requestid': replyId(reply, 'req-') })

const whole = (reply: Reply, request: ReplyRequest): WireAnswer =>
  jsonAnswer(familyOf(request).whole(reply, request), {
    ...requestId(reply),
    'x-amzn-bedrock-input-token-count': String(reply.usage.input),
    'x-amzn-bedrock-output-token-count': String(reply.usage.output),
    'x-amzn-bedrock-invocation-latency': '400',
    ...(reply.usage.cachedInput > 0 && {
      'x-amzn-bedrock-cache-read-input-token-count': String(reply.usage.cachedInput),
    }),
    ...(reply.usage.cacheWrite > 0 && {
      'x-amzn-bedrock-cache-write-input-token-count': String(reply.usage.cacheWrite),
    }),
  })

/** Each event has the model's own JSON in base64; the last adds Bedrock's counts. */
const streamed = (reply: Reply, request: ReplyRequest): WireAnswer => {
  const { input, output, cachedInput, cacheWrite } = reply.usage
  const metrics = {
    inputTokenCount: input,
    outputTokenCount: output,
    invocationLatency: 400,
    firstByteLatency: 200,
    ...(cachedInput > 0 && { cacheReadInputTokenCount: cachedInput }),
    ...(cacheWrite > 0 && { cacheWriteInputTokenCount: cacheWrite }),
  }
  const chunks = familyOf(request).chunks(reply, request)
  const last = chunks.length - 1
  const events = chunks.map((chunk, index) => {
    const json = JSON.stringify(index === last ? { ...chunk, [METRICS]: metrics } : chunk)
    return { event: 'chunk', data: { bytes: toBase64(new TextEncoder().encode(json)) } }
  })
  return streamAnswer(converseAnswers, events, requestId(reply))
}

/** The bodies of one family of models, whole and streamed. */
interface BedrockFamily {
  readonly whole: (reply: Reply, request: ReplyRequest) => JsonRecord
  readonly chunks: (reply: Reply, request: ReplyRequest) => readonly JsonRecord[]
}

/** By the body, since an id may not name the family; by the id where two families take a prompt. */
const familyOf = ({ body, model = '' }: ReplyRequest): BedrockFamily => {
  if ('anthropic_version' in body) return claude
  if ('inputText' in body) return model.includes('embed') ? titanEmbedding : titan
  if ('texts' in body) return cohereEmbedding
  if ('message' in body) return cohere
  if ('prompt' in body) return model.includes('mistral') ? mistral : llama
  return 'inferenceConfig' in body || 'schemaVersion' in body || hasBareBlocks(body['messages'])
    ? nova
    : chat
}

/** Nova's content blocks have no type. */
const hasBareBlocks = (messages: unknown): boolean =>
  recordsOf(messages).some(({ content }) =>
    recordsOf(content).some((block) => 'text' in block && !('type' in block)),
  )

const eventsOf = (answers: AnswerFormat, reply: Reply, request: ReplyRequest) =>
  answers.restream(answers.encode(reply, request), {
    events: [],
    request: request.body,
    cut: cutReply(reply),
  })

const claude: BedrockFamily = {
  whole: (reply, request) => messageAnswers.encode(reply, request),
  chunks: (reply, request) =>
    eventsOf(messageAnswers, reply, request).map(({ data }) => recordOf(data)),
}

const nova: BedrockFamily = {
  whole: (reply, request) => converseAnswers.encode(reply, request),
  chunks: (reply, request) =>
    eventsOf(converseAnswers, reply, request).map(({ event = '', data }) => ({ [event]: data })),
}

/** Models that answer with chat completions, on Bedrock too. */
const chat: BedrockFamily = { whole: encodeCompletion, chunks: completionChunks }

const finishAs = (reply: Reply, stop: string, length: string): string =>
  reply.finish === 'length' ? length : stop

/** The pieces of the text, each with a function of whether it is the first or last. */
const pieces = (
  reply: Reply,
  write: (piece: string, isFirst: boolean, isLast: boolean, index: number) => JsonRecord,
): JsonRecord[] =>
  [...cutReply(reply)(reply.text), ''].map((piece, index, all) =>
    write(piece, index === 0, index === all.length - 1, index),
  )

const llama: BedrockFamily = {
  whole: (reply) => ({
    generation: reply.text,
    prompt_token_count: reply.usage.input,
    generation_token_count: reply.usage.output,
    stop_reason: finishAs(reply, 'stop', 'length'),
  }),
  chunks: (reply) =>
    pieces(reply, (generation, isFirst, isLast, index) => ({
      generation,
      prompt_token_count: isFirst ? reply.usage.input : null,
      generation_token_count: isLast ? reply.usage.output : Math.min(index + 1, reply.usage.output),
      stop_reason: isLast ? finishAs(reply, 'stop', 'length') : null,
    })),
}

const mistral: BedrockFamily = {
  whole: (reply) => ({
    outputs: [{ text: reply.text, stop_reason: finishAs(reply, 'stop', 'length') }],
  }),
  chunks: (reply) =>
    pieces(reply, (text, _, isLast) => ({
      outputs: [{ text, stop_reason: isLast ? finishAs(reply, 'stop', 'length') : null }],
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
    pieces(reply, (outputText, isFirst, isLast) => ({
      outputText,
      index: 0,
      totalOutputTextTokenCount: isLast ? reply.usage.output : null,
      completionReason: isLast ? finishAs(reply, 'FINISH', 'LENGTH') : null,
      inputTextTokenCount: isFirst ? reply.usage.input : null,
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
    ...cutReply(reply)(reply.text).map((text) => ({
      is_finished: false,
      event_type: 'text-generation',
      text,
    })),
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

const cohereCalls = ({ toolCalls }: Reply): JsonRecord =>
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
