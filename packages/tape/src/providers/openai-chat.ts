import { assembleChat } from './openai-chat-assembly.js'
import { contentParts, roleOf } from './openai-content.js'
import { resultContent } from './tool-result-content.js'
import { unpricedTier } from './unpriced-tier.js'
import { usageFromTotals, type Usage } from './usage.js'
import {
  countOf,
  errorMessage,
  isRecord,
  optionalText,
  parseArguments,
  recordOf,
  recordsOf,
  textOf,
  type JsonRecord,
} from './json-shape.js'
import type { Message, MessagePart } from './message.js'
import type { DecodedResponse, ProviderAnswer, ProviderDecoder } from './provider-decoder.js'

/** Chat Completions, as OpenAI defined it and many servers speak it. */
export const openaiChat: ProviderDecoder = {
  name: 'openai',
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

  decodeResponse: (answer) => decodeCompletion(completionOf(answer)),
}

/** The document, or the one a stream of chunks adds up to. */
const completionOf = ({ json, events }: ProviderAnswer): JsonRecord =>
  events === undefined ? recordOf(json) : assembleChat(events)

const decodeCompletion = (completion: JsonRecord): DecodedResponse => {
  const choices = recordsOf(completion['choices'])
  const [finishReason] = choices.map((choice) => optionalText(choice['finish_reason']))
  const model = optionalText(completion['model'])
  const usage = decodeUsage(completion)
  const error =
    choices.length === 0 ? errorMessage(completion) : errorMessage({ error: completion['error'] })
  return {
    ...(model !== undefined && { model }),
    messages: choices.map((choice) => decodeMessage(recordOf(choice['message']), 'assistant')),
    ...(usage !== undefined && { usage }),
    ...(finishReason !== undefined && { finishReason }),
    ...(error !== undefined && { error }),
  }
}

const decodeMessage = (message: JsonRecord, fallback?: Message['role']): Message => {
  const role = roleOf(message['role'] ?? fallback)
  if (role === 'tool') {
    const id = textOf(message['tool_call_id'] ?? message['name'])
    const content = resultContent(message['content'])
    return { role: 'tool', parts: [{ type: 'tool_result', id, content }] }
  }
  const reasoning = textOf(message['reasoning_content'] ?? message['reasoning'])
  const refusal = textOf(message['refusal'])
  const parts: MessagePart[] = [
    ...(reasoning === '' ? [] : [{ type: 'reasoning', text: reasoning } as const]),
    ...contentParts(message['content']),
    ...contentParts(refusal),
    ...recordsOf(message['tool_calls']).map(decodeToolCall),
    ...(isRecord(message['function_call'])
      ? [decodeToolCall({ function: message['function_call'] })]
      : []),
  ]
  return { role, parts }
}

const decodeToolCall = (call: JsonRecord): MessagePart => {
  const custom = call['custom']
  const { name, arguments: text, input } = recordOf(custom ?? call['function'])
  const args = custom === undefined ? parseArguments(textOf(text)) : input
  // Before calls had ids, a result named the function.
  return { type: 'tool_call', id: textOf(call['id'] ?? name), name: textOf(name), args }
}

const decodeUsage = (completion: JsonRecord): Usage | undefined => {
  const usage = recordOf(completion['usage'])
  const allInput = countOf(usage['prompt_tokens'])
  const output = countOf(usage['completion_tokens'])
  if (allInput === undefined || output === undefined) return undefined
  const inputDetails = recordOf(usage['prompt_tokens_details'])
  const outputDetails = recordOf(usage['completion_tokens_details'])
  const audio =
    (countOf(inputDetails['audio_tokens']) ?? 0) + (countOf(outputDetails['audio_tokens']) ?? 0)
  return usageFromTotals({
    allInput,
    cachedInput: countOf(inputDetails['cached_tokens']) ?? 0,
    cacheWrite: countOf(inputDetails['cache_write_tokens']) ?? 0,
    output,
    reasoning: countOf(outputDetails['reasoning_tokens']) ?? 0,
    total: countOf(usage['total_tokens']),
    unpriced: [...(audio > 0 ? ['audio tokens'] : []), ...unpricedTier(completion)],
  })
}
