import type { GuardIntent } from '@retake/tape'

/**
 * Numbers the calls of a run. Calls made inside another call are counted apart for
 * each: when that one is served, or answered by the tape, they are not made at all.
 */
export class CallCounters {
  #calls = 0
  readonly #occurrences = new Map<string, number>()

  nextCall(): number {
    this.#calls += 1
    return this.#calls
  }

  nextOccurrence(fingerprint: string, within: string | undefined): number {
    const key = within === undefined ? fingerprint : `${within}/${fingerprint}`
    const occurrence = (this.#occurrences.get(key) ?? 0) + 1
    this.#occurrences.set(key, occurrence)
    return occurrence
  }

  /** A tape has decided about a call: those that follow are numbered on from it. */
  follow({ call, fingerprint, occurrence }: GuardIntent): void {
    this.#calls = Math.max(this.#calls, call)
    this.#occurrences.set(
      fingerprint,
      Math.max(this.#occurrences.get(fingerprint) ?? 0, occurrence),
    )
  }
}
