import { DESCRIBED_WORDS } from '@retake/tape'
import type { Clipped } from '../../model/step-detail.js'
import { joinPath } from './field-path.js'

/**
 * A value that JSON cannot express, such as a function, or that was cut: one line of a tree,
 * in words. Copying it copies what was captured.
 */
export class SpokenValue {
  readonly #text: string
  readonly #captured: unknown

  constructor(text: string, captured: unknown) {
    this.#text = text
    this.#captured = captured
  }

  toString(): string {
    return this.#text
  }

  toJSON(): unknown {
    return this.#captured
  }
}

/**
 * A captured value for a tree: an object with `$type` is put into words. Captured values have
 * a limited depth. Not for foreign JSON, where `$type` is an ordinary key.
 */
export function spokenTree(json: unknown): unknown {
  if (typeof json !== 'object' || json === null) return json
  if (Array.isArray(json)) return json.map(spokenTree)
  const text = wordsFor(json as Readonly<Record<string, unknown>>)
  if (text !== undefined) return new SpokenValue(text, json)
  return Object.fromEntries(
    Object.entries(json).map(([name, member]) => [name, spokenTree(member)]),
  )
}

/** A captured value in one line. */
export function spokenLine(json: unknown): string {
  if (typeof json !== 'object' || json === null) return JSON.stringify(json) ?? ''
  if (Array.isArray(json)) return `[${json.map(spokenLine).join(',')}]`
  const text = wordsFor(json as Readonly<Record<string, unknown>>)
  if (text !== undefined) return text
  const members = Object.entries(json).map(
    ([name, member]) => `${JSON.stringify(name)}:${spokenLine(member)}`,
  )
  return `{${members.join(',')}}`
}

function wordsFor(json: Readonly<Record<string, unknown>>): string | undefined {
  const { $type: type, ...rest } = json
  if (typeof type !== 'string') return undefined
  if (Object.hasOwn(DESCRIBED_WORDS, type)) return DESCRIBED_WORDS[type]?.(rest)
  return Object.keys(rest).length === 0 ? `${type} {}` : undefined
}

export interface JsonRow {
  /** Undefined for the root. */
  readonly key: string | undefined
  readonly value: unknown
  readonly depth: number
  readonly parent: JsonRow | undefined
  /** Undefined for leaves. */
  readonly size: number | undefined
  readonly isOpen: boolean
  /** Among its siblings, from 1. */
  readonly index: number
  readonly of: number
}

/** Open objects and arrays, by identity: parsed JSON has no shared objects. */
export type OpenNodes = ReadonlySet<object>

const isNode = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  !(value instanceof SpokenValue) &&
  asClipped(value) === undefined &&
  leftOutOf(undefined, value) === undefined

const membersOf = (node: object): readonly (readonly [string, unknown])[] =>
  Array.isArray(node)
    ? node.map((value, index) => [String(index), value] as const)
    : Object.entries(node)

const sizeOf = (node: object): number =>
  Array.isArray(node) ? node.length : Object.keys(node).length

/** Not recursive: values may be nested deeply. */
export function jsonRows(value: unknown, open: OpenNodes): JsonRow[] {
  const rows: JsonRow[] = []
  const stack: JsonRow[] = [
    rowOf({ key: undefined, value, parent: undefined, index: 1, of: 1 }, open),
  ]
  for (let row = stack.pop(); row !== undefined; row = stack.pop()) {
    rows.push(row)
    if (!row.isOpen) continue
    const members = membersOf(row.value as object)
    for (let index = members.length - 1; index >= 0; index--) {
      const [key, member] = members[index] as readonly [string, unknown]
      const position = { index: index + 1, of: members.length }
      stack.push(rowOf({ key, value: member, parent: row, ...position }, open))
    }
  }
  return rows
}

function rowOf(
  member: Pick<JsonRow, 'key' | 'value' | 'parent' | 'index' | 'of'>,
  open: OpenNodes,
): JsonRow {
  const { value, parent } = member
  const size = isNode(value) ? sizeOf(value) : undefined
  const isOpen = size !== undefined && size > 0 && open.has(value as object)
  return { ...member, depth: (parent?.depth ?? -1) + 1, size, isOpen }
}

/** Initially open nodes: outer ones first, up to a number of lines. */
export function openAtFirst(value: unknown, lines = 80): Set<object> {
  const open = new Set<object>()
  let queue = isNode(value) ? [value] : []
  let left = lines
  while (queue.length > 0 && left > 0) {
    const next: object[] = []
    for (const node of queue) {
      const size = sizeOf(node)
      // The root is always open: a closed tree shows nothing.
      if (size > left && open.size > 0) continue
      open.add(node)
      left -= size
      if (size <= lines)
        next.push(...membersOf(node).flatMap(([, each]) => (isNode(each) ? [each] : [])))
    }
    queue = next
  }
  return open
}

export function allNodes(value: unknown, limit = 20_000): Set<object> {
  const nodes = new Set<object>()
  const stack = isNode(value) ? [value] : []
  for (let node = stack.pop(); node !== undefined && nodes.size < limit; node = stack.pop()) {
    nodes.add(node)
    for (const [, each] of membersOf(node)) if (isNode(each)) stack.push(each)
  }
  return nodes
}

/** Objects on the path, and whether it exists. */
export function nodesTo(value: unknown, keys: readonly string[]): object[] {
  const nodes: object[] = []
  let current = value
  for (const key of keys) {
    if (!isNode(current) || !Object.hasOwn(current, key)) break
    nodes.push(current)
    current = (current as Record<string, unknown>)[key]
  }
  return nodes
}

export function pathOf(row: JsonRow, base: string): string {
  const keys: string[] = []
  for (let at: JsonRow | undefined = row; at?.key !== undefined; at = at.parent) keys.push(at.key)
  return keys.toReversed().reduce(joinPath, base)
}

/** The target line of a key; undefined for keys that do something else. */
export function moveInTree(key: string, current: number, count: number): number | undefined {
  if (key === 'ArrowDown') return current + 1
  if (key === 'ArrowUp') return current - 1
  if (key === 'Home') return 0
  return key === 'End' ? count - 1 : undefined
}

/** A string that was too long to be sent whole; undefined for every other value. */
export function asClipped(value: unknown): Clipped['$clipped'] | undefined {
  if (typeof value !== 'object' || value === null || !('$clipped' in value)) return undefined
  const { $clipped: inner } = value
  if (typeof inner !== 'object' || inner === null) return undefined
  const { head, length } = inner as Partial<Clipped['$clipped']>
  return typeof head === 'string' && typeof length === 'number' ? { head, length } : undefined
}

/** The text of a string value, and its full length. */
export function textOf(value: unknown): { readonly text: string; readonly length: number } {
  const clipped = asClipped(value)
  if (clipped) return { text: clipped.head, length: clipped.length }
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return { text, length: text.length }
}

/** An object or array in a text. */
export function jsonIn(text: string): object | undefined {
  const start = text.trimStart()[0]
  if (start !== '{' && start !== '[') return undefined
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

/** Members that a limit left out; undefined if complete. See `Clipped`. */
export function leftOutOf(key: string | undefined, value: unknown): number | undefined {
  if (key === '$leftOut' && typeof value === 'number') return value
  if (typeof value !== 'object' || value === null || !('$leftOut' in value)) return undefined
  const { $leftOut: count, ...rest } = value
  return typeof count === 'number' && Object.keys(rest).length === 0 ? count : undefined
}
