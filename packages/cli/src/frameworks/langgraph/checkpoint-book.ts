import { currentRun, outsideRuns } from '@retake/engine'
import type { CurrentRun } from '@retake/engine'
import { openTape } from '@retake/tape/node'
import type { SavedEntry } from './checkpoint-entry.js'
import { CheckpointStore } from './checkpoint-store.js'
import type { CheckpointThread } from './checkpoint-store.js'
import { FOUND, KEPT, readCheckpoints } from './read-checkpoints.js'

/** What one run sees of the threads, and what of it is not known to the process yet. */
interface RunView {
  readonly store: CheckpointStore
  unshared: SavedEntry[]
}

/**
 * Where checkpoints are kept. Outside of runs, in memory. Inside a run, on its
 * tape as well; and what a thread held before the run goes on the tape when it is
 * first looked at, so that a replay finds the same. A replay leaves no traces.
 */
export class CheckpointBook {
  readonly #shared = new CheckpointStore()
  readonly #views = new WeakMap<object, RunView>()
  #unread: string | undefined

  /** `tape`: a run whose checkpoints are there from the beginning. Read when they are needed. */
  constructor(tape: string | undefined) {
    this.#unread = tape
  }

  thread(id: string): CheckpointThread {
    const run = currentRun()
    return run === undefined ? this.#known().thread(id) : this.#viewOf(run, id).store.thread(id)
  }

  /** Ids of all threads that the caller can know of. */
  get threads(): readonly string[] {
    const run = currentRun()
    if (run === undefined) return this.#known().ids
    return run.draw('langgraph.threads', () => outsideRuns(() => this.#before(run).ids))
  }

  add(entry: SavedEntry): void {
    const run = currentRun()
    if (run === undefined) return this.#known().apply(entry)
    const view = this.#viewOf(run, entry.thread)
    view.store.apply(entry)
    view.unshared.push(entry)
    run.keep(KEPT, entry)
    if (run.isReplay) return
    for (const each of view.unshared) this.#shared.apply(each)
    view.unshared = []
  }

  #viewOf(run: CurrentRun, thread: string): RunView {
    const view = this.#views.get(run.key) ?? { store: new CheckpointStore(), unshared: [] }
    this.#views.set(run.key, view)
    if (view.store.has(thread)) return view
    const found = run.draw(FOUND, () =>
      outsideRuns(() => this.#before(run).thread(thread).entries()),
    )
    view.store.thread(thread)
    for (const entry of found) view.store.apply(entry)
    view.unshared.push(...found)
    return view
  }

  /** What was there before the run; for a program that a tape answers, what was on that tape. */
  #before({ answers }: CurrentRun): CheckpointStore {
    return answers === undefined ? this.#known() : readCheckpoints(answers.tape)
  }

  #known(): CheckpointStore {
    const path = this.#unread
    this.#unread = undefined
    if (path === undefined) return this.#shared
    const store = outsideRuns(() => readCheckpoints(openTape(path)))
    for (const id of store.ids)
      for (const entry of store.thread(id).entries()) this.#shared.apply(entry)
    return this.#shared
  }
}
