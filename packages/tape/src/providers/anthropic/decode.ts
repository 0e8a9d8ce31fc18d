import { messageAnswers, scriptedMessages } from './encode.js'
import { assembleMessage } from './stream.js'
import {
  countOf,
  errorMessage,
  filledText,
  type JsonRecord,
  optionalText,
  recordOf,
  recordsOf,
  textOf,
} from '../../values/json-shape.js'
import { type Message, type MessagePart, textPart } from '../message.js'
import type { DecodedResponse, ProviderAnswer, ModelApi } from '../provider.js'
import { resultContent } from '../message.js'
import { unpricedTier } from '../usage.js'
import { addUsage, type Usage } from '../usage.js'

/**
 * The counts of an answer leave out what was spent to shorten the conversation
 * before it, which is told beside them, and what other models were asked.
 */
const decodeMessageUsage = (message: JsonRecord): Usage | undefined => {
  const given = recordOf(message['usage'])
  const usage = decodeUsage(given)
  if (usage === undefined) return undefined
  const rounds = recordsOf(given['iterations'])
  const shortened = rounds.filter(({ type }) => type === 'compaction').flatMap(usageOrNone)
  const others = rounds.some(({ model }) => model !== undefined && model !== message['model'])
  const ranCode = recordsOf(message['content']).some(
    ({ type, name }) => type === 'server_tool_use' && textOf(name).includes('code_execution'),
  )
  const all = shortened.reduce(addUsage, usage)
  return {
    ...all,
    unpriced: [
      ...all.unpriced,
      ...(others ? ['other models'] : []),
      ...(ranCode ? ['code execution'] : []),
    ],
  }
}

const usageOrNone = (round: JsonRecord): Usage[] => {
  const usage = decodeUsage(round)
  return usage === undefined ? [] : [usage]
}

/** The input count leaves out what was read from or written to the cache. */
const decodeUsage = (usage: JsonRecord): Usage | undefined => {
  const input = countOf(usage['input_tokens'])
  const output = countOf(usage['output_tokens'])
  if (input === undefined || output === undefined) return undefined
  const written = recordOf(usage['cache_creation'])
  const short = countOf(written['ephemeral_5m_input_tokens'])
  const long = countOf(written['ephemeral_1h_input_tokens']) ?? 0
  const cacheWrite = countOf(usage['cache_creation_input_tokens']) ?? (short ?? 0) + long
  const isOdd = short !== undefined && short + long !== cacheWrite
  const searches = countOf(recordOf(usage['server_tool_use'])['web_search_requests']) ?? 0
  return {
    input,
    cachedInput: countOf(usage['cache_read_input_tokens']) ?? 0,
    cacheWrite,
    cacheWriteLong: Math.min(long, cacheWrite),
    output,
    reasoning: countOf(recordOf(usage['output_tokens_details'])['thinking_tokens']) ?? 0,
    unpriced: [
      ...(searches > 0 ? ['web searches'] : []),
      ...(usage['speed'] === 'fast' ? ['fast mode'] : []),
      ...(usage['inference_geo'] === 'us' ? ['inference in the US'] : []),
      ...unpricedTier(usage),
    ],
    ...(isOdd && { mismatch: `${cacheWrite} cache writes where the parts make ${short + long}` }),
  }
}

/** Anthropic's Messages API, at Anthropic, behind Vertex paths, or from a compatible server. */
export const messagesApi: ModelApi = {
  provider: 'anthropic',
  api: 'messages',

  matches: ({ method, url, headers, mentions }) => {
    if (method !== 'POST') return false
    if (url.pathname.endsWith('/messages')) {
      const isNamed = headers.some(([name]) => name.toLowerCase() === 'anthropic-version')
      return isNamed || mentions('model', 'messages')
    }
    return VERTEX_PATH.test(url.pathname) && mentions('anthropic_version', 'messages')
  },

  decodeRequest: ({ url, json }) => {
    const body = recordOf(json())
    const model = optionalText(body['model']) ?? VERTEX_PATH.exec(url.pathname)?.[1]
    const system = contentParts(body['system'])
    return {
      ...(model !== undefined && { model }),
      stream: body['stream'] === true,
      messages: [
        ...(system.length === 0 ? [] : [{ role: 'system', parts: system } as const]),
        ...recordsOf(body['messages']).flatMap(decodeMessage),
      ],
    }
  },

  decodeResponse: (answer, request) => {
    const decoded = decodeAnswer(documentOf(answer))
    const region = VERTEX_REGION.exec(request?.url.pathname ?? '')?.[1]
    if (decoded.usage === undefined || region === undefined || region === 'global') return decoded
    const unpriced = [...decoded.usage.unpriced, `endpoint in ${region}`]
    return { ...decoded, usage: { ...decoded.usage, unpriced } }
  },

  answers: messageAnswers,
  scripted: [scriptedMessages],
}

const VERTEX_PATH = /\/models\/([^/:]+):(?:stream)?rawPredict$/i
/** Vertex charges more in one region than from anywhere, by model. */
const VERTEX_REGION = /\/locations\/([^/]+)\/.*:(?:stream)?rawPredict$/i

const decodeAnswer = (message: JsonRecord): DecodedResponse => {
  const model = filledText(message['model'])
  const usage = decodeMessageUsage(message)
  const finishReason = optionalText(message['stop_reason'])
  const isWhole = message['type'] === 'message' || Array.isArray(message['content'])
  const error = errorMessage(isWhole ? { error: message['error'] } : message)
  const parts = contentParts(message['content'])
  return {
    ...(model !== undefined && { model }),
    messages: parts.length === 0 ? [] : [{ role: 'assistant', parts }],
    ...(usage !== undefined && { usage }),
    ...(finishReason !== undefined && { finishReason }),
    ...(error !== undefined && { error }),
  }
}

/** Results of tools travel in a user message; they are shown as messages of the tool. */
const decodeMessage = (message: JsonRecord): Message[] => {
  const parts = contentParts(message['content'])
  if (message['role'] === 'assistant') return [{ role: 'assistant', parts }]
  const role = message['role'] === 'system' ? 'system' : 'user'
  const turns: Message[] = []
  for (const part of parts) {
    const partRole = part.type === 'tool_result' ? 'tool' : role
    const last = turns.at(-1)
    if (last?.role === partRole)
      turns[turns.length - 1] = { role: partRole, parts: [...last.parts, part] }
    else turns.push({ role: partRole, parts: [part] })
  }
  return turns.length === 0 ? [{ role, parts: [] }] : turns
}

const contentParts = (content: unknown): MessagePart[] =>
  typeof content === 'string'
    ? content === ''
      ? []
      : [textPart(content)]
    : recordsOf(content).map(contentPart)

const contentPart = (block: JsonRecord): MessagePart => {
  const kind = textOf(block['type'])
  switch (kind) {
    case 'text':
      return textPart(textOf(block['text']))
    case 'thinking':
      return { type: 'reasoning', text: textOf(block['thinking']) }
    case 'redacted_thinking':
      return { type: 'reasoning', text: '' }
    case 'tool_use':
      return {
        type: 'tool_call',
        id: textOf(block['id']),
        name: textOf(block['name']),
        args: block['input'],
      }
    case 'tool_result':
      return {
        type: 'tool_result',
        id: textOf(block['tool_use_id']),
        content: resultContent(block['content']),
        ...(block['is_error'] === true && { isError: true }),
      }
    case 'image': {
      const { url, media_type, file_id } = recordOf(block['source'])
      return { type: 'image', source: textOf(url ?? media_type ?? file_id) }
    }
    default:
      return { type: 'other', kind, value: block }
  }
}

const documentOf = ({ json, events }: ProviderAnswer): JsonRecord =>
  events === undefined ? recordOf(json) : assembleMessage(events)
