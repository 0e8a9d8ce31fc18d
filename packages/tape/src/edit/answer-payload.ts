import { decodeBody } from '../format/event-body.js'
import { tapeErrors } from '../format/errors.js'
import type { BodyForm } from '../format/events.js'
import type { Exchange } from '../read-model/exchange.js'
import type { Step } from '../read-model/step.js'
import type { TapeLike } from '../format/tape-like.js'
import { toWire } from '../format/values/to-wire.js'
import { answerFormat } from '../providers/find-provider.js'
import { mcpPayload, wholeMcpAnswer } from './mcp-answer.js'
import { isRecord, type JsonRecord, recordOf } from '../format/values/json-shape.js'
import { makeReply } from '../providers/specification/reply.js'
import { fromBase64, toBase64, utf8 } from '../format/values/bytes.js'

/**
 * Data that a user edits: plain JSON, and what it represents. Numbers beyond the safe integers of
 * JavaScript are rounded, as always when JSON is parsed.
 */
export interface Payload {
  /**
   * - `json`: a parsed body, or the assembled message of a model's stream
   * - `text`, `base64`: any other body, as `{ text }` or `{ base64 }`
   * - `result`, `error`: the outcome of a tool, as wire values (see `values.ts`)
   * - `value`: the value of a draw
   */
  readonly kind: 'json' | 'text' | 'base64' | 'result' | 'error' | 'value'
  readonly data: unknown
}

const bodyPayload = (body: {
  readonly body: Uint8Array
  readonly text: string | undefined
  readonly json: unknown
}): Payload => {
  if (body.json !== undefined) return { kind: 'json', data: body.json }
  return body.text === undefined
    ? { kind: 'base64', data: { base64: toBase64(body.body) } }
    : { kind: 'text', data: { text: body.text } }
}

/** The body that a payload of kind `json`, `text` or `base64` represents. */
export const payloadBytes = ({ kind, data }: Payload): Uint8Array => {
  if (kind === 'text') return new TextEncoder().encode(memberText(data, 'text'))
  if (kind === 'base64') {
    const text = memberText(data, 'base64')
    try {
      return fromBase64(text)
    } catch {
      throw tapeErrors.EDIT_INVALID_ANSWER(['base64 is not valid base64'])
    }
  }
  return new TextEncoder().encode(JSON.stringify(data))
}

const memberText = (data: unknown, key: string): string => {
  const { [key]: value } = recordOf(data)
  if (typeof value !== 'string') throw tapeErrors.EDIT_INVALID_ANSWER([`${key} is not a string`])
  return value
}

/**
 * The recorded answer of a model with this text as its only output and all counts 0; a made-up
 * answer if none was recorded. `undefined` for an API whose answers cannot be encoded.
 */
export const plainAnswer = (
  { api, request, response }: Exchange,
  recorded: unknown,
  text: string,
): unknown => {
  const format = answerFormat(api)
  if (format === undefined) return undefined
  const body = isRecord(request.json) ? request.json : {}
  const { model } = body
  const isAnswer = response !== undefined && response.status < 400 && isRecord(recorded)
  const encoded = format.encode(
    makeReply({ text }, { number: 0, promptText: '', ...(typeof model === 'string' && { model }) }),
    { number: 0, path: request.url, body, stream: false },
  )
  if (!isAnswer) return withoutCounts(encoded)
  const output = Object.entries(encoded).filter(([key]) => format.outputFields.includes(key))
  return withoutCounts({ ...recorded, ...Object.fromEntries(output) })
}

const COUNTS = ['usage', 'usageMetadata', 'eval_count', 'prompt_eval_count']

const withoutCounts = (answer: JsonRecord): JsonRecord =>
  Object.fromEntries(
    Object.entries(answer).map(([key, value]) => [
      key,
      COUNTS.includes(key) ? zeroed(value) : value,
    ]),
  )

const zeroed = (value: unknown): unknown => {
  if (typeof value === 'number') return 0
  if (Array.isArray(value)) return value.map(zeroed)
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, zeroed(each)]))
}

/**
 * The payload of a file that replaces the whole answer of a step: JSON if the recorded answer is
 * JSON, a model message or a tool result; otherwise the bytes unchanged.
 */
export const wholeResponse = (step: Step, bytes: Uint8Array): Payload => {
  if (mcpPayload(step) !== undefined) return wholeMcpAnswer(step, parse(bytes))
  const exchange = step.exchange()
  if (exchange === undefined) return { kind: 'result', data: parse(bytes) }
  const { api, response } = exchange
  if (answerFormat(api) !== undefined || response?.json !== undefined)
    return { kind: 'json', data: parse(bytes) }
  return bodyPayload({ body: bytes, text: utf8(bytes), json: undefined })
}

const parse = (bytes: Uint8Array): unknown => {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown
  } catch (cause) {
    throw tapeErrors.EDIT_NOT_JSON(cause)
  }
}

/**
 * The answer of a step in the form that a user edits. A model's stream is assembled into the
 * message of an unstreamed call; the answer of an MCP server is the JSON-RPC message, whatever the
 * transport. Throws if there is no readable answer.
 */
export const answerPayload = (tape: TapeLike, step: Step): Payload => {
  const message = mcpPayload(step)
  if (message !== undefined) return message
  const exchange = step.exchange()
  if (exchange !== undefined) {
    const { api, response } = exchange
    if (response === undefined)
      throw tapeErrors.EDIT_NO_ANSWER(`Step ${step.label}`, whyNothing(step))
    const { undecoded, events } = response
    if (undecoded !== undefined) throw tapeErrors.EDIT_UNREADABLE(step.label, undecoded)
    const format = answerFormat(api)
    return events === undefined || format === undefined
      ? bodyPayload(response)
      : { kind: 'json', data: format.assemble(events) }
  }
  const call = step.kind === 'tool' && !step.inferred ? step.call() : undefined
  if (call === undefined || step.answerSeqs.length === 0)
    throw tapeErrors.EDIT_NO_ANSWER(`Step ${step.label}`, whyNothing(step))
  const [seq] = step.answerSeqs
  const event = tape.event(seq as number)
  if (call.error !== undefined) return { kind: 'error', data: call.error }
  const hasValue = event.type === 'result' && event.as !== undefined
  return { kind: 'result', data: toWire(hasValue ? call.result : undefined) }
}

/** The request of a step in the form that a user edits: its body, or the arguments of its tool. */
export const requestPayload = (tape: TapeLike, step: Step): Payload => {
  const exchange = step.exchange()
  if (exchange !== undefined) return bodyPayload(exchange.request)
  const event = tape.event(step.seq)
  if (step.kind !== 'tool' || step.inferred || event.type !== 'call' || event.as === undefined)
    throw tapeErrors.EDIT_NO_ANSWER(`Step ${step.label}`, whyNothing(step))
  const data = editableValue(`Step ${step.label}`, event.as, tape.body(event.seq))
  return { kind: 'value', data }
}

/** A recorded value in wire format. Throws if this version cannot rebuild it. */
export function editableValue(what: string, as: BodyForm, body: Uint8Array): unknown {
  try {
    return toWire(decodeBody(as, body))
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw tapeErrors.EDIT_NO_ANSWER(what, `It cannot be read: ${why}.`)
  }
}

export const whyNothing = (step: Step): string => {
  if (step.inferred)
    return 'It was not recorded, and appears only in the conversation. Edit the next request instead.'
  if (step.kind === 'mark') return 'It is a mark that the agent set.'
  if (step.mcp()?.askedBy === 'server')
    return 'This is a request of the server. Edit the answer of the call that caused it.'
  if (step.mcp()?.transport === 'stdio' && step.answerSeqs.length > 0)
    return 'It was sent over the pipes of a child process: its answer can be edited, but not the request.'
  if (step.kind === 'process')
    return 'It is a child process; only what a tool or a server answered can be edited.'
  return `It is ${step.state}${step.error === undefined ? '' : `: ${step.error}`}.`
}
