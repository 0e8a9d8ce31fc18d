import type { Message } from '@retake/tape'
import type { RequestPart, TextPlace } from './text-place.js'

/**
 * The parts of what a model was asked, in order: instructions, messages, and results of
 * tools one by one. Only text that can be replaced without breaking the request is in a
 * part; calls of tools, images, and signed thoughts are not, and stay as they are. Knows
 * the shapes of the providers that tapes are read from, by their keys alone.
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
    return value.flatMap((message: unknown, place) =>
      typeof message === 'string'
        ? partOf(`${path}.${place}`, 'user', textsIn(message, `${path}.${place}`))
        : messageParts(recordOf(message), `${path}.${place}`),
    )
  if (typeof value === 'string') return partOf(path, 'user', textsIn(value, path))
  return isRecord(value) ? messageParts(value, path) : []
}

function messageParts(message: JsonRecord, path: string): RequestPart[] {
  const kind = message['type']
  if (typeof kind === 'string' && kind.endsWith('_call_output'))
    return partOf(path, 'tool', textsIn(message['output'], `${path}.output`))
  // Calls and reasoning of the Responses API are items of their own.
  if (typeof kind === 'string' && kind !== 'message') return []
  const speaker = speakerOf(message['role'])
  const key = 'parts' in message ? 'parts' : 'content'
  const content = message[key]
  if (speaker === 'tool' && key === 'content')
    return partOf(path, speaker, textsIn(content, `${path}.${key}`))
  if (!Array.isArray(content)) return partOf(path, speaker, textsIn(content, `${path}.${key}`))
  return blockParts(content, path, key, speaker)
}

/** Each result of a tool is a part of its own; the other blocks are one together. */
function blockParts(
  blocks: readonly unknown[],
  path: string,
  key: string,
  speaker: Message['role'],
): RequestPart[] {
  const parts: RequestPart[] = []
  const own: TextPlace[] = []
  for (const [place, block] of blocks.entries()) {
    const blockPath = `${path}.${key}.${place}`
    const result = toolResult(recordOf(block), blockPath)
    if (result) parts.push(...partOf(blockPath, 'tool', result))
    else own.push(...textsIn(block, blockPath))
  }
  return [...parts, ...partOf(path, speaker, own)]
}

/** What a tool gave, in the three ways in which a message can carry it. */
function toolResult(block: JsonRecord, path: string): TextPlace[] | undefined {
  if (block['type'] === 'tool_result') return textsIn(block['content'], `${path}.content`)
  const { toolResult: converse } = block
  if (isRecord(converse)) return textsIn(converse['content'], `${path}.toolResult.content`)
  for (const key of ['functionResponse', 'function_response']) {
    const response = block[key]
    if (isRecord(response)) return valueIn(response['response'], `${path}.${key}.response`)
  }
  return undefined
}

function textsIn(value: unknown, path: string): TextPlace[] {
  if (typeof value === 'string')
    return value.trim() === '' ? [] : [{ path, text: value, isValue: false }]
  if (Array.isArray(value))
    return value.flatMap((item: unknown, place) => textsIn(item, `${path}.${place}`))
  if (!isRecord(value) || isSigned(value)) return []
  if (typeof value['text'] === 'string') return textsIn(value['text'], `${path}.text`)
  if ('json' in value) return valueIn(value['json'], `${path}.json`)
  if ('parts' in value) return textsIn(value['parts'], `${path}.parts`)
  if (isRecord(value['source']) && value['source']['type'] === 'text')
    return textsIn(value['source']['data'], `${path}.source.data`)
  return value['type'] === 'search_result' ? textsIn(value['content'], `${path}.content`) : []
}

function valueIn(value: unknown, path: string): TextPlace[] {
  if (typeof value === 'string') return textsIn(value, path)
  const isEmpty = typeof value !== 'object' || value === null || Object.keys(value).length === 0
  return isEmpty ? [] : [{ path, text: JSON.stringify(value), isValue: true }]
}

/** A provider refuses thoughts that are not as it wrote them. */
function isSigned(block: JsonRecord): boolean {
  return block['thought'] === true || 'thoughtSignature' in block || 'thought_signature' in block
}

function partOf(
  path: string,
  speaker: Message['role'],
  places: readonly TextPlace[],
): RequestPart[] {
  return places.length === 0 ? [] : [{ path, speaker, places }]
}

function speakerOf(role: unknown): Message['role'] {
  if (role === 'model') return 'assistant'
  if (role === 'function') return 'tool'
  const known = (['system', 'developer', 'assistant', 'tool'] as const).find(
    (each) => each === role,
  )
  return known ?? 'user'
}

type JsonRecord = Readonly<Record<string, unknown>>

function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function recordOf(value: unknown): JsonRecord {
  return isRecord(value) ? value : {}
}
