import { listOf, recordsOf } from './json-shape.js'

/** Content of a tool result: text when it is only text. */
export const resultContent = (content: unknown): unknown => {
  const parts = listOf(content)
  const texts = recordsOf(content).map((part) => part['text'])
  const isOnlyText = parts.length > 0 && texts.every((text) => typeof text === 'string')
  return isOnlyText && texts.length === parts.length ? texts.join('') : content
}
