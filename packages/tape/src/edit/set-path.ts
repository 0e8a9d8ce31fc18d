import { tapeErrors } from '../format/errors.js'
import { isRecord } from '../format/values/json-shape.js'
import { setOwn } from '../format/values/stable-stringify.js'

/** One element of a path. A quoted key is never an index. */
export interface PathKey {
  readonly key: string
  readonly quoted: boolean
}

const BARE = /(?:\\[^]|[^.[\]\\"'=\s])+/y
const QUOTED = /"((?:\\[^]|[^"\\])*)"|'((?:\\[^]|[^'\\])*)'/y
const INDEX = /-?\d+/y

/**
 * Parses a path such as `choices.0.message`, `choices[-1]`, `a\.b` or `headers["x.y"]` at the start
 * of a text. Also returns the rest of the text.
 */
export const readPath = (text: string): { path: readonly PathKey[]; rest: string } => {
  const path: PathKey[] = []
  let at = 0
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    const found = pattern.exec(text)
    if (found !== null) at += found[0].length
    return found
  }
  const key = (): PathKey => {
    const quoted = match(QUOTED)
    if (quoted !== null) return { key: unescape(quoted[1] ?? quoted[2] ?? ''), quoted: true }
    const bare = match(BARE)
    if (bare === null) throw tapeErrors.EDIT_BROKEN_PATH(text, at)
    return { key: unescape(bare[0]), quoted: false }
  }
  const bracketed = (): PathKey => {
    const quoted = match(QUOTED)
    const index = quoted === null ? match(INDEX) : null
    if ((quoted ?? index) === null || text[at] !== ']') throw tapeErrors.EDIT_BROKEN_PATH(text, at)
    at += 1
    return quoted === null
      ? { key: index?.[0] ?? '', quoted: false }
      : { key: unescape(quoted[1] ?? quoted[2] ?? ''), quoted: true }
  }
  // A leading dot is allowed, as in `jq`.
  if (text.startsWith('.')) at = 1
  if (text[at] !== '[') path.push(key())
  while (text[at] === '.' || text[at] === '[') {
    const opening = text[at++]
    path.push(opening === '[' ? bracketed() : key())
  }
  return { path, rest: text.slice(at) }
}

export const parsePath = (text: string): readonly PathKey[] => {
  const { path, rest } = readPath(text)
  if (rest !== '') throw tapeErrors.EDIT_BROKEN_PATH(text, text.length - rest.length)
  return path
}

/** A path in the notation that users type. */
export const pathText = (path: readonly PathKey[]): string => path.map(keyText).join('.')

/** Keys with special characters are quoted. */
export const keyText = ({ key, quoted }: PathKey): string =>
  quoted || !/^[^.[\]\\"'=\s]+$/.test(key) ? `"${key.replace(/["\\]/g, '\\$&')}"` : key

const unescape = (text: string): string => text.replace(/\\([^])/g, '$1')

/** Parses `<path>=<json>`, as in `--set`. A bare word is an error, not a string. */
export const parseSet = (text: string): { readonly path: string; readonly value: unknown } => {
  const { path, rest } = readPath(text)
  if (!rest.startsWith('=')) throw tapeErrors.EDIT_BROKEN_PATH(text, text.length - rest.length)
  const json = rest.slice(1)
  try {
    return { path: pathText(path), value: JSON.parse(json) as unknown }
  } catch (cause) {
    throw tapeErrors.EDIT_NOT_JSON(cause, { path: pathText(path), json })
  }
}

/**
 * A copy of JSON data with one value changed. The path must exist, except that an object may get a
 * new last key. Everything outside the path is shared with the original.
 */
export const setPath = (data: unknown, path: string, value: unknown): unknown => {
  const keys = parsePath(path)
  return replaceAt(data, keys, 0, value)
}

export const getPath = (data: unknown, path: string): unknown => {
  const keys = parsePath(path)
  let found = data
  for (const [depth, key] of keys.entries()) {
    if (Array.isArray(found)) found = found[indexIn(found, keys, depth)]
    else if (isRecord(found) && Object.hasOwn(found, key.key)) found = found[key.key]
    else throw missing(found, keys, depth)
  }
  return found
}

const replaceAt = (
  data: unknown,
  path: readonly PathKey[],
  depth: number,
  value: unknown,
): unknown => {
  const [step] = path.slice(depth)
  if (step === undefined) return value
  if (Array.isArray(data)) {
    const index = indexIn(data, path, depth)
    return data.with(index, replaceAt(data[index], path, depth + 1, value))
  }
  const isLast = depth === path.length - 1
  if (!isRecord(data) || (!isLast && !Object.hasOwn(data, step.key)))
    throw missing(data, path, depth)
  const copy = { ...data }
  setOwn(copy, step.key, replaceAt(data[step.key], path, depth + 1, value))
  return copy
}

/** Negative indexes count from the end. */
const indexIn = (list: readonly unknown[], path: readonly PathKey[], depth: number): number => {
  const step = path[depth]
  const number = step?.quoted === false && /^-?\d+$/.test(step.key) ? Number(step.key) : NaN
  const index = number < 0 ? number + list.length : number
  if (!(index >= 0 && index < list.length)) throw missing(list, path, depth)
  return index
}

const missing = (data: unknown, path: readonly PathKey[], depth: number): Error =>
  tapeErrors.EDIT_NO_SUCH_PATH({
    path: pathText(path),
    prefix: pathText(path.slice(0, depth)),
    key: path[depth]?.key ?? '',
    found: describe(data),
  })

const KEYS_SHOWN = 20

const describe = (data: unknown): string => {
  if (Array.isArray(data)) {
    return data.length === 0
      ? 'an empty list'
      : `a list with the indexes 0 to ${data.length - 1}; to add an item, set the whole list`
  }
  if (isRecord(data)) {
    const keys = Object.keys(data)
    const shown = keys.slice(0, KEYS_SHOWN).join(', ')
    return keys.length === 0
      ? 'an object without keys'
      : `an object with the keys ${shown}${keys.length > KEYS_SHOWN ? ', …' : ''}`
  }
  const text = JSON.stringify(data) ?? 'nothing'
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
