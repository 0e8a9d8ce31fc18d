import type {
  CheckpointEntry,
  PendingWriteEntry,
  SavedEntry,
  WritesEntry,
} from './checkpoint-entry.js'

/** A write that waits for its step, with the task it is of. */
export interface PendingWrite extends PendingWriteEntry {
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
export class CheckpointStore {
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
