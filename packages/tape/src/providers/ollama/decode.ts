import { ollamaAnswers, scriptedOllama, scriptedOllamaEmbeddings } from './encode.js'
import { CallNumbers } from '../call-numbers.js'
import {
  countOf,
  errorMessage,
  filledText,
  isRecord,
  listOf,
  optionalText,
  parseJson,
  recordOf,
  recordsOf,
  textOf,
  type JsonRecord,
} from '../../values/json-shape.js'
import { readJsonLines } from '../../http/stream-reading.js'
import { textPart, type Message, type MessagePart } from '../message.js'
import { roleOf } from '../openai/content.js'
import type { ProviderAnswer, ModelApi, ProviderRequest } from '../provider.js'
import { NO_USAGE, type Usage } from '../usage.js'

const PATH = /\/api\/(chat|generate|embed)$/

/** Ollama's own API, which streams lines of JSON unless told not to. */
export const ollamaApi: ModelApi = {
  provider: 'ollama',
  api: 'ollama',

  matches: ({ method, url, mentions }) => {
    const [, action] = PATH.exec(url.pathname) ?? []
    if (method !== 'POST' || action === undefined || !mentions('model')) return false
    // A web application's own `/api/chat` talks to a browser, in the AI SDK's messages.
    if (mentions('parts')) return false
    return mentions({ chat: 'messages', generate: 'prompt', embed: 'input' }[action] ?? '')
  },

  decodeRequest: (request) => {
    const body = recordOf(request.json())
    const model = filledText(body['model'])
    return {
      ...(model !== undefined && { model }),
      stream: body['stream'] !== false && !request.url.pathname.endsWith('/embed'),
      messages: requestMessages(body, new CallNumbers()),
    }
  },

  decodeResponse: (answer, request) => {
    const pieces = piecesOf(answer)
    const last = pieces.at(-1) ?? {}
    const parts = answerParts(pieces, request)
    const model = filledText(last['model'])
    const usage = decodeUsage(last)
    const isVector = last['embeddings'] !== undefined
    const finishReason = isVector ? 'embedded' : doneReason(last)
    const [error] = pieces.flatMap((piece) => errorMessage({ error: piece['error'] }) ?? [])
    return {
      ...(model !== undefined && { model }),
      messages: parts.length === 0 ? [] : [{ role: 'assistant', parts }],
      ...(usage !== undefined && { usage }),
      ...(finishReason !== undefined && { finishReason }),
      ...(error !== undefined && { error }),
    }
  },

  answers: ollamaAnswers,
  scripted: [scriptedOllama, scriptedOllamaEmbeddings],
}

/** An old server says that it is done, but not why. */
const doneReason = ({ done, done_reason }: JsonRecord): string | undefined =>
  done === true ? (optionalText(done_reason) ?? 'stop') : undefined

const piecesOf = ({ json, events, text }: ProviderAnswer): readonly JsonRecord[] => {
  if (isRecord(json)) return [json]
  const lines = events ?? readJsonLines([{ at: 0, bytes: new TextEncoder().encode(text ?? '') }])
  return lines.map(({ data }) => parseJson(data)).filter(isRecord)
}

const requestMessages = (body: JsonRecord, numbers: CallNumbers): Message[] => {
  const { messages, prompt, system, input } = body
  if (Array.isArray(messages))
    return recordsOf(messages).map((message) => decodeMessage(message, numbers))
  const inputs = typeof input === 'string' ? [input] : listOf(input).map(textOf)
  return [
    ...(filledText(system) === undefined
      ? []
      : [{ role: 'system', parts: [textPart(textOf(system))] } as const]),
    ...[...(typeof prompt === 'string' ? [prompt] : []), ...inputs].map(
      (text) => ({ role: 'user', parts: [textPart(text)] }) as const,
    ),
  ]
}

const decodeMessage = (message: JsonRecord, numbers: CallNumbers): Message => {
  const role = roleOf(message['role'])
  if (role === 'tool') {
    const name = textOf(message['tool_name'] ?? message['name'])
    const id = numbers.result(textOf(message['tool_call_id']), name)
    return { role, parts: [{ type: 'tool_result', id, content: message['content'] }] }
  }
  const images = listOf(message['images']).map((): MessagePart => ({
    type: 'image',
    source: 'inline',
  }))
  return { role, parts: [...spokenParts([message]), ...images, ...callsOf(message, numbers)] }
}

const answerParts = (
  pieces: readonly JsonRecord[],
  request: ProviderRequest | undefined,
): MessagePart[] => {
  const messages = pieces.map((piece) =>
    isRecord(piece['message'])
      ? piece['message']
      : { content: piece['response'], thinking: piece['thinking'] },
  )
  const numbers = new CallNumbers()
  // The numbers of calls go on from those in the conversation before.
  if (request !== undefined && messages.some(({ tool_calls }) => Array.isArray(tool_calls)))
    requestMessages(recordOf(request.json()), numbers)
  return [...spokenParts(messages), ...messages.flatMap((message) => callsOf(message, numbers))]
}

/** What was thought, then what was said. */
const spokenParts = (messages: readonly JsonRecord[]): MessagePart[] => {
  const thought = messages.map(({ thinking }) => textOf(thinking)).join('')
  const said = messages.map(({ content }) => textOf(content)).join('')
  return [
    ...(thought === '' ? [] : [{ type: 'reasoning', text: thought } as const]),
    ...(said === '' ? [] : [textPart(said)]),
  ]
}

/** Arguments come parsed and whole. */
const callsOf = (message: JsonRecord, numbers: CallNumbers): MessagePart[] =>
  recordsOf(message['tool_calls']).map((call) => {
    const { name: called, arguments: args } = recordOf(call['function'])
    const name = textOf(called)
    return { type: 'tool_call', id: numbers.call(textOf(call['id']), name), name, args: args ?? {} }
  })

/** Reading the prompt is not counted when all of it was in the cache. */
const decodeUsage = (last: JsonRecord): Usage | undefined => {
  const input = countOf(last['prompt_eval_count'])
  const output = countOf(last['eval_count'])
  if (input === undefined && output === undefined) return undefined
  return { ...NO_USAGE, input: input ?? 0, output: output ?? 0 }
}
