/** The longest round of calls that is seen as one. */
export const LONGEST_ROUND = 16

interface Answered {
  readonly fingerprint: string
  readonly answer: string
}

/**
 * Sees when calls go round in circles: the same call, or the same round of calls,
 * with the same results, `repeats` times in a row. What differs once ends it, and only
 * that: of a round that was stopped, no call goes on. Calls under way at the same time
 * have no result yet and are no loop.
 */
export class LoopWatch {
  /** The latest answers, by their number modulo the longest round. */
  readonly #latest: Answered[] = []
  #count = 0
  /** By length of the round: how many answers in a row are those of one round before. */
  readonly #same = Array.from({ length: LONGEST_ROUND + 1 }, () => 0)

  /** The round that was stopped last, until something else comes of a call. */
  #stopped: readonly Answered[] = []

  constructor(readonly repeats: number) {}

  /** A call has its result. */
  add(fingerprint: string, answer: string): void {
    const isOf = (each: Answered) => each.fingerprint === fingerprint && each.answer === answer
    if (!this.#stopped.some(isOf)) this.#stopped = []
    for (let round = 1; round <= LONGEST_ROUND; round += 1) {
      const before = this.#ago(round)
      const isSame = before?.fingerprint === fingerprint && before.answer === answer
      this.#same[round] = isSame ? (this.#same[round] ?? 0) + 1 : 0
    }
    this.#latest[this.#count % LONGEST_ROUND] = { fingerprint, answer }
    this.#count += 1
  }

  /** How many calls the loop has that this call would go on with; undefined when there is none. */
  roundOf(fingerprint: string): number | undefined {
    if (this.#stopped.some((each) => each.fingerprint === fingerprint)) return this.#stopped.length
    for (let round = 1; round <= LONGEST_ROUND; round += 1) {
      const before = this.#ago(round)
      if (before === undefined) return undefined
      // One round that was never repeated is no loop yet, but for a single call that may be made once.
      const times = round === 1 ? this.repeats : Math.max(2, this.repeats)
      const isRepeated = (this.#same[round] ?? 0) >= round * (times - 1)
      if (isRepeated && before.fingerprint === fingerprint) {
        this.#stopped = this.#lastOnes(round)
        return round
      }
    }
    return undefined
  }

  #lastOnes(calls: number): readonly Answered[] {
    return Array.from({ length: calls }, (_, index) => this.#ago(index + 1) ?? []).flat()
  }

  #ago(calls: number): Answered | undefined {
    return this.#count < calls ? undefined : this.#latest[(this.#count - calls) % LONGEST_ROUND]
  }
}
