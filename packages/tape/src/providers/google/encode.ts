import { isRecord, type JsonRecord, parseJson, recordOf } from '../../values/json-shape.js'
import type { AnswerFormat, ScriptedFormat } from '../provider.js'
import {
  cutReply,
  type FailedRequest,
  type Finish,
  hasText,
  type Reply,
  replyId,
  type ScriptedError,
} from '../reply.js'
import { jsonAnswer, retryHeaders, streamAnswer, type WireAnswer } from '../wire-answer.js'
import { assembleContent, restreamContent } from './stream.js'
import { Problems } from '../problems.js'

/** What makes it no answer of Gemini. */
const checkContent = (answer: unknown): string[] => {
  const problems = new Problems()
  const document = problems.record('the answer', answer)
  if (document === undefined) return problems.list
  const { candidates, promptFeedback, usageMetadata } = document
  // A prompt that was blocked has none.
  const isBlocked = candidates === undefined && isRecord(promptFeedback)
  if (Array.isArray(candidates) && candidates.length === 0) problems.add('candidates', 'is empty')
  for (const [path, candidate] of isBlocked ? [] : problems.records('candidates', candidates))
    checkCandidate(problems, path, candidate)
  if (usageMetadata !== undefined) {
    const counts = problems.record('usageMetadata', usageMetadata)
    problems.counts('usageMetadata', counts)
  }
  return problems.list
}

const checkCandidate = (problems: Problems, path: string, candidate: JsonRecord): void => {
  const { content, finishReason } = candidate
  if (typeof finishReason !== 'string' && typeof finishReason !== 'number')
    problems.add(`${path}.finishReason`, finishReason === undefined ? 'is missing' : 'is no reason')
  // An answer that was stopped may have no content, or content without parts.
  if (content === undefined) return
  const said = problems.record(`${path}.content`, content)
  if (said?.['role'] !== undefined) problems.oneOf(`${path}.content.role`, said['role'], ['model'])
  if (said?.['parts'] === undefined) return
  for (const [at, part] of problems.records(`${path}.content.parts`, said['parts']))
    checkPart(problems, at, part)
}

const checkPart = (problems: Problems, path: string, part: JsonRecord): void => {
  if ('text' in part) problems.text(`${path}.text`, part['text'])
  if (!('functionCall' in part)) return
  const call = problems.record(`${path}.functionCall`, part['functionCall'])
  if (call === undefined) return
  problems.text(`${path}.functionCall.name`, call['name'])
  if (call['args'] !== undefined && !isRecord(call['args']))
    problems.add(`${path}.functionCall.args`, 'is not an object')
}

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
