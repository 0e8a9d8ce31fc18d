import type { BranchNodeView } from '../../api/run-repository.js'

export interface BranchRow {
  readonly node: BranchNodeView
  readonly depth: number
  /** For each rail before it: true if the line continues to a later row. */
  readonly rails: readonly boolean[]
  /** Among its siblings, from 1. */
  readonly index: number
  readonly of: number
  readonly parent: string | undefined
  /** Undefined if it has no children. */
  readonly isOpen: boolean | undefined
}

/** The visible rows. Not recursive: chains of branches can be long. */
export function branchRows(root: BranchNodeView, closed: ReadonlySet<string>): BranchRow[] {
  const rows: BranchRow[] = []
  const waiting: BranchRow[] = [rowOf({ node: root, index: 1, of: 1 }, undefined, closed)]
  for (let row = waiting.pop(); row !== undefined; row = waiting.pop()) {
    rows.push(row)
    if (row.isOpen !== true) continue
    const children = row.node.branches
    for (let index = children.length - 1; index >= 0; index--)
      waiting.push(
        rowOf(
          { node: children[index] as BranchNodeView, index: index + 1, of: children.length },
          row,
          closed,
        ),
      )
  }
  return rows
}

const rowOf = (
  { node, index, of }: Pick<BranchRow, 'node' | 'index' | 'of'>,
  parent: BranchRow | undefined,
  closed: ReadonlySet<string>,
): BranchRow => ({
  node,
  depth: parent === undefined ? 0 : parent.depth + 1,
  rails: parent === undefined ? [] : [...parent.rails, index < of],
  index,
  of,
  parent: parent?.node.id,
  isOpen: node.branches.length === 0 ? undefined : !closed.has(node.id),
})

export function countRuns(root: BranchNodeView): number {
  let count = 0
  const waiting = [root]
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    count += 1
    for (const branch of node.branches) waiting.push(branch)
  }
  return count
}
