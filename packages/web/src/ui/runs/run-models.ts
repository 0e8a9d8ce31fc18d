import { openIntactTape, openOwnTape, openTape } from '@retake/tape/node'
import { RunModel } from '../../model/run-model.js'
import { cliErrors } from '@retake/runner/errors'
import type { RunStatus } from '@retake/tape/present'
import {
  stampOf,
  type TapeStamp,
  isRecording,
  type RunStore,
  statusOf,
  readOptions,
  tagsFileOf,
} from '@retake/runner/runs'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { type Tape, setNewest } from '@retake/tape'

/** Changes when one of the files is written, replaced or removed. Does not read content. */
export const stampText = (...files: readonly string[]): string =>
  files.map((file) => stampOf(file)?.text ?? 'gone').join(', ')

/** Includes the mark, which is removed at the end even if the tape does not change. */
export const withMark = (tape: string): readonly string[] => [tape, `${tape}.pid`]

/** Cached content of files, until one of them changes. */
export class FileCache<T> {
  readonly #entries = new Map<string, { readonly stamp: string; readonly value: T }>()

  constructor(private readonly max = KNOWN_MAX) {}

  get(key: string, files: readonly string[], read: () => T): T {
    const stamp = stampText(...files)
    const known = this.#entries.get(key)
    const entry = known?.stamp === stamp ? known : { stamp, value: read() }
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    const [oldest = key] = this.#entries.keys()
    if (this.#entries.size > this.max) this.#entries.delete(oldest)
    return entry.value
  }

  delete(key: string): void {
    this.#entries.delete(key)
  }
}

export interface ReadRun {
  readonly model: RunModel
  readonly stamp: string
  readonly bytes: number
  /** Duration and time of reading it. */
  readonly tookMs: number
  readonly readAt: number
}

export interface RunVersion {
  readonly events: number
  readonly status: RunStatus
}

/** Number of cached runs, and bytes of their tapes; a model takes several times as much memory. */
const CACHED_MAX = 6
const CACHED_MAX_BYTES = 256 << 20
const KNOWN_MAX = 10_000
/** No id can leave the folder. */
const ID = /^[\w-][\w.-]*$/

/**
 * Runs that are being viewed, read again only if their files change. A run that is being recorded
 * is read at most a fifth of the time, so the result may be slightly old.
 */
export class RunModels {
  /** Least recently used first. */
  readonly #cached = new Map<string, ReadRun>()
  readonly #parents = new Map<string, string | undefined>()
  /** Version of runs at their last read, including runs evicted from the cache; oldest first. */
  readonly #versions = new Map<string, RunVersion & { readonly startedAt: number }>()
  /** Stamps of requested runs that could not be read, perhaps not yet. */
  readonly #unreadable = new Map<string, string>()
  onChange: (id: string, version: RunVersion) => void = () => {}

  constructor(private readonly store: RunStore) {}

  /** Throws if the run is gone or cannot be read. */
  open(id: string): ReadRun {
    const stamp = this.#stamp(id)
    const cached = this.#cached.get(id)
    const run =
      cached &&
      (isCurrent(cached, stamp) ||
        (cached.model.status === 'recording' && performance.now() < restUntil(cached)))
        ? cached
        : this.#read(id, stamp)
    setNewest(this.#cached, id, run, CACHED_MAX)
    let bytes = 0
    for (const [each, { bytes: own }] of [...this.#cached].toReversed())
      if ((bytes += own) > CACHED_MAX_BYTES && each !== id) this.#cached.delete(each)

    return run
  }

  /** Requested runs that have changed, with the milliseconds until the next read. */
  outdated(): { readonly id: string; readonly restMs: number }[] {
    const cached = [...this.#cached].flatMap(([id, run]) => {
      const file = this.store.pathOf(id)
      if (stampOf(file) === undefined || isCurrent(run, this.#stamp(id))) return []
      return [{ id, restMs: Math.max(0, restUntil(run) - performance.now()) }]
    })
    const unreadable = [...this.#unreadable].flatMap(([id, stamp]) => {
      const file = this.store.pathOf(id)
      return stampOf(file) === undefined || this.#stamp(id) === stamp ? [] : [{ id, restMs: 0 }]
    })
    return [...cached, ...unreadable]
  }

  #stamp(id: string): string {
    if (!ID.test(id)) throw cliErrors.UNKNOWN_RUN(id, this.store.folder)
    const own = stampOf(this.store.pathOf(id))
    if (own === undefined) {
      this.#cached.delete(id)
      throw cliErrors.UNKNOWN_RUN(id, this.store.folder)
    }
    let text = own.text
    // Includes known ancestors: the parent of a run is known once it was read.
    const seen = new Set([id])
    for (let at = this.#parents.get(id); at !== undefined; at = this.#parents.get(at)) {
      if (seen.has(at)) break
      seen.add(at)
      text += `, ${stampText(this.store.pathOf(at))}`
    }
    return text
  }

  #read(id: string, before: string): ReadRun {
    // A run that can no longer be read is not cached.
    this.#cached.delete(id)
    const wasUnreadable = this.#unreadable.has(id)
    this.#unreadable.set(id, before)
    const start = performance.now()
    const file = this.store.pathOf(id)
    let [stamp, tape] = [before, openIntactTape(file)]
    const parent = tape.run.parent?.run
    if (parent !== this.#parents.get(id)) {
      this.#learnParents(id, parent)
      // A stamp is taken before reading. One taken afterwards would hide what was written meanwhile.
      stamp = this.#stamp(id)
      tape = openIntactTape(file)
    }
    const model = new RunModel(tape, {
      status: (view) => statusOf(view, tape),
      ...readOptions(),
    })
    const readAt = performance.now()
    this.#unreadable.delete(id)
    const version = { events: tape.count, status: model.status }
    const hasChanged = this.#noteVersion(id, version, tape.run.startedAt)
    if (hasChanged || wasUnreadable) this.onChange(id, version)
    return {
      model,
      stamp,
      bytes: stampOf(file)?.bytes ?? 0,
      tookMs: readAt - start,
      readAt,
    }
  }

  #learnParents(id: string, parent: string | undefined): void {
    // Clears everything, because gaps in a chain of ancestors would hide changes.
    if (this.#parents.size > KNOWN_MAX) this.#parents.clear()
    this.#parents.delete(id)
    let [child, next] = [id, parent]
    while (!this.#parents.has(child)) {
      this.#parents.set(child, next)
      if (next === undefined) return
      child = next
      next = openOwnTape(this.store.pathOf(child)).run.parent?.run
    }
  }

  /**
   * Returns true if it differs from the last read version. Another run can be recorded under the
   * same name, with another start time.
   */
  #noteVersion(id: string, version: RunVersion, startedAt: number): boolean {
    const before = this.#versions.get(id)
    // A spread would cost a hidden class of several hundred bytes per copy in V8.
    const now = { events: version.events, status: version.status, startedAt }
    setNewest(this.#versions, id, now, KNOWN_MAX)
    if (before === undefined) return false
    return (
      before.events !== version.events ||
      before.status !== version.status ||
      before.startedAt !== startedAt
    )
  }

  wasRead(id: string): boolean {
    return this.#versions.has(id)
  }
}

/** A killed process leaves its tape unchanged; only its mark shows that it ended. */
const isCurrent = ({ model, stamp }: ReadRun, now: string): boolean =>
  stamp === now &&
  (model.status !== 'recording' || isRecording(model.tape.path, model.tape.run.scope))

const restUntil = ({ readAt, tookMs }: ReadRun): number => readAt + 4 * tookMs

/** Stamps of all runs of a folder, by id. Reads no tape. Empty if there is no folder. */
export function stampsOf(store: RunStore): ReadonlyMap<string, TapeStamp & { isTagged: boolean }> {
  const stamps = new Map<string, TapeStamp & { isTagged: boolean }>()
  const names = store.fileNames()
  const others = new Set(names.filter((name) => name.endsWith('.tags')))
  for (const id of store.unsortedIds(names)) {
    const tape = store.pathOf(id)
    const stamp = stampOf(tape)
    if (stamp === undefined) continue
    const tags = tagsFileOf(tape)
    const isTagged = others.has(path.basename(tags))
    const text = isTagged ? `${stamp.text}, ${stampText(tags)}` : stamp.text
    stamps.set(id, { ...stamp, text, isTagged })
  }
  return stamps
}

/**
 * The current tape of a run that a page requested. Accepts only full ids, so that nothing outside
 * of the folder is opened.
 */
export function openStored(store: RunStore, id: string): Tape {
  const file = store.pathOf(id)
  if (!ID.test(id) || !existsSync(file)) throw cliErrors.UNKNOWN_RUN(id, store.folder)
  return openTape(file)
}

/** Like `openStored`, but refuses a tape that is still being recorded. */
export function openFinished(store: RunStore, id: string): Tape {
  const tape = openStored(store, id)
  if (tape.status === 'truncated' && isRecording(tape.path, tape.run.scope))
    throw cliErrors.RUN_STILL_RECORDING(id)
  return tape
}
