import {
  countOf,
  optionalText,
  recordOf,
  recordsOf,
  textOf,
  type JsonRecord,
} from '../../values/json-shape.js'
import { textPart, type Message, type MessagePart } from '../message.js'
import type { DecodedResponse } from '../provider.js'
import { NO_USAGE, type Usage } from '../usage.js'

/**
 * Answers of models that give only text, each in its own words: Llama, Titan,
 * Mistral, Cohere. A streamed one is a list of such answers, an unstreamed one
 * a list of one.
 */
export const decodeTextAnswers = (answers: readonly JsonRecord[]): DecodedResponse => {
  const pieces = answers.map(decodePiece)
  const text = pieces.map((piece) => piece.text).join('')
  const calls = answers.flatMap(cohereCalls)
  const finishReason = pieces.findLast((piece) => piece.finishReason !== undefined)?.finishReason
  const usage = countedUsage(answers)
  const parts = [...(text === '' ? [] : [textPart(text)]), ...calls]
  return {
    messages: parts.length === 0 ? [] : [{ role: 'assistant', parts }],
    ...(usage !== undefined && { usage }),
    ...(finishReason !== undefined && { finishReason }),
  }
}

interface Piece {
  readonly text: string
  readonly finishReason: string | undefined
}

const decodePiece = (answer: JsonRecord): Piece => {
  const [inner] = [
    answer['results'],
    answer['outputs'],
    answer['generations'],
    answer['choices'],
  ].flatMap(recordsOf)
  // Claude up to version 2 said `completion`.
  const { generation, outputText, text, completion } = inner ?? answer
  // The end of a stream of Cohere repeats the whole text in `response`.
  const { stop_reason, completionReason, finish_reason } = inner ?? answer
  return {
    text: textOf(generation ?? outputText ?? text ?? completion),
    finishReason: optionalText(stop_reason ?? completionReason ?? finish_reason),
  }
}

/** Command R asks for tools without ids; a stream names them once, at the end or on their own. */
const cohereCalls = (answer: JsonRecord): MessagePart[] =>
  recordsOf(answer['tool_calls']).map(({ name, parameters }) => ({
    type: 'tool_call',
    id: textOf(name),
    name: textOf(name),
    args: parameters ?? {},
  }))

/** Counts in a stream are running totals, or stand in one of its answers only. */
const countedUsage = (answers: readonly JsonRecord[]): Usage | undefined => {
  const last = (...keys: readonly string[]): number | undefined =>
    answers
      .flatMap((answer) => keys.map((key) => countOf(answer[key]) ?? []))
      .flat()
      .at(-1)
  const input = last('prompt_token_count', 'inputTextTokenCount')
  const titan = answers.flatMap(({ results }) => recordsOf(results))
  const summed = titan.reduce((sum, { tokenCount }) => sum + (countOf(tokenCount) ?? 0), 0)
  const output =
    last('generation_token_count', 'totalOutputTextTokenCount') ??
    (titan.length > 0 || isEmbedding(answers[0]) ? summed : undefined)
  if (input === undefined || output === undefined) return undefined
  return { ...NO_USAGE, input, output }
}

/** Whether an answer is a vector, or several. */
export const isEmbedding = (answer: JsonRecord = {}): boolean =>
  answer['embedding'] !== undefined || answer['embeddings'] !== undefined

/** What was asked of a model that takes only text. */
export const decodeTextRequest = (body: JsonRecord): Message[] => {
  const { prompt, inputText, message, preamble, texts } = body
  const prompted = optionalText(prompt ?? inputText ?? message)
  return [
    ...(typeof preamble === 'string' ? [turn('system', preamble)] : []),
    ...recordsOf(body['chat_history']).map((said) =>
      turn(said['role'] === 'CHATBOT' ? 'assistant' : 'user', textOf(said['message'])),
    ),
    ...(prompted === undefined ? [] : [turn('user', prompted)]),
    ...(Array.isArray(texts) ? texts.map((text) => turn('user', textOf(text))) : []),
    ...recordsOf(body['tool_results']).map(cohereResult),
  ]
}

const turn = (role: Message['role'], text: string): Message => ({ role, parts: [textPart(text)] })

const cohereResult = ({ call, outputs }: JsonRecord): Message => ({
  role: 'tool',
  parts: [{ type: 'tool_result', id: textOf(recordOf(call)['name']), content: outputs }],
})
