import type { RunTrash } from './run-trash.js'
import { blameFiles, findingsPath } from '../runs/blame-files.js'
import { existsSync, rmSync } from 'node:fs'
import path from 'node:path'
import { childrenFolder } from '@retake/engine/runs'
import { planOverlay } from '@retake/engine/plans'
import { TapeError, attempt } from '@retake/tape'
import { TapeLock } from '@retake/tape/node'

import { stateFileOf } from '../debug/state-file.js'
import { cliErrors } from '../errors.js'
import { vaultOf } from '../privacy/vault.js'
import { readBranchRun } from '../runs/branch-tree.js'
import {
  comparisonFolderOf,
  fixFolderOf,
  fixPathOf,
  isMarkedAlive,
  markedParent,
  type RunStore,
} from '../runs/run-store.js'

import { type RunSummary, summarizeRuns } from '../runs/run-summary.js'
import { LOCKED, PIN, tagsFileOf } from '../runs/run-tags.js'

export interface RetainedRun {
  readonly id: string
  readonly why: 'recording' | 'on hold' | 'pinned' | 'young' | 'branches' | 'gone'
  readonly branches?: readonly string[]
}

/** The runs of a folder, newest first, and their branches. */
export class RunFamily {
  readonly runs: ReadonlyMap<string, RunSummary>
  readonly #branches = new Map<string, Set<string>>()
  readonly #store: RunStore
  #seen: ReadonlySet<string>

  constructor(store: RunStore) {
    this.#store = store
    const runs = new Map<string, RunSummary>()
    for (const run of summarizeRuns(store)) runs.set(run.id, run)
    this.runs = runs
    this.#seen = new Set()
    for (const run of runs.values()) {
      // A branch with an unreadable tape may still name its parent.
      const parent = 'error' in run ? readBranchRun(run.path)?.parent?.run : run.branch?.parent
      if (parent !== undefined) this.#add(parent, run.id)
    }
    this.lookAgain()
  }

  /** Finds branches started since: their tapes, and marks of those without a tape yet. */
  lookAgain(): void {
    const names = this.#store.fileNames()
    const seen = this.#seen
    this.#seen = new Set(names)
    for (const name of names) {
      if (seen.has(name)) continue
      const tape = path.join(this.#store.folder, name.replace(/\.pid$/, ''))
      const id = path.basename(tape, '.tape')
      if (name.endsWith('.pid') && isMarkedAlive(tape)) {
        const parent = markedParent(tape)
        if (parent !== undefined) this.#add(parent, id)
      } else if (name.endsWith('.tape') && !this.runs.has(id)) {
        const parent = attempt(() => readBranchRun(tape)?.parent?.run)
        if (parent !== undefined) this.#add(parent, id)
      }
    }
  }

  branchesOf(id: string): readonly string[] {
    return [...(this.#branches.get(id) ?? [])]
  }

  /** A run and all its descendants, branches before their parents. */
  descendants(id: string, seen = new Set<string>()): string[] {
    if (seen.has(id)) return []
    seen.add(id)
    return [...this.branchesOf(id).flatMap((branch) => this.descendants(branch, seen)), id]
  }

  removed(id: string): void {
    for (const branches of this.#branches.values()) branches.delete(id)
  }

  #add(parent: string, branch: string): void {
    const branches = this.#branches.get(parent)
    if (branches === undefined) this.#branches.set(parent, new Set([branch]))
    else branches.add(branch)
  }
}

/** Runs among these that must stay, and why. */
export function refusedRuns(family: RunFamily, ids: readonly string[]): RetainedRun[] {
  const refused = new Map<string, RetainedRun>()
  const going = new Set(ids)
  const refuse = (run: RetainedRun): void => {
    if (!going.delete(run.id)) return
    refused.set(run.id, run)
  }
  for (const id of ids) {
    const run = family.runs.get(id)
    if (run === undefined) refuse({ id, why: 'gone' })
    else if ('tags' in run && run.tags?.includes(LOCKED)) refuse({ id, why: 'on hold' })
    else if ('tags' in run && run.tags?.includes(PIN)) refuse({ id, why: 'pinned' })
    else if ('status' in run && run.status === 'recording') refuse({ id, why: 'recording' })
  }
  // Decides branches before their parents.
  const seen = new Set<string>()
  for (const id of ids.flatMap((each) => family.descendants(each, seen))) {
    const branches = family.branchesOf(id).filter((branch) => !going.has(branch))
    if (branches.length > 0) refuse({ id, why: 'branches', branches })
  }
  return [...refused.values()]
}

/** Number of removals between two checks for new branches. */
const LOOK_EVERY = 500

/**
 * Removes runs and everything that belongs to them, permanently or into a trash. A run stays if a
 * process is writing it, or if a branch that stays shares its events. Several processes may do this
 * at the same time.
 *
 * Not promised: a fork by the library that begins while its parent is removed finds no tape.
 */
export function removeRuns(
  store: RunStore,
  family: RunFamily,
  ids: readonly string[],
  trash?: RunTrash,
): { readonly removed: readonly string[]; readonly kept: readonly RetainedRun[] } {
  const removed: string[] = []
  const kept: RetainedRun[] = []
  const wanted = new Set(ids)
  // Branches first, which frees their parents.
  const seen = new Set<string>()
  const ordered = ids.flatMap((id) => family.descendants(id, seen)).filter((id) => wanted.has(id))
  const blamed = blameFiles(store.pathOf('any'))
  for (const [index, id] of ordered.entries()) {
    if (index % LOOK_EVERY === 0) family.lookAgain()
    const branches = family.branchesOf(id)
    if (branches.length > 0) kept.push({ id, why: 'branches', branches })
    else if (!removeRun(store.pathOf(id), id, blamed.get(id) ?? [], trash))
      kept.push({ id, why: 'recording' })
    else {
      family.removed(id)
      removed.push(id)
    }
  }
  store.index.save(new Set(store.unsortedIds()))
  return { removed, kept }
}

/** Files and folders that belong to a run, besides its tape. */
export const companionsOf = (tape: string, id: string): Readonly<Record<string, string>> => ({
  state: stateFileOf({ path: tape }),
  tags: tagsFileOf(tape),
  files: planOverlay(tape),
  children: childrenFolder(tape),
  approvals: tape.replace(/\.tape$/, '.approvals'),
  compare: comparisonFolderOf(tape),
  findings: findingsPath(tape, id),
  fix: fixPathOf(tape, id),
  trials: fixFolderOf(tape, 'trials', id),
  fixed: fixFolderOf(tape, 'fixed', id),
  vault: vaultOf(tape),
})

/** Returns false if a process is writing the tape. */
function removeRun(tape: string, id: string, blamed: readonly string[], trash?: RunTrash): boolean {
  if (isMarkedAlive(tape)) return false
  let lock: TapeLock
  try {
    // A locked run cannot be resumed.
    lock = TapeLock.take(tape)
  } catch (error) {
    if (error instanceof TapeError && error.code === 'TAPE_IN_USE') return false
    throw error
  }
  using _lock = lock
  try {
    // The tape goes first; without it, the rest belongs to no run.
    const others = [`${tape}.pid`, ...Object.values(companionsOf(tape, id))]
    if (trash !== undefined) trash.take(tape, id)
    else for (const file of [tape, ...others]) rmSync(file, { recursive: true, force: true })
    // Findings are already in the trash; the rest is a search cache.
    for (const file of blamed) rmSync(file, { recursive: true, force: true })
    return true
  } catch (error) {
    // Another process removed it.
    if (trash !== undefined && !existsSync(tape)) return true
    throw cliErrors.RUN_NOT_REMOVED(id, error)
  }
}
