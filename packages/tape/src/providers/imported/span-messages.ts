import {
  filledText,
  isRecord,
  listOf,
  optionalText,
  parseArguments,
} from '../../format/values/json-shape.js'
import {
  parseJson,
  recordOf,
  recordsOf,
  textOf,
  type JsonRecord,
} from '../../format/values/json-shape.js'
import { type Message, type MessagePart, otherPart, textPart } from '../specification/message.js'
import type { SpanAttributes, SpanEvent } from './index.js'

export function inputMessages(
  attributes: SpanAttributes,
  events: readonly SpanEvent[],
): readonly Message[] {
  const instructions = listValue(attributes['gen_ai.system_instructions'])
  const system: Message[] =
    instructions.length === 0 ? [] : [{ role: 'system', parts: instructions.map(partOf) }]
  const given = listValue(
    attributes['gen_ai.input.messages'],
    detailsOf(events)['gen_ai.input.messages'],
  )
  if (given.length > 0) return [...system, ...given.map((each) => messageOf(each, 'user'))]
  const flat = [
    ...flatMessages(attributes, 'llm.input_messages'),
    ...flatMessages(attributes, 'gen_ai.prompt'),
  ]
  const listed = flat.length > 0 ? flat : listValue(attributes['ai.prompt.messages'])
  if (listed.length > 0) return [...system, ...listed.map((each) => messageOf(each, 'user'))]
  const said = events.filter(({ name }) =>
    /^gen_ai\.(?:system|user|assistant|tool)\.message$/.test(name),
  )
  if (said.length > 0)
    return said.map(({ name, attributes: each }) =>
      messageOf(eventMessage(each), name.split('.')[1] ?? 'user'),
    )
  return [...system, ...wholeValue(attributes['input.value'] ?? attributes['ai.prompt'], 'user')]
}

export function outputMessages(
  attributes: SpanAttributes,
  events: readonly SpanEvent[],
): readonly Message[] {
  const given = listValue(
    attributes['gen_ai.output.messages'],
    detailsOf(events)['gen_ai.output.messages'],
  )
  const flat = [
    ...flatMessages(attributes, 'llm.output_messages'),
    ...flatMessages(attributes, 'gen_ai.completion'),
  ]
  const listed = given.length > 0 ? given : flat
  if (listed.length > 0) return listed.map((each) => messageOf(each, 'assistant'))
  const choices = events.filter(({ name }) => name === 'gen_ai.choice')
  if (choices.length > 0)
    return choices.map(({ attributes: each }) => messageOf(eventMessage(each), 'assistant'))
  const calls = listValue(attributes['ai.response.toolCalls'])
  const text = filledText(attributes['ai.response.text'])
  if (calls.length > 0 || text !== undefined)
    return [messageOf({ content: text ?? '', tool_calls: calls }, 'assistant')]
  return wholeValue(attributes['output.value'], 'assistant')
}

/** `prefix.0.role`, `prefix.0.tool_calls.0.name` … as a list of records. Deeper or wrong indexes are ignored. */
export function flatMessages(attributes: SpanAttributes, prefix: string): readonly JsonRecord[] {
  const root: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(attributes)) {
    if (!key.startsWith(`${prefix}.`)) continue
    const path = key.slice(prefix.length + 1).split('.')
    if (!/^\d{1,5}$/.test(path[0] ?? '') || path.length > 8 || path.includes('__proto__')) continue
    let at = root
    for (const name of path.slice(0, -1)) {
      const inner = isRecord(at[name]) ? at[name] : {}
      at[name] = inner
      at = inner
    }
    at[path.at(-1) ?? ''] = value
  }
  return numbered(root).map((each) => (isRecord(each['message']) ? each['message'] : each))
}

/** Records under the keys 0, 1, 2 …, in that order. */
const numbered = (value: unknown): JsonRecord[] =>
  Object.entries(recordOf(value))
    .filter(([key, each]) => /^\d+$/.test(key) && isRecord(each))
    .toSorted(([left], [right]) => Number(left) - Number(right))
    .map(([, each]) => each as JsonRecord)

const detailsOf = (events: readonly SpanEvent[]): SpanAttributes =>
  events.find(({ name }) => name === 'gen_ai.client.inference.operation.details')?.attributes ?? {}

/** A list, or a list given as JSON text. */
const listValue = (...values: readonly unknown[]): readonly unknown[] => {
  const value = values.find((each) => each !== undefined)
  return listOf(typeof value === 'string' ? parseJson(value) : value)
}

/** Messages in a value of any form: a list, `{ messages }`, or text. */
function wholeValue(value: unknown, role: Message['role']): readonly Message[] {
  if (value === undefined || value === null || value === '') return []
  const parsed = typeof value === 'string' ? (parseJson(value) ?? value) : value
  const listed = Array.isArray(parsed) ? parsed : recordOf(parsed)['messages']
  const messages = recordsOf(listed).filter((each) => 'role' in each)
  if (messages.length > 0) return messages.map((each) => messageOf(each, role))
  if (isRecord(parsed) && 'role' in parsed) return [messageOf(parsed, role)]
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return [{ role, parts: [textPart(text)] }]
}

/** Older events have the message as JSON, or as separate attributes. */
const eventMessage = (attributes: SpanAttributes): unknown => {
  const { message, content, ...rest } = attributes
  if (isRecord(message)) return message
  const parsed = typeof content === 'string' ? parseJson(content) : content
  return isRecord(parsed) ? parsed : { ...rest, content }
}

const ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool'])
const roleOf = (role: unknown, otherwise: string): Message['role'] => {
  const named = role === 'model' || role === 'ai' ? 'assistant' : role === 'human' ? 'user' : role
  return (ROLES.has(textOf(named)) ? named : otherwise) as Message['role']
}

function messageOf(given: unknown, otherwise: string): Message {
  if (!isRecord(given)) return { role: roleOf(undefined, otherwise), parts: [partOf(given)] }
  const role = roleOf(given['role'], otherwise)
  const own = given['parts'] ?? given['content'] ?? given['contents']
  const parts =
    typeof own === 'string'
      ? own === ''
        ? []
        : [textPart(own)]
      : Array.isArray(own)
        ? own.map(partOf)
        : numbered(own).map(partOf)
  const calls = Array.isArray(given['tool_calls'])
    ? given['tool_calls']
    : numbered(given['tool_calls'])
  const id = filledText(given['tool_call_id'])
  // A tool result in chat completions format.
  if (role === 'tool' && id !== undefined && parts.every(({ type }) => type === 'text'))
    return { role, parts: [{ type: 'tool_result', id, content: textOf(own) }] }
  return { role, parts: [...parts, ...recordsOf(calls).map(callOf)] }
}

function callOf(given: JsonRecord): MessagePart {
  const inner = recordOf(given['tool_call'] ?? given)
  const called = recordOf(inner['function'])
  const args = inner['arguments'] ?? inner['args'] ?? inner['input'] ?? called['arguments']
  return {
    type: 'tool_call',
    id: textOf(inner['id'] ?? inner['toolCallId']),
    name: textOf(inner['name'] ?? inner['toolName'] ?? called['name']),
    args: typeof args === 'string' ? parseArguments(args) : (args ?? {}),
  }
}

function partOf(given: unknown): MessagePart {
  if (typeof given === 'string') return textPart(given)
  const inner = recordOf(recordOf(given)['message_content'] ?? given)
  const { type, content, text } = inner
  const words = optionalText(content) ?? optionalText(text)
  if (type === 'text' && words !== undefined) return textPart(words)
  if ((type === 'reasoning' || type === 'thinking') && words !== undefined)
    return { type: 'reasoning', text: words }
  if (type === 'tool_call' || type === 'tool-call' || type === 'tool_use') return callOf(inner)
  if (type === 'tool_call_response' || type === 'tool-result' || type === 'tool_result') {
    const isError = inner['is_error'] === true || inner['isError'] === true
    return {
      type: 'tool_result',
      id: textOf(inner['id'] ?? inner['toolCallId'] ?? inner['tool_use_id']),
      content: inner['response'] ?? inner['result'] ?? inner['output'] ?? content ?? null,
      ...(isError && { isError }),
    }
  }
  if (type === 'uri' && inner['modality'] === 'image')
    return { type: 'image', source: textOf(inner['uri']) }
  return otherPart(
    filledText(type) ?? 'unknown',
    isRecord(given) ? (inner['value'] ?? given) : given,
  )
}
