import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs'
import path from 'node:path'
import { openOwnTape, TapeLock } from '@retake/tape/node'
import { attempt } from '@retake/tape/format'
import { cliErrors } from '../errors.js'
import { companionsOf } from './remove-runs.js'
import type { RunStore } from '../runs/run-store.js'

interface TrashedRun {
  readonly id: string
  readonly removedAt: number
  readonly folder: string
}

const TAPE = 'tape'
/** A younger entry without a tape may belong to a process that is just filling it. */
const FRESH_MS = 60_000

/**
 * Removed runs of a folder, in `.trash` inside of it, one folder per run. The tape moves first, and
 * last when restoring, with one rename each. So even if a process is killed, a run whose tape is in
 * its folder is complete, and one whose tape is in the trash is removed. `settle` finishes the work
 * of a killed process.
 */
export class RunTrash {
  readonly #store: RunStore
  readonly #folder: string

  constructor(store: RunStore) {
    this.#store = store
    this.#folder = path.join(store.folder, '.trash')
  }

  /** Last removed first. */
  runs(): TrashedRun[] {
    return this.#entries()
      .filter(({ folder }) => existsSync(path.join(folder, TAPE)))
      .toSorted((a, b) => b.removedAt - a.removedAt || (a.id < b.id ? -1 : 1))
  }

  /** Moves a run here. The caller must have locked its tape. */
  take(tape: string, id: string): void {
    const folder = path.join(this.#folder, `${Date.now()}-${id}`)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    renameSync(tape, path.join(folder, TAPE))
    this.#takeCompanions(tape, id, folder)
  }

  /** Moves files of trashed runs that were left behind. */
  settle(): void {
    for (const { id, folder, removedAt } of this.#entries()) {
      const tape = this.#store.pathOf(id)
      if (!existsSync(path.join(folder, TAPE))) {
        const at = attempt(() => statSync(folder).mtimeMs, removedAt)
        if (Date.now() - at > FRESH_MS) rmSync(folder, { recursive: true, force: true })
      } else if (!existsSync(tape)) this.#settleRun(tape, id, folder)
    }
  }

  #settleRun(tape: string, id: string, folder: string): void {
    const isLeft = [`${tape}.lock`, `${tape}.pid`, ...Object.values(companionsOf(tape, id))]
    if (!isLeft.some((file) => existsSync(file))) return
    using lock = attempt(() => TapeLock.take(tape))
    // Another process is already doing this.
    if (lock === undefined) return
    this.#takeCompanions(tape, id, folder)
  }

  #takeCompanions(tape: string, id: string, folder: string): void {
    for (const [name, file] of Object.entries(companionsOf(tape, id)))
      move(file, path.join(folder, name))
    rmSync(`${tape}.pid`, { force: true })
  }

  /** Restores runs together with their ancestors. Returns their ids. */
  restore(ids: readonly string[]): string[] {
    const restored: string[] = []
    for (const id of ids) this.#restoreRun(id, restored)
    return restored
  }

  #restoreRun(id: string, restored: string[]): void {
    if (restored.includes(id)) return
    const entry = this.runs().find((each) => each.id === id)
    if (entry === undefined) throw cliErrors.RUN_NOT_IN_TRASH(id, this.#folder)
    const tape = this.#store.pathOf(id)
    if (existsSync(tape)) throw cliErrors.RUN_ALREADY_THERE(id, tape)
    const parent = openOwnTape(path.join(entry.folder, TAPE)).run.parent?.run
    // A branch needs the events of its parent.
    if (parent !== undefined && !existsSync(this.#store.pathOf(parent)))
      this.#restoreRun(parent, restored)
    using _lock = TapeLock.take(tape)
    for (const [name, file] of Object.entries(companionsOf(tape, id)))
      move(path.join(entry.folder, name), file)
    renameSync(path.join(entry.folder, TAPE), tape)
    attempt(() => rmdirSync(entry.folder))
    restored.push(id)
  }

  /** Permanently deletes runs removed before a point in time, branches before their parents. */
  empty(before: number, isDry = false): string[] {
    const old = this.runs().filter(({ removedAt }) => removedAt < before)
    if (!isDry)
      for (const { folder } of old.toReversed()) rmSync(folder, { recursive: true, force: true })
    return old.map(({ id }) => id)
  }

  #entries(): TrashedRun[] {
    return attempt(() => readdirSync(this.#folder), []).flatMap((name) => {
      const [, removedAt, id = ''] = /^(\d{13})-(.+)$/.exec(name) ?? []
      if (removedAt === undefined) return []
      return [{ id, removedAt: Number(removedAt), folder: path.join(this.#folder, name) }]
    })
  }
}

/** No-op if the file does not exist or another process moves it. */
function move(from: string, to: string): void {
  // Most runs have no such file, and throwing for each would be slow.
  if (!existsSync(from)) return
  try {
    mkdirSync(path.dirname(to), { recursive: true })
    renameSync(from, to)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return
    // Findings may be on another file system than the tapes.
    if (code !== 'EXDEV') throw error
    cpSync(from, to, { recursive: true })
    rmSync(from, { recursive: true, force: true })
  }
}
