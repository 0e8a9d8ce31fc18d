import { watch, type FSWatcher } from 'node:fs'
import type { RepositoryChange } from '@retake/web'
import type { RunStore } from '../../runs/run-store.js'
import { type RunModels, stampsOf, type TapeStamp } from './run-models.js'

/** Changes of the disk within this are looked at together. */
const GATHER_MS = 50
/** Looked at without being told to: where the system tells nothing, and for processes that were killed. */
const LOOK_MS = 1000
/** The list is told anew at most this often when runs only grow. */
const LIST_MS = 1000

type Tell = (change: RepositoryChange) => void

/**
 * Watches a folder of runs while somebody listens: runs that come, go, grow and end.
 * Reads only runs that are looked at, and no faster than their size allows.
 */
export class RunWatch {
  readonly #store: RunStore
  readonly #models: RunModels
  readonly #otherFindings: () => readonly string[]
  readonly #behind: (stamps: ReadonlyMap<string, TapeStamp>) => string
  #toldBehind = ''
  readonly #listeners = new Set<Tell>()
  #known: ReadonlyMap<string, TapeStamp> = new Map()
  #system: FSWatcher | undefined
  readonly #timers = new Map<string, NodeJS.Timeout>()

  /**
   * `otherFindings`: runs of which blame has found something else than was handed out.
   * `behind`: lines of the list of which the same is true, as a text; empty when there are none.
   */
  constructor(
    store: RunStore,
    models: RunModels,
    otherFindings: () => readonly string[] = () => [],
    behind: (stamps: ReadonlyMap<string, TapeStamp>) => string = () => '',
  ) {
    this.#store = store
    this.#models = models
    this.#otherFindings = otherFindings
    this.#behind = behind
    models.onChange = (run, version) => {
      this.tell({ type: 'grew', run, ...version })
      if (version.status !== 'recording') this.tell({ type: 'runs' })
    }
  }

  /** Until the answer is called. */
  watch(tell: Tell): () => void {
    this.#listeners.add(tell)
    if (this.#listeners.size === 1) this.#start()
    return () => {
      if (this.#listeners.delete(tell) && this.#listeners.size === 0) this.#stop()
    }
  }

  tell(change: RepositoryChange): void {
    for (const tell of this.#listeners) tell(change)
  }

  #start(): void {
    this.#known = stampsOf(this.#store)
    this.#askSystem()
    this.#look()
  }

  #stop(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer)
    this.#timers.clear()
    this.#system?.close()
    this.#system = undefined
  }

  /** Once after a while, however often it is asked for. */
  #soon(what: 'look' | 'gather' | 'read' | 'list', ms: number, run: () => void): void {
    if (this.#timers.has(what)) return
    const timer = setTimeout(() => {
      this.#timers.delete(what)
      run()
    }, ms)
    this.#timers.set(what, timer.unref())
  }

  /** Where there is no folder yet, or the system cannot watch it, looking is enough. */
  #askSystem(): void {
    if (this.#system !== undefined) return
    try {
      const system = watch(this.#store.folder, { persistent: false }, () =>
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
    const now = (this.#known = stampsOf(this.#store))
    const gone = [...before.keys()].filter((id) => !now.has(id))
    const come = [...now.keys()].filter((id) => !before.has(id))
    for (const run of gone) this.tell({ type: 'gone', run })
    for (const run of come) this.#tellBack(run)
    if (gone.length > 0 || come.length > 0) this.tell({ type: 'runs' })
    else if (
      [...now].some(([id, { text }]) => before.get(id)?.text !== text) ||
      this.#isBehind(now)
    )
      this.#soon('list', LIST_MS, () => this.tell({ type: 'runs' }))
    // They stand in another folder, which the system is not asked about: a second later is soon enough.
    for (const run of this.#otherFindings()) this.tell({ type: 'blame', run })
    this.#readOutdated()
    this.#soon('look', LOOK_MS, () => {
      this.#askSystem()
      this.#look()
    })
  }

  /** Lines of the list wait to be read anew, and nobody was told of them as they are now. */
  #isBehind(stamps: ReadonlyMap<string, TapeStamp>): boolean {
    const told = this.#toldBehind
    this.#toldBehind = this.#behind(stamps)
    return this.#toldBehind !== '' && this.#toldBehind !== told
  }

  /** Who was told that a run is gone is told when it is there again, even if it is as it was. */
  #tellBack(run: string): void {
    if (!this.#models.wasRead(run)) return
    try {
      const { tape, status } = this.#models.open(run).model
      this.tell({ type: 'grew', run, events: tape.count, status })
    } catch {
      // Not readable, or not yet: whoever asks for it is told why.
    }
  }

  /** One at a time; the models tell what they find. */
  #readOutdated(): void {
    const [next] = this.#models.outdated().toSorted((a, b) => a.restMs - b.restMs)
    if (next === undefined) return
    this.#soon('read', next.restMs, () => {
      try {
        this.#models.open(next.id)
      } catch {
        // Gone, or not readable any more: whoever asks for it is told why.
        this.tell({ type: 'runs' })
      }
      this.#readOutdated()
    })
  }
}
