import type { Range } from './text-place.js'

/** A value somewhere in JSON text, with how many lists and objects it is in. */
interface JsonValue extends Range {
  readonly depth: number
  /** Has no values in it: an empty list is one too. */
  readonly isLeaf: boolean
}

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g

/** Whether a text is a list or an object in JSON, and not empty. */
export function isJsonText(text: string): boolean {
  if (!/^\s*[{[]/.test(text)) return false
  try {
    const value = JSON.parse(text) as object
    return Object.keys(value).length > 0
  } catch {
    return false
  }
}

/**
 * The fields of JSON text as ranges, at most so many: as deep as that allows, and where
 * even the uppermost are too many, neighbours together.
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

/** JSON text with neutral words for every value; its keys, and how many there are, stay. */
export function maskJson(text: string, neutral: string): string {
  let masked = ''
  let at = 0
  for (const { start, end, isLeaf } of jsonValues(text)) {
    if (!isLeaf) continue
    masked += text.slice(at, start) + JSON.stringify(neutral)
    at = end
  }
  return masked + text.slice(at)
}

/** At most so many groups of neighbours, of about the same size. */
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

/** In the order in which they begin, lists and objects before what is in them. */
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
