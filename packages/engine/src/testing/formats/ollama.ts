import type { ModelRequest } from '../model-request.js'
import type { Reply } from '../reply.js'
import type { Finish, ScriptedError } from '../scripted-answer.js'
import { jsonAnswer, retryHeaders } from '../wire-format.js'
import type { Failed, WireAnswer, WireFormat } from '../wire-format.js'

const FINISH: Readonly<Record<Finish, string>> = {
  stop: 'stop',
  length: 'length',
  tool: 'stop',
  filter: 'stop',
}

/** Ollama's own API, which streams lines of JSON unless told not to. */
export const ollama: WireFormat = {
  name: 'ollama',
  path: /\/api\/(chat|generate)$/,
  answer: (reply, request) => {
    const part = isChat(request) ? chatPart : generatePart
    const call = reply.toolCalls.map(({ name, args, id }) => ({
      ...(id !== undefined && { id }),
      function: { name, arguments: args },
    }))
    const calls = call.length === 0 ? {} : { tool_calls: call }
    const head = { model: reply.model, created_at: new Date(reply.created * 1000).toISOString() }
    if (!request.stream)
      return jsonAnswer({ ...head, ...part(reply.text, reply.reasoning, calls), ...end(reply) })
    const lines = [
      ...(reply.reasoning === '' ? [] : [part('', reply.reasoning)]),
      ...reply.pieces.map((text) => part(text)),
      ...(call.length === 0 ? [] : [part('', '', calls)]),
    ]
    return {
      status: 200,
      headers: { 'content-type': 'application/x-ndjson' },
      pieces: [
        ...lines.map((line) => ({ ...head, ...line, done: false })),
        { ...head, ...part(''), ...end(reply) },
      ].map((line) => `${JSON.stringify(line)}\n`),
    }
  },
  failure: ollamaFailure,
}

/** An error as Ollama tells it. */
export function ollamaFailure(error: ScriptedError, _request: Failed): WireAnswer {
  return jsonAnswer({ error: error.message }, retryHeaders(error), error.status)
}

const isChat = ({ path }: ModelRequest): boolean => /\/api\/chat(\?|$)/.test(path)

const chatPart = (text: string, reasoning = '', calls: object = {}): object => ({
  message: {
    role: 'assistant',
    content: text,
    ...(reasoning !== '' && { thinking: reasoning }),
    ...calls,
  },
})

/** Asked for a completion, a model cannot call tools. */
const generatePart = (text: string, reasoning = ''): object => ({
  response: text,
  ...(reasoning !== '' && { thinking: reasoning }),
})

const end = ({ finish, usage }: Reply): object => ({
  done: true,
  done_reason: FINISH[finish],
  total_duration: 500_000_000,
  load_duration: 10_000_000,
  prompt_eval_count: usage.input + usage.cachedInput + usage.cacheWrite,
  prompt_eval_duration: 90_000_000,
  eval_count: usage.output,
  eval_duration: 400_000_000,
})
