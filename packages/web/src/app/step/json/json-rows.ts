import { joinPath } from '../field/field-path.js'
import { asClipped } from './clipped.js'
import { leftOutOf } from './left-out.js'
import { SpokenValue } from './spoken-value.js'

/** One line of a tree of JSON. */
export interface JsonRow {
  /** Name in the value it is part of; undefined for the whole. */
  readonly key: string | undefined
  readonly value: unknown
  readonly depth: number
  readonly parent: JsonRow | undefined
  /** Number of members; undefined for what has none by nature. */
  readonly size: number | undefined
  readonly isOpen: boolean
  /** Place among its neighbours, from 1, and how many they are. */
  readonly place: number
  readonly of: number
}

/** Which objects and arrays are open. Members of parsed JSON are all different objects. */
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

/** The lines of a value, in order. Does not recurse: values may be nested as deep as they like. */
export function jsonRows(value: unknown, open: OpenNodes): JsonRow[] {
  const rows: JsonRow[] = []
  const stack: JsonRow[] = [
    rowOf({ key: undefined, value, parent: undefined, place: 1, of: 1 }, open),
  ]
  for (let row = stack.pop(); row !== undefined; row = stack.pop()) {
    rows.push(row)
    if (!row.isOpen) continue
    const members = membersOf(row.value as object)
    for (let index = members.length - 1; index >= 0; index--) {
      const [key, member] = members[index] as readonly [string, unknown]
      const place = { place: index + 1, of: members.length }
      stack.push(rowOf({ key, value: member, parent: row, ...place }, open))
    }
  }
  return rows
}

function rowOf(
  member: Pick<JsonRow, 'key' | 'value' | 'parent' | 'place' | 'of'>,
  open: OpenNodes,
): JsonRow {
  const { value, parent } = member
  const size = isNode(value) ? sizeOf(value) : undefined
  const isOpen = size !== undefined && size > 0 && open.has(value as object)
  return { ...member, depth: (parent?.depth ?? -1) + 1, size, isOpen }
}

/** What is open at first: outer values before inner ones, until there are enough lines. */
export function openAtFirst(value: unknown, lines = 80): Set<object> {
  const open = new Set<object>()
  let queue = isNode(value) ? [value] : []
  let left = lines
  while (queue.length > 0 && left > 0) {
    const next: object[] = []
    for (const node of queue) {
      const size = sizeOf(node)
      // The outermost is always open: a closed tree tells nothing.
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

/** All objects and arrays in a value, up to a limit. */
export function allNodes(value: unknown, limit = 20_000): Set<object> {
  const nodes = new Set<object>()
  const stack = isNode(value) ? [value] : []
  for (let node = stack.pop(); node !== undefined && nodes.size < limit; node = stack.pop()) {
    nodes.add(node)
    for (const [, each] of membersOf(node)) if (isNode(each)) stack.push(each)
  }
  return nodes
}

/** Objects on the way to a path, and whether it leads anywhere. */
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

/** Where a row stands, after the path of the whole. */
export function pathOf(row: JsonRow, base: string): string {
  const keys: string[] = []
  for (let at: JsonRow | undefined = row; at?.key !== undefined; at = at.parent) keys.push(at.key)
  return keys.toReversed().reduce(joinPath, base)
}
