import { replyId } from '../reply.js'
import type { Reply } from '../reply.js'
import type { Finish, ScriptedError } from '../scripted-answer.js'
import { jsonAnswer, retryHeaders, sseAnswer } from '../wire-format.js'
import type { Failed, WireAnswer, WireFormat } from '../wire-format.js'

const FINISH: Readonly<Record<Finish, string>> = {
  stop: 'STOP',
  length: 'MAX_TOKENS',
  tool: 'STOP',
  filter: 'SAFETY',
}

/** Gemini's content, of Google AI Studio and Vertex; a stream is one JSON array without `alt=sse`. */
export const gemini: WireFormat = {
  name: 'gemini',
  path: /:(generateContent|streamGenerateContent)$/,
  answer: (reply, request) => {
    if (!request.stream) return jsonAnswer(documentOf(reply, partsOf(reply), true))
    const chunks = streamed(reply)
    return isSse(request) ? sseAnswer(chunks.map((data) => ({ data }))) : arrayAnswer(chunks)
  },
  failure: geminiFailure,
}

const STATUSES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

/** An error as Google tells it; a stream that would be an array tells it in an array. */
export function geminiFailure(error: ScriptedError, request: Failed): WireAnswer {
  const { status: code, message, retryAfter } = error
  const status = error.code ?? STATUSES[code] ?? (code >= 500 ? 'INTERNAL' : 'FAILED_PRECONDITION')
  const details =
    retryAfter === undefined
      ? []
      : [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${retryAfter}s` }]
  const body = { error: { code, message, status, ...(details.length > 0 && { details }) } }
  const isArray = request.stream === true && !isSse(request)
  return jsonAnswer(isArray ? [body] : body, retryHeaders(error), code)
}

const isSse = ({ path }: { readonly path: string }): boolean => /[?&]alt=sse\b/.test(path)

function partsOf(reply: Reply): object[] {
  return [
    ...(reply.reasoning === '' ? [] : [{ text: reply.reasoning, thought: true }]),
    ...(reply.text === '' ? [] : [{ text: reply.text }]),
    ...callParts(reply),
  ]
}

const callParts = ({ toolCalls }: Reply): object[] =>
  toolCalls.map(({ name, args, id }) => ({
    functionCall: { ...(id !== undefined && { id }), name, args },
  }))

/** Calls come whole, all in one chunk; the last chunk says why it ended. */
function streamed(reply: Reply): object[] {
  const parts = [
    ...(reply.reasoning === '' ? [] : [[{ text: reply.reasoning, thought: true }]]),
    ...reply.pieces.map((text) => [{ text }]),
    ...(reply.toolCalls.length === 0 ? [] : [callParts(reply)]),
  ]
  const last = parts.length - 1
  return parts.length === 0
    ? [documentOf(reply, [{ text: '' }], true)]
    : parts.map((each, index) => documentOf(reply, each, index === last))
}

function documentOf(reply: Reply, parts: readonly object[], isLast: boolean): object {
  const { input, cachedInput, cacheWrite, output, reasoning } = reply.usage
  const prompt = input + cachedInput + cacheWrite
  return {
    candidates: [
      {
        content: { parts, role: 'model' },
        ...(isLast && { finishReason: FINISH[reply.finish] }),
        index: 0,
      },
    ],
    usageMetadata: {
      promptTokenCount: prompt,
      ...(isLast && { candidatesTokenCount: output - reasoning }),
      totalTokenCount: isLast ? prompt + output : prompt,
      ...(cachedInput > 0 && { cachedContentTokenCount: cachedInput }),
      promptTokensDetails: [{ modality: 'TEXT', tokenCount: prompt }],
      ...(isLast && reasoning > 0 && { thoughtsTokenCount: reasoning }),
    },
    modelVersion: reply.model,
    responseId: replyId(reply, 'resp-'),
  }
}

/** Valid JSON only as a whole, but every element comes for itself. */
const arrayAnswer = (chunks: readonly object[]): WireAnswer => ({
  status: 200,
  headers: { 'content-type': 'application/json; charset=UTF-8' },
  pieces: [
    ...chunks.map((chunk, index) => `${index === 0 ? '[' : ',\r\n'}${JSON.stringify(chunk)}`),
    ']',
  ],
})
