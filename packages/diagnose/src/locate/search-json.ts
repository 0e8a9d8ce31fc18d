import { innerPath, isRecord, memberPath, parsedText } from '../json-value.js'
import { excerptOf, type Hit } from './hit.js'
import type { Matcher } from './matcher.js'

/** Deeper values are not looked into: nobody's data is, but a tape may hold anything. */
const DEEPEST = 200

/** Every place in a JSON value that matches: strings, numbers and keys, also in JSON inside strings. */
export const searchJson = (value: unknown, matcher: Matcher, path = '', depth = 0): Hit[] => {
  if (depth > DEEPEST) return []
  if (typeof value === 'string') return searchText(value, matcher, path)
  if (typeof value === 'number') return searchNumber(value, matcher, path)
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => searchJson(item, matcher, `${path}[${index}]`, depth + 1))
  }
  if (!isRecord(value)) return []
  return Object.entries(value).flatMap(([key, member]) => {
    const at = memberPath(path, key)
    const inKey = hitsIn(key, matcher).map((hit) => ({ ...hit, path: `${at} (the key)` }))
    return [...inKey, ...searchJson(member, matcher, at, depth + 1)]
  })
}

/** Text that is JSON is searched as such, so that the path leads all the way and escapes do not matter. */
export const searchText = (text: string, matcher: Matcher, path: string): Hit[] => {
  const inner = parsedText(text)
  const hits =
    inner === undefined
      ? []
      : searchJson(inner, matcher).map((hit) => ({
          ...hit,
          path: innerPath(path, hit.path ?? ''),
          whole: text,
        }))
  if (hits.length > 0) return hits
  return hitsIn(text, matcher).map((hit) => ({ ...hit, path, whole: text }))
}

const hitsIn = (text: string, matcher: Matcher): Hit[] => {
  const matches = matcher.findIn(text)
  const [first] = matches
  return first === undefined ? [] : [{ excerpt: excerptOf(text, first), count: matches.length }]
}

const searchNumber = (value: number, matcher: Matcher, path: string): Hit[] =>
  matcher.isNumber(value) ||
  matcher.findIn(String(value)).some(({ length }) => length === String(value).length)
    ? [{ path, excerpt: { before: '', match: String(value), after: '' }, count: 1 }]
    : []
