export interface TreeRow<T> {
  readonly item: T
  readonly depth: number
  readonly parent: TreeRow<T> | undefined
  /** Position among its siblings, from 1. */
  readonly index: number
  readonly of: number
  /** Undefined if the item has no parts. */
  readonly isOpen: boolean | undefined
}

interface TreeParts<T> {
  /** Undefined if the item has no parts. */
  readonly isOpen: (item: T) => boolean | undefined
  /** Called only for open items. */
  readonly partsOf: (item: T) => readonly T[]
}

/** The visible lines. Not recursive, because trees may be deep. */
export function treeRows<T>(root: T, { isOpen, partsOf }: TreeParts<T>): TreeRow<T>[] {
  const rows: TreeRow<T>[] = []
  const rowOf = (item: T, parent: TreeRow<T> | undefined, index: number, of: number) => {
    const depth = parent === undefined ? 0 : parent.depth + 1
    return { item, depth, parent, index, of, isOpen: isOpen(item) }
  }
  const waiting: TreeRow<T>[] = [rowOf(root, undefined, 1, 1)]
  for (let row = waiting.pop(); row !== undefined; row = waiting.pop()) {
    rows.push(row)
    const parts = row.isOpen === true ? partsOf(row.item) : []
    for (let index = parts.length; index > 0; index--)
      waiting.push(rowOf(parts[index - 1] as T, row, index, parts.length))
  }
  return rows
}

interface TreeMoves<T> {
  readonly go: (index: number) => void
  readonly toggle: (row: TreeRow<T>) => void
}

/** The action that a key performs on the current line, if any. */
export function treeAction<T>(
  key: string,
  rows: readonly TreeRow<T>[],
  current: number,
  { go, toggle }: TreeMoves<T>,
): (() => void) | undefined {
  const row = rows[current] as TreeRow<T>
  const actions: Record<string, () => void> = {
    ArrowDown: () => go(current + 1),
    ArrowUp: () => go(current - 1),
    Home: () => go(0),
    End: () => go(rows.length - 1),
    ArrowRight: () => {
      if (row.isOpen === false) toggle(row)
      else if (row.isOpen === true) go(current + 1)
    },
    ArrowLeft: () => {
      if (row.isOpen === true) toggle(row)
      else if (row.parent !== undefined) go(rows.indexOf(row.parent))
    },
  }
  return Object.hasOwn(actions, key) ? actions[key] : undefined
}
