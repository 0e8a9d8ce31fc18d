import {
  isRecord,
  type JsonRecord,
  parseJson,
  recordOf,
  recordsOf,
} from '../../values/json-shape.js'
import type { AnswerFormat } from '../provider.js'
import {
  callId,
  type FailedRequest,
  type Finish,
  hasText,
  type Reply,
  replyId,
  type ScriptedError,
  type ScriptedUsage,
} from '../reply.js'
import { jsonAnswer, retryHeaders, scriptedFormat, type WireAnswer } from '../wire-answer.js'
import { assembleConverse, bedrockFrame, isException, restreamConverse } from './converse-stream.js'
import { Problems } from '../problems.js'

const STOP_REASONS = [
  'end_turn',
  'tool_use',
  'max_tokens',
  'stop_sequence',
  'guardrail_intervened',
  'content_filtered',
  'malformed_model_output',
  'malformed_tool_use',
  'model_context_window_exceeded',
]

/** What makes it no answer of Bedrock's Converse API. */
const checkConverse = (answer: unknown): string[] => {
  const problems = new Problems()
  const document = problems.record('the answer', answer)
  if (document === undefined) return problems.list
  const { output, stopReason, usage } = document
  problems.oneOf('stopReason', stopReason, STOP_REASONS)
  const message = problems.record('output.message', isRecord(output) ? output['message'] : output)
  if (message !== undefined) {
    problems.oneOf('output.message.role', message['role'], ['assistant'])
    const blocks = problems.records('output.message.content', message['content'])
    for (const [path, block] of blocks) checkBlock(problems, path, block)
    const calls = recordsOf(message['content']).filter((block) => 'toolUse' in block)
    if (stopReason === 'tool_use' && calls.length === 0)
      problems.add('stopReason', 'is "tool_use", but no block is one')
  }
  if (usage !== undefined) {
    const counts = problems.record('usage', usage)
    problems.count('usage.inputTokens', counts?.['inputTokens'])
    problems.count('usage.outputTokens', counts?.['outputTokens'])
    problems.counts('usage', counts)
  }
  return problems.list
}

const checkBlock = (problems: Problems, path: string, block: JsonRecord): void => {
  if ('text' in block) problems.text(`${path}.text`, block['text'])
  if (!('toolUse' in block)) return
  const call = problems.record(`${path}.toolUse`, block['toolUse'])
  if (call === undefined) return
  problems.text(`${path}.toolUse.toolUseId`, call['toolUseId'])
  problems.text(`${path}.toolUse.name`, call['name'])
  if (call['input'] === undefined || typeof call['input'] === 'string')
    problems.add(`${path}.toolUse.input`, 'is not JSON')
}

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
