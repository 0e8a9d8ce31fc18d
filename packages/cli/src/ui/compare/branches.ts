import type { BranchNodeView } from '@retake/web'
import {
  type BranchNode,
  branchTree,
  editText,
  howText,
  type OwnNode,
  readNode,
  readRun,
  type TreeReader,
} from '../../runs/branch-tree.js'
import { cliErrors } from '../../errors.js'
import type { RunStore } from '../../runs/run-store.js'
import { factsView } from '../changes/jobs.js'
import { FileStamps } from '../runs/file-stamps.js'

/** How much of an edit is shown in a line; the whole stands in `branch.edits`. */
const EDIT_MAX = 400

interface Remembered<T> {
  readonly stamps: FileStamps
  readonly value: T
}

/**
 * The trees that runs belong to, for a page, which asks again whenever something
 * changes. Of each tape is remembered what was read, until the file is another one.
 */
export class Branches {
  readonly #store: RunStore
  readonly #runs = new Map<string, Remembered<ReturnType<typeof readRun>>>()
  readonly #nodes = new Map<string, Remembered<OwnNode>>()

  constructor(store: RunStore) {
    this.#store = store
  }

  treeOf(id: string): BranchNodeView {
    const ids = this.#store.ids()
    if (!ids.includes(id)) throw cliErrors.UNKNOWN_RUN(id, this.#store.folder)
    this.#forgetOthers(ids)
    const { root, unreadable } = branchTree(this.#store, id, this.#reader)
    return { ...nodeView(root), ...(unreadable.length > 0 && { unreadable }) }
  }

  readonly #reader: TreeReader = {
    readRun: (file) => remembering(this.#runs, file, () => readRun(file)),
    readNode: (id, file, run) => remembering(this.#nodes, file, () => readNode(id, file, run)),
  }

  #forgetOthers(ids: readonly string[]): void {
    const files = new Set(ids.map((id) => this.#store.pathOf(id)))
    for (const known of [this.#runs, this.#nodes])
      for (const file of known.keys()) if (!files.has(file)) known.delete(file)
  }
}

/** The mark beside a tape goes when its recording ends, also without a word on the tape. */
function remembering<T>(known: Map<string, Remembered<T>>, file: string, read: () => T): T {
  const found = known.get(file)
  if (found && !found.stamps.areOld()) return found.value
  const stamps = new FileStamps([file, `${file}.pid`])
  const value = read()
  known.set(file, { stamps, value })
  return value
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
