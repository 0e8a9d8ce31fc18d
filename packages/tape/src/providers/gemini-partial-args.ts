import { countOf, isRecord, listOf, recordsOf, textOf, type JsonRecord } from './json-shape.js'

/** More brackets or dots than this in a path are no arguments of a function. */
const PLACES_MAX = 100
/** An index above this is no list that a model wrote piece by piece. */
const INDEX_MAX = 10_000

/**
 * Adds the next piece of a function call that Vertex streams: its arguments
 * come as values with the path where they belong, and texts in several pieces.
 */
export const addPartialArgs = (call: JsonRecord, piece: JsonRecord): JsonRecord => {
  const { partialArgs, willContinue, ...named } = piece
  let args: unknown = call['args'] ?? {}
  for (const part of recordsOf(partialArgs)) {
    const path = placesOf(textOf(part['jsonPath']))
    if (path.length > 0) args = withValue(args, path, part)
  }
  const { willContinue: _, ...known } = call
  return { ...known, ...named, args, ...(willContinue === true && { willContinue }) }
}

/** `$.stops[0].city` and `$['stops'][0]` as a list of names and numbers. */
const placesOf = (path: string): readonly (string | number)[] => {
  const places = [...path.matchAll(/\.([^.[\]]+)|\[(\d+)\]|\['([^']*)'\]/g)].map(
    ([, name, index, quoted]) => (index === undefined ? (name ?? quoted ?? '') : Number(index)),
  )
  const isSane = places.length <= PLACES_MAX && places.every((place) => place !== '__proto__')
  return isSane && places.every((place) => (countOf(place) ?? 0) <= INDEX_MAX) ? places : []
}

const withValue = (
  target: unknown,
  [place, ...rest]: readonly (string | number)[],
  part: JsonRecord,
): unknown => {
  if (place === undefined) return valueOf(target, part)
  if (typeof place === 'number') {
    const list = [...listOf(target)]
    list[place] = withValue(list[place], rest, part)
    return list
  }
  const record = isRecord(target) ? target : {}
  return { ...record, [place]: withValue(record[place], rest, part) }
}

const valueOf = (earlier: unknown, part: JsonRecord): unknown => {
  const { stringValue, numberValue, boolValue } = part
  if (typeof stringValue === 'string') return textOf(earlier) + stringValue
  if ('nullValue' in part) return null
  return numberValue ?? boolValue ?? earlier
}
