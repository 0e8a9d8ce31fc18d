import { chatAnswers, scriptedChat } from './encode.js'
import { assembleChat } from './chat-stream.js'
import { contentParts, roleOf } from './content.js'
import { resultContent } from '../message.js'
import { decodeChatUsage, reportedCost } from './chat-usage.js'
import { headerCost } from './chat-usage.js'
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
import { mergeParts, type Message, type MessagePart } from '../message.js'
import type { DecodedResponse, ProviderAnswer, ModelApi } from '../provider.js'

/** Chat Completions, as OpenAI defined it and many servers speak it. */
export const openaiChat: ModelApi = {
  provider: 'openai',
  api: 'chat completions',

  matches: ({ method, url, mentions }) =>
    method === 'POST' &&
    url.pathname.endsWith('/chat/completions') &&
    (url.hostname === 'api.openai.com' || mentions('messages')),

  decodeRequest: ({ url, json }) => {
    const body = recordOf(json())
    // Azure names the deployment in the path.
    const model = optionalText(body['model']) ?? /\/deployments\/([^/]+)\//.exec(url.pathname)?.[1]
    return {
      ...(model !== undefined && { model }),
      stream: body['stream'] === true,
      messages: recordsOf(body['messages']).map((message) => decodeMessage(message)),
    }
  },

  decodeResponse: (answer, request) => {
    const completion = completionOf(answer)
    const isGoogle = /(^|\.)googleapis\.com$/.test(request?.url.hostname ?? '')
    const decoded = decodeCompletion(isGoogle ? withThoughts(completion) : completion)
    const costUsd = decoded.costUsd ?? headerCost(answer.headers)
    return { ...decoded, ...(costUsd !== undefined && { costUsd }) }
  },

  answers: chatAnswers,
  scripted: [scriptedChat],
}

/** Google's compatible server counts thoughts in the total only; they are billed as output. */
const withThoughts = (completion: JsonRecord): JsonRecord => {
  const usage = recordOf(completion['usage'])
  const input = countOf(usage['prompt_tokens'])
  const said = countOf(usage['completion_tokens'])
  const total = countOf(usage['total_tokens'])
  if (input === undefined || said === undefined || total === undefined) return completion
  const thoughts = total - input - said
  if (thoughts <= 0 || usage['completion_tokens_details'] !== undefined) return completion
  const details = { reasoning_tokens: thoughts }
  const counted = { completion_tokens: said + thoughts, completion_tokens_details: details }
  return { ...completion, usage: { ...usage, ...counted } }
}

/** The document, or the one a stream of chunks adds up to. */
const completionOf = ({ json, events }: ProviderAnswer): JsonRecord =>
  events === undefined ? recordOf(json) : assembleChat(events)

/** Also the body that many models on Bedrock answer with. */
export const decodeCompletion = (completion: JsonRecord): DecodedResponse => {
  const choices = recordsOf(completion['choices'])
  const [finishReason] = choices.map(
    (choice) => optionalText(choice['finish_reason']) ?? optionalText(choice['stop_reason']),
  )
  const model = filledText(completion['model'])
  const usage = decodeChatUsage(completion)
  const error = completionError(completion, choices)
  const costUsd = reportedCost(completion)
  const servedBy = filledText(completion['provider'])
  return {
    ...(model !== undefined && { model }),
    messages: choices.map(decodeChoice),
    ...(usage !== undefined && { usage }),
    ...(finishReason !== undefined && { finishReason }),
    ...(error !== undefined && { error }),
    ...(costUsd !== undefined && { costUsd }),
    ...(servedBy !== undefined && { servedBy }),
  }
}

/** Routers report a failure in the middle of an answer in the choice, Groq beside it. */
const completionError = (
  completion: JsonRecord,
  choices: readonly JsonRecord[],
): string | undefined => {
  const candidates = [completion, ...choices, recordOf(completion['x_groq'])]
  const [found] = candidates.flatMap(({ error }) => errorMessage({ error }) ?? [])
  return found ?? (choices.length === 0 ? errorMessage(completion) : undefined)
}

const decodeChoice = (choice: JsonRecord): Message => {
  const message = decodeMessage(recordOf(choice['message']), 'assistant')
  const filter = choice['content_filter_results']
  const isFiltered = Object.values(recordOf(filter)).some(
    (result) => recordOf(result)['filtered'] === true,
  )
  return isFiltered
    ? {
        ...message,
        parts: [...message.parts, { type: 'other', kind: 'content_filter', value: filter }],
      }
    : message
}

/** One message of a conversation, as sent or as answered. */
export const decodeMessage = (message: JsonRecord, fallback?: Message['role']): Message => {
  const role = roleOf(message['role'] ?? fallback)
  if (role === 'tool') {
    const id = textOf(message['tool_call_id'] ?? message['name'])
    const content = resultContent(message['content'])
    return { role: 'tool', parts: [{ type: 'tool_result', id, content }] }
  }
  const reasoning = reasoningOf(message)
  const refusal = textOf(message['refusal'])
  const parts: MessagePart[] = [
    ...(reasoning === '' ? [] : [{ type: 'reasoning', text: reasoning } as const]),
    ...mergeParts(contentParts(message['content'])),
    ...contentParts(refusal),
    ...recordsOf(message['tool_calls']).map(decodeToolCall),
    // A server that fills in every field there is names no function where none was called.
    ...(filledText(recordOf(message['function_call'])['name']) === undefined
      ? []
      : [decodeToolCall({ function: message['function_call'] })]),
  ]
  return { role, parts }
}

/** vLLM, DeepSeek and xAI say `reasoning_content`, Groq and OpenRouter `reasoning` or details of it. */
const reasoningOf = (message: JsonRecord): string =>
  filledText(message['reasoning_content']) ??
  filledText(message['reasoning']) ??
  recordsOf(message['reasoning_details'])
    .map(({ text, summary }) => textOf(text ?? summary))
    .join('')

const decodeToolCall = (call: JsonRecord): MessagePart => {
  const custom = recordOf(call['custom'])
  const isCustom = filledText(custom['name']) !== undefined
  const { name, arguments: text, input } = isCustom ? custom : recordOf(call['function'])
  // Mistral and Ollama may send the arguments parsed.
  const given = typeof text === 'string' ? parseArguments(text) : (text ?? {})
  const args = isCustom ? input : given
  // Before calls had ids, a result named the function.
  return { type: 'tool_call', id: textOf(call['id'] ?? name), name: textOf(name), args }
}
