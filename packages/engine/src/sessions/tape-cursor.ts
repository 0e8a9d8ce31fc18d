import { isDelivery, isEnvironmentNote } from '@retake/tape'
import type { Tape, TapeEvent } from '@retake/tape'

/** Where a replay stands on its tape. Notes and the seal are not part of what happens: they are passed over. */
export class TapeCursor {
  #seq = 1
  /** The event at `#seq`, once it was read: it is looked at several times before it happens. */
  #peeked: TapeEvent | undefined
  /** The run did not come to its own end: a signal killed it, or nothing is known about its end. */
  readonly isCut: boolean
  readonly #end: number

  readonly #passesOutput: boolean
  /** Called for each note about variables that it skips. */
  onEnvironment: ((seq: number) => void) | undefined

  /** `until`: the first event that is no longer served. `passesOutput`: output is passed over, too. */
  constructor(
    readonly tape: Tape,
    { until = tape.count, passesOutput = false }: { until?: number; passesOutput?: boolean } = {},
  ) {
    this.#end = until
    this.#passesOutput = passesOutput
    this.isCut = until < tape.count || isCutOff(tape)
  }

  get seq(): number {
    return this.#seq
  }

  /** The event that must happen next; undefined at the end of the tape. */
  peek(): TapeEvent | undefined {
    if (this.#peeked !== undefined) return this.#peeked
    for (; this.#seq < this.#end; this.#seq += 1) {
      const event = this.tape.event(this.#seq)
      if (isEnvironmentNote(event)) this.onEnvironment?.(event.seq)
      if (event.type === 'note' || (event.type === 'output' && this.#passesOutput)) continue
      if (!isOver(event)) this.#peeked = event
      return this.#peeked
    }
    return undefined
  }

  advance(): void {
    this.#seq += 1
    this.#peeked = undefined
  }

  /** Goes past the first event that fits, if it comes before the next delivery. */
  skipTo(fits: (event: TapeEvent) => boolean): TapeEvent | undefined {
    for (let seq = this.#seq; seq < this.#end; seq += 1) {
      const event = this.tape.event(seq)
      if (isDelivery(event)) return undefined
      if (!fits(event)) continue
      this.#seq = seq + 1
      this.#peeked = undefined
      return event
    }
    return undefined
  }
}

/** Nothing that a program does can be compared with these. */
const isOver = (event: TapeEvent): boolean =>
  event.type === 'seal' || (event.type === 'end' && event.signal !== undefined)

/** The run was killed: by a signal, or nothing is known about its end. */
export function isCutOff(tape: Tape): boolean {
  if (tape.status === 'truncated') return true
  const end = tape.event(Math.max(0, tape.count - (tape.status === 'sealed' ? 2 : 1)))
  return end.type === 'end' && end.signal !== undefined
}
