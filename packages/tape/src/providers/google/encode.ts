import { parseJson, recordOf, type JsonRecord } from '../json-shape.js'
import type { AnswerFormat, ScriptedFormat } from '../provider.js'
import { cutReply, hasText, replyId, type Finish, type Reply } from '../reply.js'
import type { FailedRequest, ScriptedError } from '../reply.js'
import { jsonAnswer, retryHeaders, streamAnswer, type WireAnswer } from '../wire-answer.js'
import { checkContent } from './check.js'
import { assembleContent, restreamContent } from './stream.js'

const FINISH: Readonly<Record<Finish, string>> = {
  stop: 'STOP',
  length: 'MAX_TOKENS',
  tool: 'STOP',
  filter: 'SAFETY',
}

const encodeContent = (reply: Reply): JsonRecord => {
  const { input, cachedInput, cacheWrite, output, reasoning } = reply.usage
  const prompt = input + cachedInput + cacheWrite
  const parts = [
    ...(reply.reasoning === '' ? [] : [{ text: reply.reasoning, thought: true }]),
    ...(hasText(reply) ? [{ text: reply.text }] : []),
    ...reply.toolCalls.map(({ name, args, id }) => ({
      functionCall: { ...(id !== undefined && { id }), name, args },
    })),
  ]
  return {
    candidates: [
      {
        content: { parts, role: 'model' },
        finishReason: FINISH[reply.finish],
        index: 0,
      },
    ],
    usageMetadata: {
      promptTokenCount: prompt,
      candidatesTokenCount: output - reasoning,
      totalTokenCount: prompt + output,
      ...(cachedInput > 0 && { cachedContentTokenCount: cachedInput }),
      promptTokensDetails: [{ modality: 'TEXT', tokenCount: prompt }],
      ...(reasoning > 0 && { thoughtsTokenCount: reasoning }),
    },
    modelVersion: reply.model,
    responseId: replyId(reply, 'resp-'),
  }
}

/** Without `alt=sse`, a stream is one JSON array, which is edited as a document. */
const isSse = (url: string): boolean => /[?&]alt=sse\b/.test(url)

export const contentAnswers: AnswerFormat = {
  assemble: (events) => assembleContent(events.map(({ data }) => recordOf(parseJson(data)))),
  restream: restreamContent,
  check: checkContent,
  encode: encodeContent,
  outputFields: ['candidates'],
  expectsStream: ({ url }) => /(?::|%3A)streamGenerateContent\?/i.test(url) && isSse(url),
}

/** At Google AI Studio and Vertex. */
export const scriptedContent: ScriptedFormat = {
  format: 'gemini',
  path: /:(generateContent|streamGenerateContent)$/,
  answer: (reply, request) => {
    const document = encodeContent(reply)
    if (!request.stream) return jsonAnswer(document)
    const events = restreamContent(document, {
      events: [],
      request: request.body,
      cut: cutReply(reply),
    })
    return isSse(request.path)
      ? streamAnswer(contentAnswers, events)
      : arrayAnswer(events.map(({ data }) => data))
  },
}

/** Valid JSON only as a whole, but each element is sent separately. */
const arrayAnswer = (chunks: readonly unknown[]): WireAnswer => ({
  status: 200,
  headers: { 'content-type': 'application/json; charset=UTF-8' },
  pieces: [
    ...chunks.map((chunk, index) => `${index === 0 ? '[' : ',\r\n'}${JSON.stringify(chunk)}`),
    ']',
  ],
})

const STATUSES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

/** An error as Google reports it; in an array where a stream would be one. */
export const googleFailure = (error: ScriptedError, request: FailedRequest): WireAnswer => {
  const { status: code, message, retryAfter } = error
  const status = error.code ?? STATUSES[code] ?? (code >= 500 ? 'INTERNAL' : 'FAILED_PRECONDITION')
  const details =
    retryAfter === undefined
      ? []
      : [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${retryAfter}s` }]
  const body = { error: { code, message, status, ...(details.length > 0 && { details }) } }
  const isArray = request.stream === true && !isSse(request.path)
  return jsonAnswer(isArray ? [body] : body, retryHeaders(error), code)
}
