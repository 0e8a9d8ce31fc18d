/** `retake/langgraph`: a checkpointer whose checkpoints are part of the tape. */
import type { RunnableConfig } from '@langchain/core/runnables'
import {
  BaseCheckpointSaver,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointPendingWrite,
  type CheckpointTuple,
  copyCheckpoint,
  type PendingWrite,
  type SerializerProtocol,
  WRITES_IDX_MAP,
} from '@langchain/langgraph-checkpoint'
import { currentRun, type CurrentRun, outsideRuns } from '@retake/engine'
import { cliErrors } from '@retake/runner/errors'
import { requireVersion } from './adapter.js'
import { openTape } from '@retake/tape/node'
import type { Tape } from '@retake/tape'

type Saved = CheckpointEntry & { readonly seq?: number }

class CheckpointThread {
  /** Checkpoints, and entries with one write each. */
  readonly #entries = new Map<string, Saved | WritesEntry>()

  get namespaces(): string[] {
    return [...new Set(this.entries().map(({ namespace }) => namespace))]
  }

  entries(): (Saved | WritesEntry)[] {
    return [...this.#entries.values()]
  }

  /** Newest first: ids grow with time. */
  checkpoints(namespace: string): Saved[] {
    return this.entries()
      .filter((each) => each.kind === 'checkpoint')
      .filter((each) => each.namespace === namespace)
      .toSorted((a, b) => (a.id < b.id ? 1 : a.id > b.id ? -1 : 0))
  }

  writes({ namespace, id }: CheckpointEntry): WritesEntry[] {
    return this.entries()
      .filter((each) => each.kind === 'writes')
      .filter((each) => each.namespace === namespace && each.id === id)
  }

  apply(entry: SavedEntry): void {
    if (entry.kind === 'deleted') this.#entries.clear()
    else if (entry.kind === 'checkpoint')
      this.#entries.set(JSON.stringify([entry.namespace, entry.id]), entry)
    else
      for (const write of entry.writes) {
        const key = JSON.stringify([entry.namespace, entry.id, entry.task, write.index])
        // Existing writes stay, except LangGraph's own, such as an error, which are replaced.
        if (write.index < 0 || !this.#entries.has(key))
          this.#entries.set(key, { ...entry, writes: [write] })
      }
  }
}

class CheckpointStore extends Map<string, CheckpointThread> {
  thread(id: string): CheckpointThread {
    const thread = this.get(id) ?? new CheckpointThread()
    this.set(id, thread)
    return thread
  }

  apply(entry: SavedEntry): void {
    this.thread(entry.thread).apply(entry)
  }
}

const ATTACHMENT = 'langgraph checkpoint'
/** Name of the recorded state of a thread when the run first reads it. */
const FOUND = 'langgraph.thread'

const stores = new WeakMap<Tape, CheckpointStore>()

/** The checkpoints of the run on a tape, including those its threads began with. */
function readCheckpoints(tape: Tape): CheckpointStore {
  const known = stores.get(tape)
  if (known !== undefined) return known
  const store = new CheckpointStore()
  for (const event of tape.events(1)) {
    const { seq } = event
    if (event.type === 'draw' && event.kind === FOUND)
      for (const entry of event.value as SavedEntry[]) store.apply({ ...entry, seq })
    else if (event.type === 'note' && event.kind === 'attachment' && event.name === ATTACHMENT)
      store.apply({ ...(JSON.parse(Buffer.from(tape.body(seq)).toString()) as SavedEntry), seq })
  }
  stores.set(tape, store)
  return store
}

/** The threads as one run sees them, and entries that the process does not know yet. */
interface RunView {
  readonly store: CheckpointStore
  unshared: SavedEntry[]
}

/**
 * Stores checkpoints in memory and, inside of a run, also on its tape. Checkpoints that a thread
 * had before the run are recorded when they are first read, so that a replay finds them. A replay
 * changes nothing outside of itself.
 */
class CheckpointBook {
  readonly #shared = new CheckpointStore()
  readonly #views = new WeakMap<object, RunView>()
  #unread: string | undefined

  /** `tape`: a run whose checkpoints exist from the start. Read on demand. */
  constructor(tape: string | undefined) {
    this.#unread = tape
  }

  thread(id: string): CheckpointThread {
    const run = currentRun()
    return run === undefined ? this.#known().thread(id) : this.#viewOf(run, id).store.thread(id)
  }

  /** Ids of all threads visible to the caller. */
  get threads(): readonly string[] {
    const run = currentRun()
    if (run === undefined) return [...this.#known().keys()]
    return run.draw('langgraph.threads', () => outsideRuns(() => [...this.#before(run).keys()]))
  }

  add(entry: SavedEntry): void {
    const run = currentRun()
    if (run === undefined) return this.#known().apply(entry)
    const view = this.#viewOf(run, entry.thread)
    view.store.apply(entry)
    view.unshared.push(entry)
    run.attach(ATTACHMENT, entry)
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

  /** State before the run; for a program served from a tape, the state on it. */
  #before({ answers }: CurrentRun): CheckpointStore {
    return answers === undefined ? this.#known() : readCheckpoints(answers.tape)
  }

  #known(): CheckpointStore {
    const path = this.#unread
    this.#unread = undefined
    if (path === undefined) return this.#shared
    const store = outsideRuns(() => readCheckpoints(openTape(path)))
    for (const thread of store.values())
      for (const entry of thread.entries()) this.#shared.apply(entry)
    return this.#shared
  }
}

interface PackedValue {
  readonly type: string
  readonly text: string
}

interface CheckpointEntry {
  readonly kind: 'checkpoint'
  readonly thread: string
  readonly namespace: string
  readonly id: string
  readonly parent?: string
  readonly checkpoint: PackedValue
  readonly metadata: PackedValue
}

/** Writes of a task after a checkpoint, before the step has ended. */
interface WritesEntry {
  readonly kind: 'writes'
  readonly thread: string
  readonly namespace: string
  readonly id: string
  readonly task: string
  readonly writes: readonly {
    readonly channel: string
    /** Index among the writes of the task; negative for LangGraph's own, which change. */
    readonly index: number
    readonly value: PackedValue
  }[]
}

/** An entry as stored on a tape. `seq`: its event, if it was read from a tape. */
type SavedEntry = (
  | CheckpointEntry
  | WritesEntry
  /** All checkpoints of the thread were deleted. */
  | { readonly kind: 'deleted'; readonly thread: string }
) & { readonly seq?: number }

const encodingOf = (type: string): BufferEncoding => (type === 'json' ? 'utf8' : 'base64')

export interface TapeSaverOptions {
  /** A tape whose checkpoints exist from the start: to read a recorded run, or to continue it. */
  readonly tape?: string
  readonly serde?: SerializerProtocol
}

/**
 * A checkpointer for LangGraph whose checkpoints are part of the run's tape.
 *
 * - In a recorded run it writes each checkpoint to the tape. A replay has the same checkpoints.
 * - In `answerFrom(tape, …)` it starts with the checkpoints of that tape: returning to one of them
 *   also rewinds the answers, to the requests after it.
 * - Elsewhere it stores checkpoints in memory, starting with those of `tape`.
 *
 * It is not a database: processes do not share checkpoints.
 */
export class TapeSaver extends BaseCheckpointSaver {
  readonly #book: CheckpointBook

  constructor({ tape, serde }: TapeSaverOptions = {}) {
    super(serde)
    requireVersion({ package: '@langchain/langgraph-checkpoint', from: '1.0', to: '1' })
    this.#book = new CheckpointBook(tape)
  }

  async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const { thread, namespace = '', id } = readConfig(config)
    if (thread === undefined) return undefined
    const saved = this.#book.thread(thread)
    const entry = saved.checkpoints(namespace).find((each) => id === undefined || each.id === id)
    if (entry === undefined) return undefined
    // A graph that goes back to a checkpoint repeats the requests after it.
    if (id !== undefined && namespace === '' && entry.seq !== undefined)
      currentRun()?.answers?.rewindTo(entry.seq)
    return this.#tuple(saved, entry, id === undefined ? configOf(entry, entry.id) : config)
  }

  async *list(
    config: RunnableConfig,
    options: CheckpointListOptions = {},
  ): AsyncGenerator<CheckpointTuple> {
    const { thread, namespace, id } = readConfig(config)
    const before = options.before && readConfig(options.before).id
    let left = options.limit ?? Number.POSITIVE_INFINITY
    for (const each of thread === undefined ? this.#book.threads : [thread]) {
      const saved = this.#book.thread(each)
      for (const name of namespace === undefined ? saved.namespaces : [namespace]) {
        for (const entry of saved.checkpoints(name)) {
          if (left <= 0) return
          if ((id !== undefined && entry.id !== id) || (before !== undefined && entry.id >= before))
            continue
          const tuple = await this.#tuple(saved, entry, configOf(entry, entry.id))
          const metadata = tuple.metadata as Record<string, unknown> | undefined
          const filter = Object.entries(options.filter ?? {})
          if (!filter.every(([key, value]) => metadata?.[key] === value)) continue
          left -= 1
          yield tuple
        }
      }
    }
  }

  async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
  ): Promise<RunnableConfig> {
    const { thread, namespace = '', id: parent } = readConfig(config)
    if (thread === undefined) throw cliErrors.CHECKPOINT_NEEDS_THREAD()
    const entry: CheckpointEntry = {
      kind: 'checkpoint',
      thread,
      namespace,
      id: checkpoint.id,
      ...(parent !== undefined && { parent }),
      checkpoint: await this.#pack(copyCheckpoint(checkpoint)),
      metadata: await this.#pack(metadata),
    }
    this.#book.add(entry)
    return configOf(entry, checkpoint.id)
  }

  async putWrites(config: RunnableConfig, writes: PendingWrite[], task: string): Promise<void> {
    const { thread, namespace = '', id } = readConfig(config)
    if (thread === undefined || id === undefined) throw cliErrors.CHECKPOINT_NEEDS_THREAD()
    const packed = await Promise.all(
      writes.map(async ([channel, value], position) => ({
        channel,
        index: WRITES_IDX_MAP[channel] ?? position,
        value: await this.#pack(value),
      })),
    )
    this.#book.add({ kind: 'writes', thread, namespace, id, task, writes: packed })
  }

  async deleteThread(threadId: string): Promise<void> {
    this.#book.add({ kind: 'deleted', thread: threadId })
  }

  async #tuple(
    saved: CheckpointThread,
    entry: CheckpointEntry,
    config: RunnableConfig,
  ): Promise<CheckpointTuple> {
    const pendingWrites = await Promise.all(
      saved
        .writes(entry)
        .flatMap(({ task, writes }) => writes.map((write) => ({ task, ...write })))
        .map(async ({ task, channel, value }): Promise<CheckpointPendingWrite> => [
          task,
          channel,
          await this.#unpack(value),
        ]),
    )
    return {
      config,
      checkpoint: (await this.#unpack(entry.checkpoint)) as Checkpoint,
      metadata: (await this.#unpack(entry.metadata)) as CheckpointMetadata,
      pendingWrites,
      ...(entry.parent !== undefined && { parentConfig: configOf(entry, entry.parent) }),
    }
  }

  async #pack(value: unknown): Promise<PackedValue> {
    const [type, bytes] = await this.serde.dumpsTyped(value)
    return { type, text: Buffer.from(bytes).toString(encodingOf(type)) }
  }

  async #unpack({ type, text }: PackedValue): Promise<unknown> {
    const bytes = new Uint8Array(Buffer.from(text, encodingOf(type)))
    return (await this.serde.loadsTyped(type, bytes)) as unknown
  }
}

function readConfig({ configurable = {} }: RunnableConfig) {
  const { thread_id: thread, checkpoint_ns: namespace, checkpoint_id: id } = configurable
  const text = (value: unknown): string | undefined =>
    typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
  return { thread: text(thread), namespace: text(namespace), id: text(id) || undefined }
}

const configOf = ({ thread, namespace }: CheckpointEntry, id: string): RunnableConfig => ({
  configurable: { thread_id: thread, checkpoint_ns: namespace, checkpoint_id: id },
})
