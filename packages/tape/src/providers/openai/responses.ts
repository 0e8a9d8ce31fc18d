import { responseAnswers, scriptedResponses } from './encode.js'
import { assembleResponse } from './responses-stream.js'
import { contentParts, roleOf } from './content.js'
import { resultContent } from '../message.js'
import { reportedCost } from './chat-usage.js'
import { unpricedTier } from '../usage.js'
import { usageFromTotals, type Usage } from '../usage.js'
import {
  countOf,
  errorMessage,
  filledText,
  optionalText,
  parseArguments,
  recordOf,
  recordsOf,
  textOf,
  type JsonRecord,
} from '../../values/json-shape.js'
import { textPart, type Message, type MessagePart } from '../message.js'
import type { DecodedResponse, ProviderAnswer, ModelApi } from '../provider.js'

/** OpenAI's Responses API. A conversation kept on the server is not on the tape and not shown. */
export const openaiResponses: ModelApi = {
  provider: 'openai',
  api: 'responses',

  matches: ({ method, url, mentions }) =>
    method === 'POST' &&
    url.pathname.endsWith('/responses') &&
    (url.hostname === 'api.openai.com' || mentions('model', 'input')),

  decodeRequest: ({ json }) => {
    const body = recordOf(json())
    const model = optionalText(body['model'])
    const { input } = body
    const instructions = textOf(body['instructions'])
    return {
      ...(model !== undefined && { model }),
      stream: body['stream'] === true,
      messages: [
        ...(instructions === ''
          ? []
          : [{ role: 'system', parts: [textPart(instructions)] } as const]),
        ...(typeof input === 'string'
          ? [{ role: 'user', parts: [textPart(input)] } as const]
          : joinTurns(recordsOf(input).map(decodeItem))),
      ],
    }
  },

  decodeResponse: (answer) => decodeAnswer(documentOf(answer)),

  answers: responseAnswers,
  scripted: [scriptedResponses],
}

const decodeAnswer = (response: JsonRecord): DecodedResponse => {
  const model = filledText(response['model'])
  const usage = decodeUsage(response)
  const costUsd = reportedCost(response)
  const error = errorMessage(response)
  const status = optionalText(response['status'])
  const reason = optionalText(recordOf(response['incomplete_details'])['reason'])
  const finishReason =
    reason ?? (status === 'in_progress' || status === 'queued' ? undefined : status)
  return {
    ...(model !== undefined && { model }),
    messages: joinTurns(recordsOf(response['output']).map(decodeItem)),
    ...(usage !== undefined && { usage }),
    ...(finishReason !== undefined && { finishReason }),
    ...(error !== undefined && { error }),
    ...(costUsd !== undefined && { costUsd }),
  }
}

/** One turn of the assistant comes as several items: reasoning, text, calls. */
const joinTurns = (messages: readonly Message[]): Message[] => {
  const turns: Message[] = []
  for (const message of messages) {
    const last = turns.at(-1)
    if (last?.role === 'assistant' && message.role === 'assistant') {
      turns[turns.length - 1] = { role: 'assistant', parts: [...last.parts, ...message.parts] }
    } else {
      turns.push(message)
    }
  }
  return turns
}

const decodeItem = (item: JsonRecord): Message => {
  const kind = textOf(item['type'] ?? 'message')
  if (kind === 'message')
    return { role: roleOf(item['role']), parts: contentParts(item['content']) }
  if (kind.endsWith('_call_output')) {
    const content = resultContent(item['output'])
    return { role: 'tool', parts: [{ type: 'tool_result', id: textOf(item['call_id']), content }] }
  }
  return { role: 'assistant', parts: [decodeTurnPart(kind, item)] }
}

const decodeTurnPart = (kind: string, item: JsonRecord): MessagePart => {
  const id = textOf(item['call_id'])
  const name = textOf(item['name'])
  switch (kind) {
    case 'function_call':
      return { type: 'tool_call', id, name, args: parseArguments(textOf(item['arguments'])) }
    case 'custom_tool_call':
      return { type: 'tool_call', id, name, args: item['input'] }
    case 'reasoning': {
      const parts = [...recordsOf(item['summary']), ...recordsOf(item['content'])]
      return { type: 'reasoning', text: parts.map((part) => textOf(part['text'])).join('\n') }
    }
    default:
      if (!CLIENT_CALLS.test(kind) || isHosted(item)) return { type: 'other', kind, value: item }
      return {
        type: 'tool_call',
        id,
        name: kind.replace(/_call$/, ''),
        args: item['action'] ?? item['operation'] ?? item['actions'] ?? {},
      }
  }
}

/** Tools that run at the provider cost extra. */
const HOSTED_CALLS = /^(web_search|x_search|file_search|code_interpreter|image_generation)_call$/
/** Tools that OpenAI describes and the client runs, each with words of its own for what to do. */
const CLIENT_CALLS = /^(shell|local_shell|apply_patch|computer)_call$/

/** A shell may also run in a container of the provider. */
const isHosted = ({ type, environment }: JsonRecord): boolean =>
  HOSTED_CALLS.test(textOf(type)) ||
  (type === 'shell_call' && textOf(recordOf(environment)['type']).startsWith('container'))

const decodeUsage = (response: JsonRecord): Usage | undefined => {
  const usage = recordOf(response['usage'])
  const allInput = countOf(usage['input_tokens'])
  const output = countOf(usage['output_tokens'])
  if (allInput === undefined || output === undefined) return undefined
  const inputDetails = recordOf(usage['input_tokens_details'])
  const hosted = recordsOf(response['output'])
    .filter(isHosted)
    .map(({ type }) => textOf(type))
  return usageFromTotals({
    allInput,
    cachedInput: countOf(inputDetails['cached_tokens']) ?? 0,
    cacheWrite: countOf(inputDetails['cache_write_tokens']) ?? 0,
    output,
    reasoning: countOf(recordOf(usage['output_tokens_details'])['reasoning_tokens']) ?? 0,
    total: countOf(usage['total_tokens']),
    unpriced: [...new Set(hosted), ...unpricedTier(response)],
  })
}

const documentOf = ({ json, events }: ProviderAnswer): JsonRecord =>
  events === undefined ? recordOf(json) : assembleResponse(events)
