import { assembleMessage } from './anthropic-assembly.js'
import { decodeMessageUsage } from './anthropic-usage.js'
import {
  errorMessage,
  filledText,
  optionalText,
  recordOf,
  recordsOf,
  textOf,
  type JsonRecord,
} from './json-shape.js'
import { textPart, type Message, type MessagePart } from './message.js'
import type { DecodedResponse, ProviderAnswer, ProviderDecoder } from './provider-decoder.js'
import { resultContent } from './tool-result-content.js'

/** Anthropic's Messages API, at Anthropic, behind Vertex paths, or from a compatible server. */
export const anthropic: ProviderDecoder = {
  name: 'anthropic',
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
    const place = VERTEX_PLACE.exec(request?.url.pathname ?? '')?.[1]
    if (decoded.usage === undefined || place === undefined || place === 'global') return decoded
    const unpriced = [...decoded.usage.unpriced, `endpoint in ${place}`]
    return { ...decoded, usage: { ...decoded.usage, unpriced } }
  },
}

const VERTEX_PATH = /\/models\/([^/:]+):(?:stream)?rawPredict$/i
/** Vertex charges more in one region than from anywhere, by model. */
const VERTEX_PLACE = /\/locations\/([^/]+)\/.*:(?:stream)?rawPredict$/i

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
