import { tapeErrors } from '../format/errors.js'
import { isRecord, parseJson } from '../format/values/json-shape.js'
import { framesIn, idKey, type RpcId } from '../read-model/mcp/json-rpc.js'
import type { Step } from '../read-model/step.js'
import type { TapeLike } from '../format/tape-like.js'
import type { Payload } from './answer-payload.js'
import { type SseEvent, sseText } from '../http/sse.js'

/**
 * The answer of an MCP server in the form that a user edits: the JSON-RPC message, whether it came
 * over a pipe, as JSON or as an event of a stream. `undefined` if the step is not a request to a
 * server.
 */
export const mcpPayload = (step: Step): Payload | undefined => {
  const mcp = step.mcp()
  if (mcp?.id === undefined || mcp.askedBy === 'server') return undefined
  const { id, result, error } = mcp
  if (result === undefined && error === undefined) return undefined
  const said = error === undefined ? { result } : { error }
  return { kind: 'json', data: { jsonrpc: '2.0', id, ...said } }
}

/** A whole answer written by a user: the message, or only its result. */
export const wholeMcpAnswer = (step: Step, data: unknown): Payload => {
  const isMessage = isRecord(data) && ('jsonrpc' in data || 'error' in data || 'result' in data)
  const message = isMessage ? data : { result: data }
  return { kind: 'json', data: { jsonrpc: '2.0', id: step.mcp()?.id, ...message } }
}

/** Refuses messages that no client accepts as the answer to its request. */
export const checkMcpAnswer = (step: Step, { data }: Payload): void => {
  const message = isRecord(data) ? data : {}
  const problems = [
    ...(message['jsonrpc'] === '2.0' ? [] : ['jsonrpc is not "2.0"']),
    ...(message['id'] === step.mcp()?.id ? [] : ['id is not that of the request']),
    ...('result' in message === 'error' in message
      ? ['an answer has either a result or an error']
      : []),
  ]
  if (problems.length > 0) throw tapeErrors.EDIT_INVALID_ANSWER(problems)
}

export const editedStream = (
  events: readonly SseEvent[],
  id: RpcId,
  answer: unknown,
): Uint8Array[] =>
  events.map(({ event, data, id: eventId }) => {
    const text = sseText(isAnswerTo(data, id) ? answer : data, event)
    return new TextEncoder().encode(eventId === undefined ? text : `id: ${eventId}\n${text}`)
  })

/** The bytes of a pipe with a different answer; all other bytes stay. */
export const editedPipe = (tape: TapeLike, step: Step, answer: unknown): Uint8Array => {
  const decoder = new TextDecoder()
  const text = step.answerSeqs
    .map((seq) => decoder.decode(tape.body(seq), { stream: true }))
    .join('')
  const id = step.mcp()?.id as RpcId
  const lines = text.split('\n')
  const edited = lines.map((line) => (isAnswerTo(line, id) ? JSON.stringify(answer) : line))
  return new TextEncoder().encode(edited.join('\n'))
}

const isAnswerTo = (text: string, id: RpcId): boolean =>
  framesIn(parseJson(text)).some(
    (frame) => frame.kind === 'answer' && frame.id !== undefined && idKey(frame.id) === idKey(id),
  )
