import type { RunCard, UnreadableRun } from '@retake/web'
import { isRecording, type RunStore } from '../../runs/run-store.js'
import { summarizeRun } from '../../runs/run-summary.js'
import { stampsOf, type TapeStamp } from './run-models.js'

type Card = RunCard | UnreadableRun

interface Entry {
  readonly stamp: string
  readonly card: Card
  /** Not read again before this, even if it has grown: reading may take a tenth of the time. */
  readonly restUntil: number
}

/** Other requests are answered after this much reading. */
const SLICE_MS = 20

/**
 * The list of runs. A tape is read in full for its line, once: after that only when
 * it has changed. One that is being recorded may be a moment behind.
 */
export class RunCards {
  readonly #store: RunStore
  readonly #entries = new Map<string, Entry>()
  #reading: Promise<readonly Card[]> | undefined

  constructor(store: RunStore) {
    this.#store = store
  }

  /** Newest first. Who asks while it is read waits for the same answer. */
  list(): Promise<readonly Card[]> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  /**
   * The runs whose lines would be read anew by now, with what they look like; empty as long
   * as the list is as it was handed out. A run that rested then may have come to its end since.
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
    const stamps = stampsOf(this.#store)
    for (const id of this.#entries.keys()) if (!stamps.has(id)) this.#entries.delete(id)
    let sliceStart = performance.now()
    for (const [id, stamp] of stamps) {
      if (this.#isCurrent(id, stamp)) continue
      this.#entries.set(id, this.#summarize(id, stamp))
      if (performance.now() - sliceStart < SLICE_MS) continue
      await new Promise((resolve) => setImmediate(resolve))
      sliceStart = performance.now()
    }
    const cards = [...this.#entries.values()].map(({ card }) => card)
    return cards.toSorted((a, b) => startOf(b) - startOf(a) || (a.id < b.id ? 1 : -1))
  }

  #isCurrent(id: string, stamp: TapeStamp): boolean {
    const entry = this.#entries.get(id)
    if (entry === undefined) return false
    const isOpen = 'status' in entry.card && entry.card.status === 'recording'
    // A process that was killed leaves its tape as it is.
    const hasEnded = isOpen && !isRecording(this.#store.pathOf(id), 'function')
    if (entry.stamp === stamp.text && !hasEnded) return true
    return isOpen && performance.now() < entry.restUntil
  }

  #summarize(id: string, stamp: TapeStamp): Entry {
    const start = performance.now()
    const { path: _path, ...summary } = summarizeRun(id, this.#store.pathOf(id))
    const now = performance.now()
    // The file's name is its address; a copy of a tape still says the name it had.
    const card = { ...summary, id } as Card
    return { stamp: stamp.text, card, restUntil: now + 10 * (now - start) }
  }
}

/** An unreadable tape stands where its name says. */
function startOf(card: Card): number {
  if ('startedAt' in card) return card.startedAt
  const [, ...parts] = /^(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)/.exec(card.id) ?? []
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = parts.map(Number)
  return parts.length === 0 ? 0 : Date.UTC(year, month - 1, day, hour, minute, second)
}
