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
export interface DeletedEntry {
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
