import { innerPath, memberPath, parsedText, utf8 } from '../json-value.js'
import { isRecord } from '@retake/tape'
import { excerptOf, type Hit, type Match, type Matcher } from './matcher.js'

/** Deeper values are not looked into: nobody's data is, but a tape may hold anything. */
const DEEPEST = 200

/** Every location in a JSON value that matches: strings, numbers and keys, also in JSON inside strings. */
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

/** A part of some content, and the event that holds it. */
export interface Piece {
  readonly seq: number
  readonly bytes: Uint8Array
}

/**
 * Searches content that came in pieces as the whole that it is, so that a value
 * cut in two is found. JSON is known by path and usable when its last piece is
 * there; in all else each match is known by its offset, and by the piece that
 * completes it.
 */
export const searchPieces = (pieces: readonly Piece[], matcher: Matcher): Hit[] => {
  const bytes = join(pieces)
  if (bytes.length === 0) return []
  const text = utf8(bytes)
  const json = text === undefined ? undefined : parsedText(text)
  const hits = json === undefined ? [] : searchJson(json, matcher)
  const last = pieces.at(-1)?.seq ?? 0
  if (hits.length > 0) return hits.map((hit) => ({ ...hit, seq: last }))
  return text === undefined ? searchBytes(bytes, pieces, matcher) : inText(text, pieces, matcher)
}

const inText = (text: string, pieces: readonly Piece[], matcher: Matcher): Hit[] => {
  const encoder = new TextEncoder()
  let [counted, offset] = [0, 0]
  const located = matcher.findIn(text).map((match) => {
    offset += encoder.encode(text.slice(counted, match.index)).length
    counted = match.index
    const size = encoder.encode(text.slice(match.index, match.index + match.length)).length
    return { match, offset, seq: pieceAt(pieces, offset + size - 1) }
  })
  return onePerPiece(located.map((each) => ({ ...each, excerpt: excerptOf(text, each.match) })))
}

/** Bytes that are no text may still hold some. */
const searchBytes = (bytes: Uint8Array, pieces: readonly Piece[], matcher: Matcher): Hit[] => {
  // One character for each byte, so that an index is an offset.
  const characters = new TextDecoder('latin1')
  const narrow = (text: string): string => characters.decode(new TextEncoder().encode(text))
  const matches = matcher.findInBytes?.(characters.decode(bytes), narrow) ?? []
  return onePerPiece(
    matches.map((match) => ({
      offset: match.index,
      seq: pieceAt(pieces, match.index + match.length - 1),
      excerpt: excerptOfBytes(bytes, match),
    })),
  )
}

const excerptOfBytes = (bytes: Uint8Array, { index, length }: Match): Hit['excerpt'] => {
  const decoder = new TextDecoder()
  const text = (from: number, to: number): string => decoder.decode(bytes.subarray(from, to))
  const before = text(Math.max(0, index - 40), index)
  const match = text(index, index + length)
  const joined = before + match + text(index + length, index + length + 40)
  return excerptOf(joined, { index: before.length, length: match.length })
}

interface Found {
  readonly offset: number
  readonly seq: number
  readonly excerpt: Hit['excerpt']
}

/** Matches in one event are one hit, told by the first of them. */
const onePerPiece = (found: readonly Found[]): Hit[] => {
  const bySeq = new Map<number, Found & { count: number }>()
  for (const each of found) {
    const known = bySeq.get(each.seq)
    if (known === undefined) bySeq.set(each.seq, { ...each, count: 1 })
    else known.count++
  }
  return [...bySeq.values()].map(({ offset, seq, excerpt, count }) => ({
    offset,
    seq,
    excerpt,
    count,
  }))
}

/** The event that holds the byte at an offset. */
const pieceAt = (pieces: readonly Piece[], offset: number): number => {
  let end = 0
  for (const { seq, bytes } of pieces) {
    end += bytes.length
    if (offset < end) return seq
  }
  return pieces.at(-1)?.seq ?? 0
}

const join = (pieces: readonly Piece[]): Uint8Array => {
  const [only] = pieces
  if (pieces.length === 1 && only !== undefined) return only.bytes
  const joined = new Uint8Array(pieces.reduce((sum, { bytes }) => sum + bytes.length, 0))
  let at = 0
  for (const { bytes } of pieces) {
    joined.set(bytes, at)
    at += bytes.length
  }
  return joined
}
