import { pathText } from '@retake/tape'
import type { PathKey } from '@retake/tape'

/** Characters shown before and after a hit. */
const BEFORE = 50
const AFTER = 110
/** Longer texts are searched for by their beginning. */
const WANTED_MAX = 1000
/** Values of one tree that are looked at, and how deep. */
const NODES_MAX = 2_000_000
const DEPTH_MAX = 400

/** Where something was found, and the text around it. */
export interface Found {
  readonly path: string
  readonly snippet: string
  readonly start: number
  readonly length: number
}

/** Finds a text in others, ignoring case. */
export class TextMatcher {
  readonly #pattern: RegExp
  /** Its characters stand in JSON as they are. */
  readonly #isPlain: boolean

  constructor(wanted: string) {
    const text = wanted.slice(0, WANTED_MAX)
    this.#pattern = new RegExp(text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'iu')
    this.#isPlain = /^[ !#-.0-[\]-~]*$/.test(text)
  }

  /** The first match in a text. */
  find(text: string, path = ''): Found | undefined {
    const match = this.#pattern.exec(text)
    if (match === null) return undefined
    const { index } = match
    const [{ length }] = match
    const from = wholeFrom(text, Math.max(0, index - BEFORE))
    const to = wholeFrom(text, Math.min(text.length, index + Math.min(length, AFTER) + AFTER))
    // One character for one, so that places in it stay right.
    const snippet = text.slice(from, to).replaceAll(/[\s\p{Cc}]/gu, ' ')
    return { path, snippet, start: index - from, length: Math.min(length, to - index) }
  }

  /**
   * Whether strings in a text of JSON may hold a match: they may be escaped there.
   * Cheaper than to parse it.
   */
  mayBeIn(json: string): boolean {
    if (this.#pattern.test(json)) return true
    return this.#isPlain ? /\\u00[2-7]/.test(json) : json.includes('\\')
  }

  /** Matches in the strings, numbers and keys of a value, at most so many. */
  findIn(value: unknown, path: readonly PathKey[], max: number): Found[] {
    const found: Found[] = []
    let nodes = 0
    const look = (text: string, at: readonly PathKey[]): void => {
      const hit = this.find(text)
      if (hit !== undefined) found.push({ ...hit, path: pathText(at) })
    }
    const walk = (node: unknown, at: readonly PathKey[]): void => {
      if (found.length >= max || ++nodes > NODES_MAX || at.length > DEPTH_MAX) return
      if (typeof node === 'string') look(node, at)
      else if (typeof node === 'number' || typeof node === 'bigint') look(String(node), at)
      else if (Array.isArray(node) || node instanceof Set || node instanceof Map)
        [...node].forEach((item, index) => walk(item, [...at, keyOf(index)]))
      else if (node instanceof Date || node instanceof RegExp || node instanceof URL)
        look(node instanceof Date ? dateText(node) : String(node), at)
      else if (ArrayBuffer.isView(node))
        look(
          new TextDecoder().decode(new Uint8Array(node.buffer, node.byteOffset, node.byteLength)),
          at,
        )
      else if (typeof node === 'object' && node !== null) {
        const members =
          node instanceof Error ? Object.assign({ message: node.message }, node) : node
        for (const [key, member] of Object.entries(members)) {
          const inside = [...at, keyOf(key)]
          if (this.#pattern.test(key)) look(key, inside)
          else walk(member, inside)
        }
      }
    }
    walk(value, path)
    return found.slice(0, max)
  }
}

/** One key of a path. */
export const keyOf = (key: string | number): PathKey => ({ key: String(key), quoted: false })

/** A path of plain keys. */
export const keysOf = (...keys: (string | number)[]): PathKey[] => keys.map(keyOf)

const dateText = (date: Date): string => (Number.isNaN(date.getTime()) ? '' : date.toISOString())

/** A place in a text that is not the middle of a character. */
function wholeFrom(text: string, at: number): number {
  const code = text.charCodeAt(at)
  return code >= 0xdc00 && code < 0xe000 && at > 0 ? at - 1 : at
}
