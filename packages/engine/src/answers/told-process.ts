import { bodyMismatches } from '../sessions/body-difference.js'
import type { Divergence } from '../sessions/divergence.js'
import type { RecordedAnswers } from './recorded-answers.js'

/**
 * What a recorded process was told, compared with what the agent tells it now, in
 * whatever pieces. Telling it less is fine until an answer waits for the rest.
 */
export class ToldProcess {
  readonly #writes: readonly number[]
  #next = 0
  #rest: Uint8Array = new Uint8Array(0)

  constructor(
    readonly recorded: RecordedAnswers,
    readonly op: number,
  ) {
    this.#writes = recorded.writes.get(op) ?? []
  }

  /** What is different, if something is. */
  compare(bytes: Uint8Array): Divergence | undefined {
    for (let at = 0; at < bytes.length;) {
      if (this.#rest.length === 0 && !this.#read()) return this.#other(undefined, bytes)
      const count = Math.min(this.#rest.length, bytes.length - at)
      const then = this.#rest.subarray(0, count)
      if (Buffer.compare(then, bytes.subarray(at, at + count)) !== 0)
        return this.#other(this.recorded.tape.body(this.#seq), bytes)
      this.#rest = this.#rest.subarray(count)
      at += count
    }
    return undefined
  }

  /** The event that is being compared with, or the process itself before the first one. */
  get #seq(): number {
    return this.#writes[this.#next - 1] ?? this.op
  }

  #read(): boolean {
    const seq = this.#writes[this.#next]
    if (seq === undefined) return false
    this.#next += 1
    this.#rest = this.recorded.tape.body(seq)
    return this.#rest.length > 0 || this.#read()
  }

  #other(recorded: Uint8Array | undefined, current: Uint8Array): Divergence {
    return {
      kind: 'different',
      seq: this.#seq,
      summary: 'the bytes written to a process differ',
      explanation:
        recorded === undefined
          ? 'It was told no more than that when recorded.'
          : 'The process of the tape was told something else.',
      recorded: this.recorded.tape.event(this.#seq),
      mismatches: bodyMismatches(recorded ?? new Uint8Array(0), current),
    }
  }
}
