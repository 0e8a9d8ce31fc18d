import { parseJson, recordOf, type JsonRecord } from '../json-shape.js'
import type { AnswerFormat } from '../provider.js'
import { callId, hasText, replyId, type Finish, type Reply, type ScriptedUsage } from '../reply.js'
import type { FailedRequest, ScriptedError } from '../reply.js'
import { jsonAnswer, retryHeaders, scriptedFormat, type WireAnswer } from '../wire-answer.js'
import { checkConverse } from './check.js'
import { assembleConverse, bedrockFrame, isException, restreamConverse } from './converse-stream.js'

const FINISH: Readonly<Record<Finish, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool: 'tool_use',
  filter: 'content_filtered',
}

/** A whole answer of Converse; Nova returns the same when it is invoked. */
const encodeConverse = (reply: Reply): JsonRecord => ({
  output: {
    message: {
      role: 'assistant',
      content: [
        ...(reply.reasoning === ''
          ? []
          : [{ reasoningContent: { reasoningText: { text: reply.reasoning } } }]),
        ...(hasText(reply) ? [{ text: reply.text }] : []),
        ...reply.toolCalls.map(({ name, args }, index) => ({
          toolUse: { toolUseId: callId(reply, index, 'tooluse_'), name, input: args },
        })),
      ],
    },
  },
  stopReason: FINISH[reply.finish],
  usage: encodeUsage(reply.usage),
  metrics: { latencyMs: 400 },
})

const encodeUsage = ({ input, cachedInput, cacheWrite, output }: ScriptedUsage): JsonRecord => ({
  inputTokens: input,
  outputTokens: output,
  totalTokens: input + cachedInput + cacheWrite + output,
  cacheReadInputTokens: cachedInput,
  cacheWriteInputTokens: cacheWrite,
})

export const converseAnswers: AnswerFormat = {
  assemble: (events) => {
    const named = events.map(({ event, data }) => [event, recordOf(parseJson(data))] as const)
    const failed = named.find(([event]) => isException(event))
    const error = failed && { type: failed[0], ...failed[1] }
    return { ...assembleConverse(named), ...(error !== undefined && { error }) }
  },
  restream: restreamConverse,
  check: checkConverse,
  encode: encodeConverse,
  outputFields: ['output', 'stopReason'],
  frame: bedrockFrame,
  streamType: 'application/vnd.amazon.eventstream',
  expectsStream: ({ url }) => /\/converse-stream(?:\?|$)/.test(url),
}

export const scriptedConverse = scriptedFormat({
  format: 'bedrock-converse',
  path: /\/model\/.+\/converse(-stream)?$/,
  answers: converseAnswers,
  headers: (reply) => ({ 'x-amzn-requestid': replyId(reply, 'req-') }),
})

const EXCEPTIONS: Readonly<Record<number, string>> = {
  400: 'ValidationException',
  403: 'AccessDeniedException',
  404: 'ResourceNotFoundException',
  408: 'ModelTimeoutException',
  424: 'ModelErrorException',
  429: 'ThrottlingException',
  500: 'InternalServerException',
  503: 'ServiceUnavailableException',
}

/** An error as AWS reports it: its class is in a header. */
export const bedrockFailure = (error: ScriptedError, request: FailedRequest): WireAnswer => {
  const { status, message } = error
  const type =
    error.code ??
    EXCEPTIONS[status] ??
    (status >= 500 ? 'InternalServerException' : 'ValidationException')
  return jsonAnswer(
    { message },
    {
      'x-amzn-errortype': type,
      'x-amzn-requestid': replyId(request, 'req-'),
      ...retryHeaders(error),
    },
    status,
  )
}
