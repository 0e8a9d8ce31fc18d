/** A value inside arguments that is not itself a container. */
export interface Leaf {
  /** As in the `when` of a rule: `items.*.sku`. */
  readonly path: string
  readonly value: unknown
}

const LEAF_LIMIT = 200

/** The values inside arguments, by path; places in a list are not told apart. */
export function leavesOf(value: unknown): Leaf[] {
  const leaves: Leaf[] = []
  const look = (each: unknown, path: readonly string[]): void => {
    if (leaves.length >= LEAF_LIMIT) return
    if (typeof each !== 'object' || each === null) {
      if (path.length > 0) leaves.push({ path: path.join('.'), value: each })
      return
    }
    for (const [key, member] of Object.entries(each))
      look(member, [...path, Array.isArray(each) ? '*' : escaped(key)])
  }
  look(value, [])
  return leaves
}

/** A key that could be taken for more than one part of a path. */
const escaped = (key: string): string => key.replaceAll(/[.*\\]/g, String.raw`\$&`)

/** Every value at such a path. */
export const valuesAt = (value: unknown, path: string): unknown[] =>
  leavesOf(value)
    .filter((leaf) => leaf.path === path)
    .map((leaf) => leaf.value)
