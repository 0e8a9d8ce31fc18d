import { recordOf, recordsOf, textOf, isRecord, type JsonRecord } from '../../values/json-shape.js'
import { textPart, userTurn, type Message, type MessagePart } from '../message.js'

/** Messages of Bedrock's Converse API, which Nova also takes when it is invoked. */
export const decodeConversation = (body: JsonRecord): Message[] => {
  const system = decodeBlocks(body['system'])
  return [
    ...(system.length === 0 ? [] : [{ role: 'system', parts: system } as const]),
    ...recordsOf(body['messages']).flatMap(decodeTurn),
  ]
}

const decodeTurn = (message: JsonRecord): Message[] => {
  const parts = decodeBlocks(message['content'])
  return message['role'] === 'assistant' ? [{ role: 'assistant', parts }] : userTurn(parts)
}

/** Marks where the cache ends are no content. */
export const decodeBlocks = (content: unknown): MessagePart[] =>
  typeof content === 'string'
    ? [textPart(content)]
    : recordsOf(content)
        .filter((block) => !('cachePoint' in block))
        .map(decodeBlock)

const decodeBlock = (block: JsonRecord): MessagePart => {
  const { text, toolUse, toolResult, reasoningContent, image } = block
  if (typeof text === 'string') return textPart(text)
  // What the provider runs itself, such as Nova's code interpreter, is nobody else's to answer.
  if (recordOf(toolUse)['type'] === 'server_tool_use') return other('server_tool_use', block)
  if (textOf(recordOf(toolResult)['type']).endsWith('_result'))
    return other('server_tool_result', block)
  if (isRecord(toolUse)) {
    const { toolUseId, name, input } = toolUse
    return { type: 'tool_call', id: textOf(toolUseId), name: textOf(name), args: input ?? {} }
  }
  if (isRecord(toolResult)) {
    const { toolUseId, content, status } = toolResult
    return {
      type: 'tool_result',
      id: textOf(toolUseId),
      content: resultOf(content),
      ...(status === 'error' && { isError: true }),
    }
  }
  if (isRecord(reasoningContent))
    return { type: 'reasoning', text: textOf(recordOf(reasoningContent['reasoningText'])['text']) }
  if (isRecord(image)) return { type: 'image', source: imageSource(image) }
  return other(Object.keys(block)[0] ?? 'block', block)
}

const other = (kind: string, value: JsonRecord): MessagePart => ({ type: 'other', kind, value })

const imageSource = ({ format, source }: JsonRecord): string => {
  const { uri } = recordOf(recordOf(source)['s3Location'])
  return typeof uri === 'string' ? uri : `image/${textOf(format)}`
}

/** Text when it is only text, the value when it is one JSON value. */
const resultOf = (content: unknown): unknown => {
  const blocks = recordsOf(content)
  if (blocks.length > 0 && blocks.every(({ text }) => typeof text === 'string'))
    return blocks.map(({ text }) => textOf(text)).join('')
  const [only] = blocks
  return blocks.length === 1 && only !== undefined && 'json' in only ? only['json'] : content
}
