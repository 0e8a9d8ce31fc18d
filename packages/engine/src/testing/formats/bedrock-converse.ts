import { bedrockEvent } from '@retake/tape'
import { callId, replyId } from '../reply.js'
import type { Reply } from '../reply.js'
import type { Finish, ScriptedError, ScriptedUsage } from '../scripted-answer.js'
import { jsonAnswer, retryHeaders } from '../wire-format.js'
import type { Failed, WireAnswer, WireFormat } from '../wire-format.js'

const FINISH: Readonly<Record<Finish, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool: 'tool_use',
  filter: 'content_filtered',
}

/** Bedrock's Converse and ConverseStream. */
export const bedrockConverse: WireFormat = {
  name: 'bedrock-converse',
  path: /\/model\/.+\/converse(-stream)?$/,
  answer: (reply, request) =>
    request.stream
      ? frameAnswer(
          reply,
          converseEvents(reply).map(([type, value]) => bedrockEvent(type, value)),
        )
      : jsonAnswer(conversation(reply), { 'x-amzn-requestid': replyId(reply, 'req-') }),
  failure: bedrockFailure,
}

/** A stream of messages in AWS's framing. */
export const frameAnswer = (reply: Reply, frames: readonly Uint8Array[]): WireAnswer => ({
  status: 200,
  headers: {
    'content-type': 'application/vnd.amazon.eventstream',
    'x-amzn-requestid': replyId(reply, 'req-'),
  },
  pieces: frames,
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

/** An error as AWS tells it: its class in a header. */
export function bedrockFailure(error: ScriptedError, request: Failed): WireAnswer {
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

/** The whole answer; Nova gives the same when it is invoked. */
export const conversation = (reply: Reply): object => ({
  output: {
    message: {
      role: 'assistant',
      content: [
        ...(reply.reasoning === ''
          ? []
          : [{ reasoningContent: { reasoningText: { text: reply.reasoning } } }]),
        ...(reply.text === '' ? [] : [{ text: reply.text }]),
        ...reply.toolCalls.map(({ name, args }, index) => ({
          toolUse: { toolUseId: callId(reply, index, 'tooluse_'), name, input: args },
        })),
      ],
    },
  },
  stopReason: FINISH[reply.finish],
  usage: usageOf(reply.usage),
  metrics: { latencyMs: 400 },
})

type ConverseEvent = readonly [type: string, value: object]

/** The events of a streamed answer. Only a tool call is opened by an event of its own. */
export function converseEvents(reply: Reply): ConverseEvent[] {
  const blocks = [
    ...(reply.reasoning === ''
      ? []
      : [{ deltas: [{ reasoningContent: { text: reply.reasoning } }] }]),
    ...(reply.text === '' ? [] : [{ deltas: reply.pieces.map((text) => ({ text })) }]),
    ...reply.toolCalls.map(({ name, pieces }, at) => ({
      start: { toolUse: { toolUseId: callId(reply, at, 'tooluse_'), name } },
      deltas: pieces.map((input) => ({ toolUse: { input } })),
    })),
  ]
  return [
    ['messageStart', { role: 'assistant' }],
    ...blocks.flatMap((block, contentBlockIndex): ConverseEvent[] => [
      ...('start' in block
        ? [['contentBlockStart', { start: block.start, contentBlockIndex }] as const]
        : []),
      ...block.deltas.map((delta) => ['contentBlockDelta', { delta, contentBlockIndex }] as const),
      ['contentBlockStop', { contentBlockIndex }],
    ]),
    ['messageStop', { stopReason: FINISH[reply.finish] }],
    ['metadata', { usage: usageOf(reply.usage), metrics: { latencyMs: 400 } }],
  ]
}

const usageOf = ({ input, cachedInput, cacheWrite, output }: ScriptedUsage): object => ({
  inputTokens: input,
  outputTokens: output,
  totalTokens: input + cachedInput + cacheWrite + output,
  cacheReadInputTokens: cachedInput,
  cacheWriteInputTokens: cacheWrite,
})
