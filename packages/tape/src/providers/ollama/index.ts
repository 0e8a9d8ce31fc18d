import type { SseEvent } from '../../http/sse.js'
import { readJsonLines } from '../../http/event-frames.js'
import {
  countOf,
  defined,
  errorMessage,
  filledText,
  isRecord,
} from '../../format/values/json-shape.js'
import { type JsonRecord, listOf, optionalText, parseJson } from '../../format/values/json-shape.js'
import { recordOf, recordsOf, textOf } from '../../format/values/json-shape.js'
import { counts, list, object, oneOf, optional, shape, string } from '../specification/check.js'
import { countTokens, embeddingVector, textsIn } from '../specification/embedding.js'
import { CallNumbers, type Message, type MessagePart, saidParts } from '../specification/message.js'
import { textPart, turnOf } from '../specification/message.js'
import { roleOf } from '../openai/chat.js'
import type { AnswerFormat, ModelApi, Provider } from '../specification/provider.js'
import type { ProviderRequest, StreamEvent, StreamOptions } from '../specification/provider.js'
import { type Finish, type Reply, type ReplyRequest, textPieces } from '../specification/reply.js'
import { NO_USAGE } from '../specification/usage.js'
import { jsonAnswer, retryHeaders, scriptedFormat } from '../specification/wire-answer.js'

const PATH = /\/api\/(chat|generate|embed)$/

const requestMessages = (body: JsonRecord, numbers: CallNumbers): Message[] => {
  const { messages, prompt, system, input } = body
  if (Array.isArray(messages))
    return recordsOf(messages).map((message) => decodeMessage(message, numbers))
  const inputs = typeof input === 'string' ? [input] : listOf(input).map(textOf)
  return [
    ...turnOf('system', saidParts({ text: textOf(system) })),
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
  // Call numbers continue those of the earlier conversation.
  if (request !== undefined && messages.some(({ tool_calls }) => Array.isArray(tool_calls)))
    requestMessages(recordOf(request.json()), numbers)
  return [...spokenParts(messages), ...messages.flatMap((message) => callsOf(message, numbers))]
}

const spokenParts = (messages: readonly JsonRecord[]): MessagePart[] =>
  saidParts({
    reasoning: messages.map(({ thinking }) => textOf(thinking)).join(''),
    text: messages.map(({ content }) => textOf(content)).join(''),
  })

/** Arguments come parsed and complete. */
const callsOf = (message: JsonRecord, numbers: CallNumbers): MessagePart[] =>
  recordsOf(message['tool_calls']).map((call) => {
    const { name: called, arguments: args } = recordOf(call['function'])
    const name = textOf(called)
    return { type: 'tool_call', id: numbers.call(textOf(call['id']), name), name, args: args ?? {} }
  })

/** Texts that arrive in pieces: inside the message of a chat, or beside the model of a completion. */
const STREAMED = ['thinking', 'content', 'response'] as const

const assembleOllama = (events: readonly SseEvent[]): JsonRecord => {
  const lines = events.map(({ data }) => parseJson(data)).filter(isRecord)
  const last = lines.at(-1) ?? {}
  if (!lines.some(({ message }) => isRecord(message))) return { ...last, ...added(lines) }
  const messages = lines.map(({ message }) => recordOf(message))
  const calls = messages.flatMap(({ tool_calls }) => listOf(tool_calls))
  const about = Object.assign({}, ...messages) as JsonRecord
  const message = {
    ...about,
    ...added(messages),
    ...(calls.length > 0 && { tool_calls: calls }),
  }
  return { ...last, message }
}

/** The joined texts of the pieces; omits texts that no piece contains. */
const added = (pieces: readonly JsonRecord[]): JsonRecord =>
  Object.fromEntries(
    STREAMED.filter((key) => pieces.some((piece) => typeof piece[key] === 'string')).map((key) => [
      key,
      pieces.map((piece) => textOf(piece[key])).join(''),
    ]),
  )

/** An answer of Ollama as lines of JSON: thoughts, text, calls, and a last line with the counts. */
const restreamOllama = (answer: JsonRecord, { cut = textPieces }: StreamOptions): StreamEvent[] => {
  const { message, error, ...rest } = answer
  const { model, created_at } = rest
  const head = { model, ...defined({ created_at }) }
  const lines: JsonRecord[] = []
  if (isRecord(message)) {
    const { thinking, content, tool_calls: calls, ...about } = message
    const line = (said: JsonRecord): JsonRecord => ({
      ...head,
      message: { ...about, ...said },
      done: false,
    })
    for (const piece of cut(textOf(thinking))) lines.push(line({ content: '', thinking: piece }))
    for (const piece of cut(textOf(content))) lines.push(line({ content: piece }))
    if (recordsOf(calls).length > 0) lines.push(line({ content: '', tool_calls: calls }))
    const unsaid = thinking === '' ? { thinking } : {}
    lines.push({ ...rest, message: { ...about, content: '', ...unsaid } })
  } else {
    const { thinking, response, ...ended } = rest
    for (const piece of cut(textOf(thinking)))
      lines.push({ ...head, response: '', thinking: piece, done: false })
    for (const piece of cut(textOf(response))) lines.push({ ...head, response: piece, done: false })
    const isText = typeof response === 'string'
    const unsaid = { ...(thinking === '' && { thinking }), ...(isText && { response: '' }) }
    lines.push({ ...ended, ...unsaid })
  }
  if (error !== undefined && error !== null) lines.splice(-1, 1, { error })
  return lines.map((data) => ({ data }))
}

const checkMessage = shape({
  role: oneOf('assistant'),
  content: (content, path) => (content === undefined ? [] : string(content, path)),
  tool_calls: optional(list(shape({ function: shape({ name: string, arguments: object }) }))),
})

const checkSaid = shape(
  { model: string, done: oneOf(true), prompt_eval_count: counts, eval_count: counts },
  ({ message, response }) =>
    response !== undefined && message === undefined
      ? string(response, 'response')
      : checkMessage(message, 'message'),
)

const FINISH: Readonly<Record<Finish, string>> = {
  stop: 'stop',
  length: 'length',
  tool: 'stop',
  filter: 'stop',
}

const encodeOllama = (reply: Reply, { path }: ReplyRequest): JsonRecord => {
  const { reasoning, toolCalls, usage: spent } = reply
  const thinking = reasoning === '' ? {} : { thinking: reasoning }
  const calls = toolCalls.map(({ name, args, id }) =>
    defined({ id, function: { name, arguments: args } }),
  )
  // A completion cannot call tools.
  const said = /\/api\/generate(\?|$)/.test(path)
    ? { response: reply.text, ...thinking }
    : {
        message: {
          role: 'assistant',
          content: reply.text,
          ...thinking,
          ...(calls.length > 0 && { tool_calls: calls }),
        },
      }
  return {
    model: reply.model,
    created_at: new Date(reply.created * 1000).toISOString(),
    ...said,
    done: true,
    done_reason: FINISH[reply.finish],
    total_duration: 500_000_000,
    load_duration: 10_000_000,
    prompt_eval_count: spent.input + spent.cachedInput + spent.cacheWrite,
    prompt_eval_duration: 90_000_000,
    eval_count: spent.output,
    eval_duration: 400_000_000,
  }
}

const ollamaAnswers: AnswerFormat = {
  assemble: assembleOllama,
  restream: restreamOllama,
  check: (answer) => (recordOf(answer)['embeddings'] === undefined ? checkSaid(answer) : []),
  encode: encodeOllama,
  outputFields: ['message', 'response'],
  frame: ({ data }) => `${JSON.stringify(data)}\n`,
  streamType: 'application/x-ndjson',
  expectsStream: ({ url, json }) => !url.endsWith('/embed') && recordOf(json)['stream'] !== false,
}

/** Ollama's own API, which streams lines of JSON by default. */
const ollamaApi: ModelApi = {
  provider: 'ollama',
  api: 'ollama',
  conversation: ['messages', 'system', 'prompt', 'input'],

  matches: ({ method, url, mentions }) => {
    const [, action] = PATH.exec(url.pathname) ?? []
    if (method !== 'POST' || action === undefined || !mentions('model')) return false
    // The `/api/chat` of a web application talks to a browser, in messages of the AI SDK.
    if (mentions('parts')) return false
    return mentions({ chat: 'messages', generate: 'prompt', embed: 'input' }[action] ?? '')
  },

  decodeRequest: (request) => {
    const body = recordOf(request.json())
    return defined({
      model: filledText(body['model']),
      stream: body['stream'] !== false && !request.url.pathname.endsWith('/embed'),
      messages: requestMessages(body, new CallNumbers()),
    })
  },

  decodeResponse: ({ json, events, text = '' }, request) => {
    const lines = events ?? readJsonLines([{ at: 0, bytes: new TextEncoder().encode(text) }])
    const read = isRecord(json) ? [json] : lines.map(({ data }) => parseJson(data))
    const pieces = read.filter(isRecord)
    const last = pieces.at(-1) ?? {}
    // Old servers report the end without a reason.
    const ended = last['done'] === true ? (optionalText(last['done_reason']) ?? 'stop') : undefined
    // The prompt count is missing if the whole prompt was in the cache.
    const input = countOf(last['prompt_eval_count'])
    const output = countOf(last['eval_count'])
    return defined({
      model: filledText(last['model']),
      messages: turnOf('assistant', answerParts(pieces, request)),
      usage:
        input === undefined && output === undefined
          ? undefined
          : { ...NO_USAGE, input: input ?? 0, output: output ?? 0 },
      finishReason: last['embeddings'] === undefined ? ended : 'embedded',
      error: pieces
        .map((piece) => errorMessage({ error: piece['error'] }))
        .find((error) => error !== undefined),
    })
  },

  answers: ollamaAnswers,
  scripted: [
    scriptedFormat({
      format: 'ollama',
      path: /\/api\/(chat|generate)$/,
      answers: ollamaAnswers,
    }),
    // The current `/api/embed`, and the former `/api/embeddings`.
    {
      format: 'ollama-embeddings',
      path: /\/api\/embed(dings)?$/,
      isComputed: () => true,
      answer: (reply, { path, body }) => {
        if (path.includes('/api/embeddings'))
          return jsonAnswer({ embedding: embeddingVector(String(body['prompt'])) })
        const texts = textsIn(body['input'])
        return jsonAnswer({
          model: reply.model,
          embeddings: texts.map((text) => embeddingVector(text, body['dimensions'])),
          total_duration: 20_000_000,
          load_duration: 1_000_000,
          prompt_eval_count: countTokens(texts),
        })
      },
    },
  ],
}

const MODELS = ['llama3.2:latest', 'qwen3:8b', 'nomic-embed-text:latest']

export const ollama: Provider = {
  name: 'ollama',
  apis: [ollamaApi],
  hosts: /(^|\.)ollama\.com$/,
  isServer: ({ port }) => port === '11434',
  address: {
    route: 'ollama',
    base: 'http://127.0.0.1:11434',
    variables: ['OLLAMA_HOST'],
    whenSet: ['OLLAMA_BASE_URL', 'OLLAMA_API_BASE'],
    paths: /^\/api\/(chat|generate|embed|embeddings|tags|show)$/,
  },
  failure: (error) => jsonAnswer({ error: error.message }, retryHeaders(error), error.status),
  answerListing: ({ method, path, body }) => {
    if (method === 'POST')
      return path.endsWith('/api/show')
        ? { ...listed(String(body['model'])), capabilities: ['completion', 'tools'] }
        : undefined
    if (path.endsWith('/api/tags')) return { models: MODELS.map(listed) }
    return path.endsWith('/api/version') ? { version: '0.13.0' } : undefined
  },
}

const listed = (name: string) => ({
  name,
  model: name,
  modified_at: '2026-01-01T00:00:00Z',
  size: 2_019_393_189,
  digest: '0'.repeat(64),
  details: { format: 'gguf', family: 'scripted', parameter_size: '3B', quantization_level: 'Q4_0' },
})
