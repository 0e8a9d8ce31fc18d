import { brokenPath } from '../format/errors.js'

/** One step of a path. A quoted key never counts as an index. */
export interface PathKey {
  readonly key: string
  readonly quoted: boolean
}

const BARE = /(?:\\[^]|[^.[\]\\"'=\s])+/y
const QUOTED = /"((?:\\[^]|[^"\\])*)"|'((?:\\[^]|[^'\\])*)'/y
const INDEX = /-?\d+/y

/**
 * Reads a path such as `choices.0.message`, `choices[-1]`, `a\.b` or
 * `headers["x.y"]` from the start of a text; gives it with the rest of the text.
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
    if (bare === null) throw brokenPath(text, at)
    return { key: unescape(bare[0]), quoted: false }
  }
  const bracketed = (): PathKey => {
    const quoted = match(QUOTED)
    const index = quoted === null ? match(INDEX) : null
    if ((quoted ?? index) === null || text[at] !== ']') throw brokenPath(text, at)
    at += 1
    return quoted === null
      ? { key: index?.[0] ?? '', quoted: false }
      : { key: unescape(quoted[1] ?? quoted[2] ?? ''), quoted: true }
  }
  // `jq` starts its paths with a dot.
  if (text.startsWith('.')) at = 1
  if (text[at] !== '[') path.push(key())
  while (text[at] === '.' || text[at] === '[') {
    const opening = text[at++]
    path.push(opening === '[' ? bracketed() : key())
  }
  return { path, rest: text.slice(at) }
}

/** A whole text as a path. */
export const parsePath = (text: string): readonly PathKey[] => {
  const { path, rest } = readPath(text)
  if (rest !== '') throw brokenPath(text, text.length - rest.length)
  return path
}

/** A path as one would type it. */
export const pathText = (path: readonly PathKey[]): string =>
  path
    .map(({ key, quoted }) =>
      quoted || !/^[^.[\]\\"'=\s]+$/.test(key) ? `"${key.replace(/["\\]/g, '\\$&')}"` : key,
    )
    .join('.')

const unescape = (text: string): string => text.replace(/\\([^])/g, '$1')
