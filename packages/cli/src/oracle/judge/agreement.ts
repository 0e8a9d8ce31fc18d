import type { Judgement } from '../oracle.js'

/** How often a judge said the same when its options were swapped. */
export class Agreement {
  #asked = 0
  #agreed = 0

  /** Judgements without votes, and those where the judge was silent, do not count. */
  add({ votes }: Judgement): void {
    if (votes === undefined || votes.includes('undefined')) return
    this.#asked++
    if (votes.every((vote) => vote === votes[0])) this.#agreed++
  }

  /** Missing when nothing was judged. */
  get rate(): number | undefined {
    return this.#asked === 0 ? undefined : this.#agreed / this.#asked
  }

  /** `the judge agreed with itself 17 of 18 times`; nothing when it was not asked. */
  get text(): string | undefined {
    return this.#asked === 0
      ? undefined
      : `the judge agreed with itself ${this.#agreed} of ${this.#asked} times`
  }
}
