import { currentRun, type CurrentRun, outsideRuns } from '@retake/engine'
import { openTape } from '@retake/tape/node'
import type { Tape } from '@retake/tape'

/** A write that waits for its step, with the task it is of. */
interface PendingWrite extends PendingWriteEntry {
  readonly task: string
}

type Saved = CheckpointEntry & { readonly seq?: number }

/** The checkpoints of one thread, as its entries left them. */
export class CheckpointThread {
  readonly #checkpoints = new Map<string, Map<string, Saved>>()
  readonly #writes = new Map<string, Map<string, PendingWrite>>()

  constructor(readonly id: string) {}

  get namespaces(): string[] {
    return [...this.#checkpoints.keys()]
  }

  /** Newest first: ids grow with time. */
  checkpoints(namespace: string): Saved[] {
    const all = [...(this.#checkpoints.get(namespace)?.values() ?? [])]
    return all.toSorted((a, b) => (a.id < b.id ? 1 : a.id > b.id ? -1 : 0))
  }

  checkpoint(namespace: string, id: string): Saved | undefined {
    return this.#checkpoints.get(namespace)?.get(id)
  }

  writes(namespace: string, id: string): PendingWrite[] {
    return [...(this.#writes.get(keyOf(namespace, id))?.values() ?? [])]
  }

  /** Entries that lead to the same thread. */
  entries(): SavedEntry[] {
    const checkpoints = [...this.#checkpoints.values()].flatMap((saved) => [...saved.values()])
    const writes = [...this.#writes].flatMap(([key, all]) => {
      const [namespace, id] = JSON.parse(key) as [string, string]
      return [...all.values()].map(({ task, ...write }): WritesEntry => ({
        kind: 'writes',
        thread: this.id,
        namespace,
        id,
        task,
        writes: [write],
      }))
    })
    return [...checkpoints, ...writes]
  }

  apply(entry: SavedEntry): void {
    if (entry.kind === 'checkpoint') this.#put(entry)
    else if (entry.kind === 'writes') this.#putWrites(entry)
    else {
      this.#checkpoints.clear()
      this.#writes.clear()
    }
  }

  #put(entry: Saved): void {
    const saved = this.#checkpoints.get(entry.namespace) ?? new Map<string, Saved>()
    this.#checkpoints.set(entry.namespace, saved.set(entry.id, entry))
  }

  /** A write that is there stays; only LangGraph's own, like an error, are replaced. */
  #putWrites({ namespace, id, task, writes }: WritesEntry): void {
    const key = keyOf(namespace, id)
    const pending = this.#writes.get(key) ?? new Map<string, PendingWrite>()
    this.#writes.set(key, pending)
    for (const write of writes) {
      const place = `${task},${write.index}`
      if (write.index < 0 || !pending.has(place)) pending.set(place, { ...write, task })
    }
  }
}

/** Threads by id. */
class CheckpointStore {
  readonly #threads = new Map<string, CheckpointThread>()

  get ids(): string[] {
    return [...this.#threads.keys()]
  }

  has(id: string): boolean {
    return this.#threads.has(id)
  }

  thread(id: string): CheckpointThread {
    const known = this.#threads.get(id)
    if (known !== undefined) return known
    const thread = new CheckpointThread(id)
    this.#threads.set(id, thread)
    return thread
  }

  apply(entry: SavedEntry): void {
    this.thread(entry.thread).apply(entry)
  }
}

const keyOf = (namespace: string, id: string): string => JSON.stringify([namespace, id])

/** Under this name entries stand on a tape. */
const KEPT = 'langgraph checkpoint'
/** And this is drawn: what a thread held when the run first looked at it. */
const FOUND = 'langgraph.thread'

const stores = new WeakMap<Tape, CheckpointStore>()

/** The checkpoints of the run on a tape, with those that its threads began with. */
function readCheckpoints(tape: Tape): CheckpointStore {
  const known = stores.get(tape)
  if (known !== undefined) return known
  const store = new CheckpointStore()
  for (const event of tape.events(1)) {
    const { seq } = event
    if (event.type === 'draw' && event.kind === FOUND)
      for (const entry of event.value as SavedEntry[]) store.apply({ ...entry, seq })
    else if (event.type === 'note' && event.kind === 'kept' && event.name === KEPT)
      store.apply({ ...(JSON.parse(Buffer.from(tape.body(seq)).toString()) as SavedEntry), seq })
  }
  stores.set(tape, store)
  return store
}

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

/** A value as LangGraph's serializer writes it: text, or base64 of bytes. */
export interface PackedValue {
  readonly type: string
  readonly text: string
}

/** A state of a graph, saved between two of its steps. */
export interface CheckpointEntry {
  readonly kind: 'checkpoint'
  readonly thread: string
  readonly namespace: string
  readonly id: string
  /** Id of the checkpoint it follows. */
  readonly parent?: string
  readonly checkpoint: PackedValue
  readonly metadata: PackedValue
}

/** What a task of the step after a checkpoint has written, before the step was over. */
export interface WritesEntry {
  readonly kind: 'writes'
  readonly thread: string
  readonly namespace: string
  readonly id: string
  readonly task: string
  readonly writes: readonly PendingWriteEntry[]
}

export interface PendingWriteEntry {
  readonly channel: string
  /** Place among the writes of the task; below 0 for LangGraph's own, which may be overwritten. */
  readonly index: number
  readonly value: PackedValue
}

/** All checkpoints of a thread were deleted. */
interface DeletedEntry {
  readonly kind: 'deleted'
  readonly thread: string
}

/** What a saver was told; as it stands on a tape. `seq` is where, once it was read from one. */
export type SavedEntry = (CheckpointEntry | WritesEntry | DeletedEntry) & { readonly seq?: number }

/** Packs what `dumpsTyped` returns. */
export function pack([type, bytes]: [string, Uint8Array]): PackedValue {
  return { type, text: Buffer.from(bytes).toString(type === 'json' ? 'utf8' : 'base64') }
}

/** What `loadsTyped` takes. */
export function unpack({ type, text }: PackedValue): [string, Uint8Array] {
  return [type, new Uint8Array(Buffer.from(text, type === 'json' ? 'utf8' : 'base64'))]
}
