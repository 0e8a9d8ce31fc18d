import { parseJson } from './json-shape.js'

/**
 * The items of a JSON array of objects that is still being written, as far as
 * they are complete: what is left of a streamed array that broke off.
 */
export const readArrayItems = (text: string): unknown[] => {
  const items: unknown[] = []
  let depth = 0
  let start = -1
  let inString = false
  for (let at = text.indexOf('[') + 1; at > 0 && at < text.length; at++) {
    const character = text[at]
    if (inString) {
      if (character === '\\') at++
      else if (character === '"') inString = false
    } else if (character === '"') inString = true
    else if (character === '{' || character === '[') {
      if (depth++ === 0) start = at
    } else if (character === '}' || character === ']') {
      if (--depth < 0) break
      if (depth === 0) items.push(parseJson(text.slice(start, at + 1)))
    }
  }
  return items.filter((item) => item !== undefined)
}
