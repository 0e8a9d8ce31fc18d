import type { BranchNodeView } from '@retake/web'
import { editText, howText } from '../branch-lines.js'
import { branchTree } from '../branch-tree.js'
import type { BranchNode } from '../branch-tree.js'
import { unknownRun } from '../errors.js'
import type { RunStore } from '../run-store.js'
import { factsView } from './facts-view.js'

/** How much of an edit is shown in a line; the whole stands in `branch.edits`. */
const EDIT_MAX = 400

/** The whole tree that a run belongs to, for a page. */
export function branchesOf(store: RunStore, id: string): BranchNodeView {
  if (!store.ids().includes(id)) throw unknownRun(id, store.folder)
  const { root, unreadable } = branchTree(store, id)
  return { ...nodeView(root), ...(unreadable.length > 0 && { unreadable }) }
}

function nodeView({ facts, branches, costUsd, parent, ...node }: BranchNode): BranchNodeView {
  const { branch } = node
  return {
    ...node,
    ...(parent && { parent }),
    how: branch === undefined ? 'recorded' : howText(branch),
    edits: branch?.edits.map((edit) => editText(edit, EDIT_MAX)) ?? [],
    ...(costUsd !== undefined && { costUsd }),
    ...(facts && { facts: factsView(facts) }),
    branches: branches.map(nodeView),
  }
}
