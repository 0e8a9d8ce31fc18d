import { type FSWatcher, watch } from 'node:fs'
import type { RepositoryChange } from '../../api/run-repository.js'
import type { RunCard } from '@retake/tape'
import type { UnreadableRun } from '../../model/run-source.js'
import { isRecording, type RunStore, type TapeStamp, indexedSummary } from '@retake/runner/runs'
import { type RunModels, stampsOf } from './run-models.js'
import type { StoredFindings } from './stored-blame.js'

type Card = RunCard | UnreadableRun

interface Entry {
  readonly stamp: string
  readonly card: Card
  /** Not read again before this time, so that reading takes at most a tenth of the time. */
  readonly restUntil: number
}

/** Yields to other requests after this much reading. */
const SLICE_MS = 20

/**
 * The list of runs, from the index of the folder. Reads a tape only if it has changed. A run that
 * is being recorded may be slightly behind.
 */
export class RunCards {
  readonly #entries = new Map<string, Entry>()
  #reading: Promise<readonly Card[]> | undefined

  constructor(private readonly store: RunStore) {}

  /** Newest first. Concurrent calls share one read. */
  list(): Promise<readonly Card[]> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  /**
   * Runs whose rows are outdated, with their current stamps; empty if the last list is still
   * current. An idle run may have ended since.
   */
  behind(stamps: ReadonlyMap<string, TapeStamp>): string {
    return [...this.#entries.keys()]
      .flatMap((id) => {
        const stamp = stamps.get(id)
        return stamp === undefined || this.#isCurrent(id, stamp) ? [] : [`${id} ${stamp.text}`]
      })
      .join()
  }

  async #read(): Promise<readonly Card[]> {
    const stamps = stampsOf(this.store)
    for (const id of this.#entries.keys()) if (!stamps.has(id)) this.#entries.delete(id)
    let sliceStart = performance.now()
    for (const [id, stamp] of stamps) {
      if (this.#isCurrent(id, stamp)) continue
      const start = performance.now()
      const { path: _path, ...summary } = indexedSummary(this.store, id, stamp)
      const now = performance.now()
      this.#entries.set(id, {
        stamp: stamp.text,
        card: summary,
        restUntil: now + 10 * (now - start),
      })
      if (performance.now() - sliceStart < SLICE_MS) continue
      await new Promise((resolve) => setImmediate(resolve))
      sliceStart = performance.now()
    }
    this.store.index.save(new Set(stamps.keys()))
    const cards = [...this.#entries.values()].map(({ card }) => card)
    return cards.toSorted((a, b) => startOf(b) - startOf(a) || (a.id < b.id ? 1 : -1))
  }

  #isCurrent(id: string, stamp: TapeStamp): boolean {
    const entry = this.#entries.get(id)
    if (entry === undefined) return false
    const isOpen = 'status' in entry.card && entry.card.status === 'recording'
    // A killed process leaves its tape unchanged.
    const hasEnded = isOpen && !isRecording(this.store.pathOf(id), 'function')
    if (entry.stamp === stamp.text && !hasEnded) return true
    return isOpen && performance.now() < entry.restUntil
  }
}

/** Sorts an unreadable tape by its name. */
function startOf(card: Card): number {
  if ('startedAt' in card) return card.startedAt
  const [, ...parts] = /^(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)/.exec(card.id) ?? []
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = parts.map(Number)
  return parts.length === 0 ? 0 : Date.UTC(year, month - 1, day, hour, minute, second)
}

/** Changes within this time are handled together. */
const GATHER_MS = 50
/** Polling interval: for systems without notifications, and for killed processes. */
const LOOK_MS = 1000
/** Minimum interval between list updates while runs only grow. */
const LIST_MS = 1000

type Notify = (change: RepositoryChange) => void

/**
 * Watches a folder of runs while there are listeners: runs that appear, disappear, grow and end.
 * Reads only runs that are being viewed, and no faster than their size allows.
 */
export class RunWatch {
  #reportedBehind = ''
  readonly #listeners = new Set<Notify>()
  #known: ReadonlyMap<string, TapeStamp> = new Map()
  #system: FSWatcher | undefined
  readonly #timers = new Map<string, NodeJS.Timeout>()

  /**
   * `findings`: results that may have changed since they were returned. `behind`: outdated rows of
   * the list as text; empty if there are none.
   */
  constructor(
    private readonly store: RunStore,
    private readonly models: RunModels,
    private readonly findings: ReadonlyMap<
      string,
      Pick<StoredFindings<unknown>, 'changed'>
    > = new Map(),
    private readonly behind: (stamps: ReadonlyMap<string, TapeStamp>) => string = () => '',
  ) {
    models.onChange = (run, version) => {
      this.notify({ type: 'grew', run, ...version })
      if (version.status !== 'recording') this.notify({ type: 'runs' })
    }
  }

  /** Returns an unsubscribe function. */
  watch(notify: Notify): () => void {
    this.#listeners.add(notify)
    if (this.#listeners.size === 1) {
      this.#known = stampsOf(this.store)
      this.#watchFolder()
      this.#look()
    }
    return () => {
      if (this.#listeners.delete(notify) && this.#listeners.size === 0) {
        for (const timer of this.#timers.values()) clearTimeout(timer)
        this.#timers.clear()
        this.#system?.close()
        this.#system = undefined
      }
    }
  }

  notify(change: RepositoryChange): void {
    for (const notify of this.#listeners) notify(change)
  }

  /** Runs once after a delay, however often it is called. */
  #soon(what: 'look' | 'gather' | 'read' | 'list', ms: number, run: () => void): void {
    if (this.#timers.has(what)) return
    const timer = setTimeout(() => {
      this.#timers.delete(what)
      run()
    }, ms)
    this.#timers.set(what, timer.unref())
  }

  /** Polling is enough if there is no folder or it cannot be watched. */
  #watchFolder(): void {
    if (this.#system !== undefined) return
    try {
      const system = watch(this.store.folder, { persistent: false }, () =>
        this.#soon('gather', GATHER_MS, () => this.#look()),
      )
      system.on('error', () => {
        system.close()
        if (this.#system === system) this.#system = undefined
      })
      this.#system = system
    } catch {
      this.#system = undefined
    }
  }

  #look(): void {
    const before = this.#known
    const now = (this.#known = stampsOf(this.store))
    const gone = [...before.keys()].filter((id) => !now.has(id))
    const come = [...now.keys()].filter((id) => !before.has(id))
    for (const run of gone) this.notify({ type: 'gone', run })
    for (const run of come) this.#notifyBack(run)
    if (gone.length > 0 || come.length > 0) this.notify({ type: 'runs' })
    else if (
      [...now].some(([id, { text }]) => before.get(id)?.text !== text) ||
      this.#isBehind(now)
    )
      this.#soon('list', LIST_MS, () => this.notify({ type: 'runs' }))
    // Findings are in another folder, which is only polled.
    for (const [tab, found] of this.findings)
      for (const run of found.changed()) this.notify({ type: 'findings', tab, run })
    this.#readOutdated()
    this.#soon('look', LOOK_MS, () => {
      this.#watchFolder()
      this.#look()
    })
  }

  /** True if the set of outdated rows has changed and is not empty. */
  #isBehind(stamps: ReadonlyMap<string, TapeStamp>): boolean {
    const notified = this.#reportedBehind
    this.#reportedBehind = this.behind(stamps)
    return this.#reportedBehind !== '' && this.#reportedBehind !== notified
  }

  /** Reports a run that reappeared after it was reported as gone, even if it is unchanged. */
  #notifyBack(run: string): void {
    if (!this.models.wasRead(run)) return
    try {
      const { tape, status } = this.models.open(run).model
      this.notify({ type: 'grew', run, events: tape.count, status })
    } catch {
      // Not readable (yet). A request for it gets the error.
    }
  }

  /** Reads one run at a time. The models report changes. */
  #readOutdated(): void {
    const [next] = this.models.outdated().toSorted((a, b) => a.restMs - b.restMs)
    if (next === undefined) return
    this.#soon('read', next.restMs, () => {
      try {
        this.models.open(next.id)
      } catch {
        // Gone, or no longer readable. A request for it gets the error.
        this.notify({ type: 'runs' })
      }
      this.#readOutdated()
    })
  }
}
