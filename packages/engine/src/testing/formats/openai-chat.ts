import type { ModelRequest } from '../model-request.js'
import { recordIn } from '../records-in.js'
import { callId, replyId } from '../reply.js'
import type { Reply } from '../reply.js'
import type { Finish } from '../scripted-answer.js'
import { jsonAnswer, sseAnswer } from '../wire-format.js'
import type { SseEvent, WireFormat } from '../wire-format.js'
import { chatDialect, mistralCallId } from './chat-dialect.js'
import type { ChatDialect } from './chat-dialect.js'
import { openaiFailure } from './openai-failure.js'

const FINISH: Readonly<Record<Finish, string>> = {
  stop: 'stop',
  length: 'length',
  tool: 'tool_calls',
  filter: 'content_filter',
}

/** OpenAI's chat completions, with the dialects of Groq, Mistral and Azure. */
export const openaiChat: WireFormat = {
  name: 'openai-chat',
  path: /\/chat\/completions$/,
  answer: (reply, request) => {
    const headers = { 'x-request-id': replyId(reply, 'req_') }
    return request.stream
      ? sseAnswer([...completionChunks(reply, request), '[DONE]'].map(asEvent), headers)
      : jsonAnswer(completionOf(reply, request), headers)
  },
  failure: openaiFailure,
}

const asEvent = (data: unknown): SseEvent => ({ data })

/** The whole completion; some models on Bedrock give the same. */
export function completionOf(reply: Reply, request: ModelRequest): object {
  const dialect = chatDialect(request)
  const { text, reasoning, toolCalls, finish } = reply
  const calls = toolCalls.map(({ name, args }, index) => ({
    id: idOf(reply, request, dialect, index),
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
  }))
  const said = dialect.say({ text, ...(reasoning !== '' && { reasoning }) })
  return {
    ...headOf(reply, dialect),
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          ...said,
          ...(text === '' &&
            calls.length > 0 &&
            request.provider !== 'mistral' && { content: null }),
          refusal: null,
          annotations: [],
          ...(calls.length > 0 && { tool_calls: calls }),
        },
        logprobs: null,
        finish_reason: FINISH[finish],
      },
    ],
    usage: dialect.usage(reply.usage),
  }
}

/** The chunks of a streamed completion. */
export function completionChunks(reply: Reply, request: ModelRequest): object[] {
  const dialect = chatDialect(request)
  const head = { ...headOf(reply, dialect), object: 'chat.completion.chunk' }
  const isAsked = wantsUsage(request)
  const withNull = dialect.streamUsage.startsWith('in a chunk of its own') && isAsked
  const usage = dialect.usage(reply.usage)
  const chunk = (delta: object, finish: string | null = null, more: object = {}): object => ({
    ...head,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    ...(withNull && { usage: null }),
    ...more,
  })
  const hasText = reply.text !== '' || reply.toolCalls.length === 0
  const groqId = { id: replyId(reply, 'req_') }
  return [
    chunk(
      { role: 'assistant', content: hasText ? '' : null, refusal: null },
      null,
      dialect.streamUsage === 'x_groq' ? { x_groq: groqId } : {},
    ),
    ...(reply.reasoning === '' ? [] : [chunk(dialect.say({ reasoning: reply.reasoning }))]),
    ...reply.pieces.map((text) => chunk(dialect.say({ text }))),
    ...reply.toolCalls.flatMap((call, index) => callChunks(call, index)),
    chunk({}, FINISH[reply.finish], {
      ...(dialect.streamUsage === 'x_groq' && { x_groq: { ...groqId, usage } }),
      ...(dialect.streamUsage === 'in the last chunk' && { usage }),
    }),
    ...(withNull ? [{ ...head, choices: [], usage }] : []),
  ]

  /** Mistral and Groq send a call whole, OpenAI its arguments in pieces. */
  function callChunks({ name, args, pieces }: Reply['toolCalls'][number], index: number): object[] {
    const id = idOf(reply, request, dialect, index)
    const opened = (text: string): object =>
      chunk({
        tool_calls: [{ index, id, type: 'function', function: { name, arguments: text } }],
      })
    if (request.provider === 'mistral' || request.provider === 'groq')
      return [opened(JSON.stringify(args))]
    return [
      opened(''),
      ...pieces.map((text) => chunk({ tool_calls: [{ index, function: { arguments: text } }] })),
    ]
  }
}

const headOf = (reply: Reply, dialect: ChatDialect): object => ({
  id: replyId(reply, dialect.idPrefix),
  created: reply.created,
  model: reply.model,
  ...dialect.head(reply),
})

const idOf = (reply: Reply, request: ModelRequest, dialect: ChatDialect, index: number): string =>
  request.provider === 'mistral'
    ? mistralCallId(reply, index)
    : callId(reply, index, dialect.callIdPrefix)

const wantsUsage = ({ body }: ModelRequest): boolean =>
  recordIn(body['stream_options'])['include_usage'] === true
