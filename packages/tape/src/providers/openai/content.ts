import { recordOf, recordsOf, textOf, type JsonRecord } from '../../values/json-shape.js'
import { textPart, type Message, type MessagePart } from '../message.js'

const ROLES: Readonly<Record<string, Message['role']>> = {
  system: 'system',
  developer: 'developer',
  user: 'user',
  assistant: 'assistant',
  tool: 'tool',
  function: 'tool',
}

export const roleOf = (role: unknown): Message['role'] => ROLES[textOf(role)] ?? 'user'

/** Content of a message in either OpenAI API: text, or a list of typed parts. */
export const contentParts = (content: unknown): MessagePart[] => {
  if (typeof content === 'string') return content === '' ? [] : [textPart(content)]
  return recordsOf(content).map(contentPart)
}

const contentPart = (part: JsonRecord): MessagePart => {
  const kind = textOf(part['type'])
  switch (kind) {
    case 'text':
    case 'input_text':
    case 'output_text':
    case 'summary_text':
      return textPart(textOf(part['text']))
    case 'thinking':
      return { type: 'reasoning', text: thinkingText(part['thinking']) }
    case 'refusal':
      return textPart(textOf(part['refusal']))
    case 'image_url':
    case 'input_image':
      return { type: 'image', source: imageSource(part) }
    default:
      return { type: 'other', kind, value: part }
  }
}

/** Mistral's reasoning is a list of texts. */
const thinkingText = (thinking: unknown): string =>
  typeof thinking === 'string'
    ? thinking
    : recordsOf(thinking)
        .map(({ text }) => textOf(text))
        .join('')

/** Inline images are named by their type only: their data can be megabytes. */
const imageSource = (part: JsonRecord): string => {
  const image = part['image_url']
  const url = typeof image === 'string' ? image : textOf(recordOf(image)['url'])
  return url.startsWith('data:') ? url.slice(5, url.indexOf(',')) : url || textOf(part['file_id'])
}
