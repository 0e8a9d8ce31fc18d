import type { CallNumbers } from '../call-numbers.js'
import { isRecord, recordOf, recordsOf, textOf, type JsonRecord } from '../../values/json-shape.js'
import { mergeParts, textPart, userTurn, type Message, type MessagePart } from '../message.js'

/**
 * A conversation as Gemini sends it. Results of functions travel in a message
 * of the user, or of a role of their own; they are shown as messages of the tool.
 */
export const decodeContents = (contents: unknown, numbers: CallNumbers): Message[] =>
  contentList(contents).flatMap((content) => decodeContent(content, numbers))

/** A single content, or bare text, stands for a list of one. */
const contentList = (contents: unknown): readonly JsonRecord[] => {
  if (typeof contents === 'string') return [{ role: 'user', parts: [{ text: contents }] }]
  return isRecord(contents) ? [contents] : recordsOf(contents)
}

const decodeContent = (content: JsonRecord, numbers: CallNumbers): Message[] => {
  const parts = decodeParts(content['parts'], numbers)
  return content['role'] === 'model' ? [{ role: 'assistant', parts }] : userTurn(parts)
}

export const decodeParts = (parts: unknown, numbers: CallNumbers): MessagePart[] => {
  const list = isRecord(parts) ? [parts] : recordsOf(parts)
  return mergeParts(list.filter(saysSomething).map((part) => decodePart(part, numbers)))
}

/** A part may hold nothing but the signature of a thought. */
const saysSomething = (part: JsonRecord): boolean =>
  Object.entries(part).some(
    ([key, value]) => key !== 'thought' && key !== 'thoughtSignature' && value !== '',
  )

const decodePart = (part: JsonRecord, numbers: CallNumbers): MessagePart => {
  const { text, functionCall, functionResponse, inlineData, fileData } = part
  if (typeof text === 'string')
    return part['thought'] === true ? { type: 'reasoning', text } : textPart(text)
  if (isRecord(functionCall)) {
    const name = textOf(functionCall['name'])
    const args = functionCall['args'] ?? {}
    return { type: 'tool_call', id: numbers.call(textOf(functionCall['id']), name), name, args }
  }
  if (isRecord(functionResponse)) {
    const name = textOf(functionResponse['name'])
    const { response } = functionResponse
    const isError = isRecord(response) && response['error'] !== undefined
    return {
      type: 'tool_result',
      id: numbers.result(textOf(functionResponse['id']), name),
      content: resultOf(response),
      ...(isError && { isError }),
    }
  }
  const { mimeType, fileUri } = recordOf(inlineData ?? fileData)
  if (textOf(mimeType).startsWith('image/'))
    return { type: 'image', source: textOf(fileUri ?? mimeType) }
  const kind = Object.keys(part).find((key) => !key.startsWith('thought')) ?? 'part'
  return { type: 'other', kind, value: part }
}

/** SDKs wrap a result that is no object in one, under one of these names. */
const resultOf = (response: unknown): unknown => {
  const entries = Object.entries(recordOf(response))
  const [only] = entries
  const isWrapped =
    entries.length === 1 && only !== undefined && ['output', 'result', 'error'].includes(only[0])
  return isWrapped ? only[1] : response
}
