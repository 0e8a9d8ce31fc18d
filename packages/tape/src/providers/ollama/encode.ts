import {
  isRecord,
  type JsonRecord,
  listOf,
  parseJson,
  recordOf,
  recordsOf,
  textOf,
} from '../../values/json-shape.js'
import type { SseEvent } from '../../http/sse.js'
import type { AnswerFormat, ScriptedFormat, StreamEvent, StreamOptions } from '../provider.js'
import type { Finish, Reply, ReplyRequest, ScriptedError } from '../reply.js'
import { textPieces } from '../reply.js'
import { jsonAnswer, retryHeaders, scriptedFormat, type WireAnswer } from '../wire-answer.js'
import { countTokens, embeddingVector, textsIn } from '../embedding.js'
import { Problems } from '../problems.js'

/** What makes it no answer of Ollama. */
const checkOllama = (answer: unknown): string[] => {
  const problems = new Problems()
  const document = problems.record('the answer', answer)
  if (document === undefined || document['embeddings'] !== undefined) return problems.list
  const { model, message, response, done } = document
  problems.text('model', model)
  problems.oneOf('done', done, [true])
  for (const key of ['prompt_eval_count', 'eval_count']) problems.counts(key, document[key])
  if (response !== undefined && message === undefined) problems.text('response', response)
  else {
    const said = problems.record('message', message)
    if (said !== undefined) checkMessage(problems, said)
  }
  return problems.list
}

const checkMessage = (problems: Problems, message: JsonRecord): void => {
  problems.oneOf('message.role', message['role'], ['assistant'])
  if (message['content'] !== undefined) problems.text('message.content', message['content'])
  const { tool_calls: calls } = message
  if (calls === undefined || calls === null) return
  for (const [path, call] of problems.records('message.tool_calls', calls)) {
    const called = problems.record(`${path}.function`, call['function'])
    if (called === undefined) continue
    problems.text(`${path}.function.name`, called['name'])
    if (!isRecord(called['arguments']))
      problems.add(`${path}.function.arguments`, 'is not an object')
  }
}

/** Texts that come in pieces: of a chat inside its message, of a completion beside the model. */
const STREAMED = ['thinking', 'content', 'response'] as const

/** Adds the lines of a stream up to the answer that Ollama gives when told not to stream. */
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

/** What the texts of the pieces are together; those that no piece has are left out. */
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
  const head = { model, ...(created_at !== undefined && { created_at }) }
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

const FINISH: Readonly<Record<Finish, string>> = {
  stop: 'stop',
  length: 'length',
  tool: 'stop',
  filter: 'stop',
}

const encodeOllama = (reply: Reply, { path }: ReplyRequest): JsonRecord => {
  const { text, reasoning, toolCalls, usage } = reply
  const thinking = reasoning === '' ? {} : { thinking: reasoning }
  const calls = toolCalls.map(({ name, args, id }) => ({
    ...(id !== undefined && { id }),
    function: { name, arguments: args },
  }))
  // A completion cannot call tools.
  const said = /\/api\/generate(\?|$)/.test(path)
    ? { response: text, ...thinking }
    : {
        message: {
          role: 'assistant',
          content: text,
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
    prompt_eval_count: usage.input + usage.cachedInput + usage.cacheWrite,
    prompt_eval_duration: 90_000_000,
    eval_count: usage.output,
    eval_duration: 400_000_000,
  }
}

export const ollamaAnswers: AnswerFormat = {
  assemble: assembleOllama,
  restream: restreamOllama,
  check: checkOllama,
  encode: encodeOllama,
  outputFields: ['message', 'response'],
  frame: ({ data }) => `${JSON.stringify(data)}\n`,
  streamType: 'application/x-ndjson',
  expectsStream: ({ url, json }) => !url.endsWith('/embed') && recordOf(json)['stream'] !== false,
}

export const scriptedOllama = scriptedFormat({
  format: 'ollama',
  path: /\/api\/(chat|generate)$/,
  answers: ollamaAnswers,
})

/** Today's `/api/embed`, and the former `/api/embeddings`. */
export const scriptedOllamaEmbeddings: ScriptedFormat = {
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
}

export const ollamaFailure = (error: ScriptedError): WireAnswer =>
  jsonAnswer({ error: error.message }, retryHeaders(error), error.status)
