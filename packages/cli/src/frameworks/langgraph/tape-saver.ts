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
import { currentRun } from '@retake/engine'
import { cliErrors } from '../../errors.js'
import { requireVersion } from '../supported-version.js'
import {
  CheckpointBook,
  type CheckpointEntry,
  type CheckpointThread,
  pack,
  type PackedValue,
  unpack,
} from './checkpoint-book.js'

export interface TapeSaverOptions {
  /** A tape whose checkpoints are there from the beginning: to look at a recorded run, or to go on from it. */
  readonly tape?: string
  readonly serde?: SerializerProtocol
}

/**
 * A checkpointer for LangGraph whose checkpoints are part of the run's tape.
 *
 * - In a recorded run it writes each checkpoint to the tape. On replay it gives the
 *   same ones again.
 * - In `answerFrom(tape, …)` it starts with the checkpoints of that tape: going back
 *   to one of them also goes back in the answers, to what was asked after it.
 * - Elsewhere it keeps checkpoints in memory, beginning with those of `tape`.
 *
 * It is no database: what several processes do is not put together.
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
    const entry =
      id === undefined ? saved.checkpoints(namespace)[0] : saved.checkpoint(namespace, id)
    if (entry === undefined) return undefined
    // A graph that is sent back to a checkpoint asks again what it asked after it.
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
          if (!fits(tuple.metadata, options.filter)) continue
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
      writes.map(async ([channel, value], place) => ({
        channel,
        index: WRITES_IDX_MAP[channel] ?? place,
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
        .writes(entry.namespace, entry.id)
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
    return pack(await this.serde.dumpsTyped(value))
  }

  async #unpack(value: PackedValue): Promise<unknown> {
    return (await this.serde.loadsTyped(...unpack(value))) as unknown
  }
}

interface Wanted {
  readonly thread: string | undefined
  readonly namespace: string | undefined
  readonly id: string | undefined
}

function readConfig({ configurable = {} }: RunnableConfig): Wanted {
  const { thread_id: thread, checkpoint_ns: namespace, checkpoint_id: id } = configurable
  const text = (value: unknown): string | undefined =>
    typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
  return { thread: text(thread), namespace: text(namespace), id: text(id) || undefined }
}

const configOf = ({ thread, namespace }: CheckpointEntry, id: string): RunnableConfig => ({
  configurable: { thread_id: thread, checkpoint_ns: namespace, checkpoint_id: id },
})

const fits = (
  metadata: CheckpointMetadata | undefined,
  filter: CheckpointListOptions['filter'] = {},
): boolean =>
  Object.entries(filter).every(
    ([key, value]) => (metadata as Record<string, unknown> | undefined)?.[key] === value,
  )
