import {
  isRecord,
  listOf,
  parseJson,
  recordOf,
  recordsOf,
  textOf,
  type JsonRecord,
} from '../providers/json-shape.js'
import type { SseEvent } from '../http/sse.js'
import { Problems } from './problems.js'
import { textPieces } from './text-pieces.js'

/** Texts that come in pieces: of a chat inside its message, of a completion beside the model. */
const STREAMED = ['thinking', 'content', 'response'] as const

/** Adds the lines of a stream up to the answer that Ollama gives when told not to stream. */
export const assembleOllama = (events: readonly SseEvent[]): JsonRecord => {
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
export const restreamOllama = (answer: JsonRecord): string[] => {
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
    for (const piece of textPieces(textOf(thinking)))
      lines.push(line({ content: '', thinking: piece }))
    for (const piece of textPieces(textOf(content))) lines.push(line({ content: piece }))
    if (recordsOf(calls).length > 0) lines.push(line({ content: '', tool_calls: calls }))
    const kept = thinking === '' ? { thinking } : {}
    lines.push({ ...rest, message: { ...about, content: '', ...kept } })
  } else {
    const { thinking, response, ...ended } = rest
    for (const piece of textPieces(textOf(thinking)))
      lines.push({ ...head, response: '', thinking: piece, done: false })
    for (const piece of textPieces(textOf(response)))
      lines.push({ ...head, response: piece, done: false })
    const isText = typeof response === 'string'
    const kept = { ...(thinking === '' && { thinking }), ...(isText && { response: '' }) }
    lines.push({ ...ended, ...kept })
  }
  if (error !== undefined && error !== null) lines.splice(-1, 1, { error })
  return lines.map((line) => `${JSON.stringify(line)}\n`)
}

/** What makes it no answer of Ollama. */
export const checkOllama = (answer: unknown): string[] => {
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
