import { type Message, setPath, isRecord, recordOf, type JsonRecord } from '@retake/tape'
import { parseContainer } from '@retake/tape/diff'

/** A value in JSON text, with its depth. */
interface JsonValue extends Range {
  readonly depth: number
  /** True if it contains no other values, as an empty list. */
  readonly isLeaf: boolean
}

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g

/** True for a non-empty list or object in JSON. */
export function isJsonText(text: string): boolean {
  return Object.keys(parseContainer(text) ?? {}).length > 0
}

/**
 * Fields of JSON text as at most `most` ranges, as deep as the limit allows. If even the top level
 * has too many fields, neighbours are grouped.
 */
export function jsonRanges(text: string, most: number): readonly (readonly Range[])[] {
  const values = jsonValues(text)
  const deepest = values.reduce((depth, value) => Math.max(depth, value.depth), 1)
  for (let depth = deepest; depth > 1; depth--) {
    const cut = valuesDownTo(values, depth)
    if (cut.length <= most) return cut.map((value) => [value])
  }
  return inGroups(valuesDownTo(values, 1), most)
}

/** JSON text with every value replaced by neutral words; keys and counts stay. */
function maskJson(text: string, neutral: string): string {
  let masked = ''
  let at = 0
  for (const { start, end, isLeaf } of jsonValues(text)) {
    if (!isLeaf) continue
    masked += text.slice(at, start) + JSON.stringify(neutral)
    at = end
  }
  return masked + text.slice(at)
}

/** Splits items into at most `most` groups of neighbours, of similar size. */
export function inGroups<T>(items: readonly T[], most: number): T[][] {
  const count = Math.min(items.length, most)
  return Array.from({ length: count }, (_, group) =>
    items.slice(
      Math.floor((group * items.length) / count),
      Math.floor(((group + 1) * items.length) / count),
    ),
  )
}

function valuesDownTo(values: readonly JsonValue[], depth: number): JsonValue[] {
  return values.filter((value) => value.depth === depth || (value.isLeaf && value.depth < depth))
}

/** Sorted by start, so lists and objects come before their content. */
function jsonValues(text: string): JsonValue[] {
  const values: { start: number; end: number; depth: number; isLeaf: boolean }[] = []
  const open: { value: (typeof values)[number]; isObject: boolean; expectsKey: boolean }[] = []
  for (const { 0: token, index: start } of text.matchAll(TOKEN)) {
    const inside = open.at(-1)
    if (token === '}' || token === ']') open.pop()!.value.end = start + 1
    else if (token === ',') inside!.expectsKey = inside!.isObject
    else if (token === ':') inside!.expectsKey = false
    else if (!inside?.expectsKey) {
      if (inside) inside.value.isLeaf = false
      const value = { start, end: start + token.length, depth: open.length, isLeaf: true }
      values.push(value)
      const isObject = token === '{'
      if (isObject || token === '[') open.push({ value, isObject, expectsKey: isObject })
    }
  }
  return values
}

/** Placeholder for text that was left out. Never empty: providers refuse empty text. */
export const MASK_TEXT = '(left out)'

/**
 * A request in which these spans are masked. Texts are replaced, never removed: every message, call
 * and id stays, so that the provider accepts the request like the recorded one.
 */
export function maskRequest(request: unknown, spans: readonly TextSpan[]): unknown {
  const byPath = new Map<string, { location: TextLocation; ranges: Range[] }>()
  for (const { location, ranges } of spans) {
    const found = byPath.get(location.path)
    if (found) found.ranges.push(...ranges)
    else byPath.set(location.path, { location, ranges: [...ranges] })
  }
  let masked = request
  for (const { location, ranges } of byPath.values()) {
    const isJson = isJsonText(location.text)
    let { text } = location
    // Ranges refer to the original text, so the last one is masked first.
    for (const { start, end } of ranges.toSorted((a, b) => b.start - a.start)) {
      const neutral = isJson ? maskJson(text.slice(start, end), MASK_TEXT) : MASK_TEXT
      text = text.slice(0, start) + neutral + text.slice(end)
    }
    masked = setPath(masked, location.path, location.isValue ? (JSON.parse(text) as unknown) : text)
  }
  return masked
}

/**
 * Splits a model request into parts, in order: instructions, messages, and single tool results. A
 * part contains only text that can be replaced without breaking the request; tool calls, images and
 * signed thoughts stay unchanged. Recognises the formats of all supported providers by their keys.
 */
export function splitInput(request: unknown): RequestPart[] {
  const body = recordOf(request)
  return [
    ...['system', 'instructions', 'systemInstruction', 'system_instruction'].flatMap((key) =>
      partOf(key, 'system', textsIn(body[key], key)),
    ),
    ...['prompt', 'inputText'].flatMap((key) => partOf(key, 'user', textsIn(body[key], key))),
    ...['input', 'messages', 'contents'].flatMap((key) => conversation(body[key], key)),
  ]
}

function conversation(value: unknown, path: string): RequestPart[] {
  if (Array.isArray(value))
    return value.flatMap((message: unknown, index) =>
      typeof message === 'string'
        ? partOf(`${path}.${index}`, 'user', textsIn(message, `${path}.${index}`))
        : messageParts(recordOf(message), `${path}.${index}`),
    )
  if (typeof value === 'string') return partOf(path, 'user', textsIn(value, path))
  return isRecord(value) ? messageParts(value, path) : []
}

function messageParts(message: JsonRecord, path: string): RequestPart[] {
  const kind = message['type']
  if (typeof kind === 'string' && kind.endsWith('_call_output'))
    return partOf(path, 'tool', textsIn(message['output'], `${path}.output`))
  // In the Responses API, calls and reasoning are separate items.
  if (typeof kind === 'string' && kind !== 'message') return []
  const speaker = speakerOf(message['role'])
  const key = 'parts' in message ? 'parts' : 'content'
  const content = message[key]
  if (speaker === 'tool' && key === 'content')
    return partOf(path, speaker, textsIn(content, `${path}.${key}`))
  if (!Array.isArray(content)) return partOf(path, speaker, textsIn(content, `${path}.${key}`))
  // Each tool result is a part; all other blocks form one part together.
  const parts: RequestPart[] = []
  const own: TextLocation[] = []
  for (const [index, block] of content.entries()) {
    const blockPath = `${path}.${key}.${index}`
    const result = toolResult(recordOf(block), blockPath)
    if (result) parts.push(...partOf(blockPath, 'tool', result))
    else own.push(...textsIn(block, blockPath))
  }
  return [...parts, ...partOf(path, speaker, own)]
}

/** A tool result, in one of its three forms in messages. */
function toolResult(block: JsonRecord, path: string): TextLocation[] | undefined {
  if (block['type'] === 'tool_result') return textsIn(block['content'], `${path}.content`)
  const { toolResult: converse } = block
  if (isRecord(converse)) return textsIn(converse['content'], `${path}.toolResult.content`)
  for (const key of ['functionResponse', 'function_response']) {
    const response = block[key]
    if (isRecord(response)) return valueIn(response['response'], `${path}.${key}.response`)
  }
  return undefined
}

function textsIn(value: unknown, path: string): TextLocation[] {
  if (typeof value === 'string')
    return value.trim() === '' ? [] : [{ path, text: value, isValue: false }]
  if (Array.isArray(value))
    return value.flatMap((item: unknown, index) => textsIn(item, `${path}.${index}`))
  // Providers reject signed thoughts that were changed.
  if (
    !isRecord(value) ||
    value['thought'] === true ||
    'thoughtSignature' in value ||
    'thought_signature' in value
  )
    return []
  if (typeof value['text'] === 'string') return textsIn(value['text'], `${path}.text`)
  if ('json' in value) return valueIn(value['json'], `${path}.json`)
  if ('parts' in value) return textsIn(value['parts'], `${path}.parts`)
  if (isRecord(value['source']) && value['source']['type'] === 'text')
    return textsIn(value['source']['data'], `${path}.source.data`)
  return value['type'] === 'search_result' ? textsIn(value['content'], `${path}.content`) : []
}

function valueIn(value: unknown, path: string): TextLocation[] {
  if (typeof value === 'string') return textsIn(value, path)
  const isEmpty = typeof value !== 'object' || value === null || Object.keys(value).length === 0
  return isEmpty ? [] : [{ path, text: JSON.stringify(value), isValue: true }]
}

function partOf(
  path: string,
  speaker: Message['role'],
  locations: readonly TextLocation[],
): RequestPart[] {
  return locations.length === 0 ? [] : [{ path, speaker, locations }]
}

function speakerOf(role: unknown): Message['role'] {
  if (role === 'model') return 'assistant'
  if (role === 'function') return 'tool'
  const known = (['system', 'developer', 'assistant', 'tool'] as const).find(
    (each) => each === role,
  )
  return known ?? 'user'
}

export interface TextLocation {
  readonly path: string
  readonly text: string
  /** True for JSON that is not a string; `text` is its serialised form. */
  readonly isValue: boolean
}

/** A message of a request, or one tool result in it: masked as a unit. */
export interface RequestPart {
  readonly path: string
  readonly speaker: Message['role']
  /** Never empty: a message without text is not a part. */
  readonly locations: readonly TextLocation[]
}

/** A range of characters; the end is exclusive. */
export interface Range {
  readonly start: number
  readonly end: number
}

/** A piece of text that can be masked: one range, or several neighbouring ranges. */
export interface TextSpan {
  readonly location: TextLocation
  readonly ranges: readonly Range[]
}

export function wholeSpans(part: RequestPart): TextSpan[] {
  return part.locations.map((location) => ({
    location,
    ranges: [{ start: 0, end: location.text.length }],
  }))
}
