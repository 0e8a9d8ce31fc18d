import type { Tape } from '@retake/tape'
import type { SavedEntry } from './checkpoint-entry.js'
import { CheckpointStore } from './checkpoint-store.js'

/** Under this name entries stand on a tape. */
export const KEPT = 'langgraph checkpoint'
/** And this is drawn: what a thread held when the run first looked at it. */
export const FOUND = 'langgraph.thread'

const stores = new WeakMap<Tape, CheckpointStore>()

/** The checkpoints of the run on a tape, with those that its threads began with. */
export function readCheckpoints(tape: Tape): CheckpointStore {
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
