/** How many of the last calls are looked back on, at most. */
export const LOOK_BACK_LIMIT = 10_000

/**
 * Counts the calls of one kind in a run, so that nobody has to look through them:
 * how many there were, and the numbers of the last few.
 */
export class CallCounter {
  #total = 0
  /** Under way: they count until it is known that they never started. */
  readonly #pending = new Set<number>()
  /** Numbers of the last calls, the latest last; only as many as are asked about. */
  readonly #last: number[] = []

  constructor(readonly capacity: number) {}

  begin(number: number): void {
    this.#pending.add(number)
  }

  /** The call that began with this number is over; or one that nobody saw begin was made. */
  settle(number: number, isCounted: boolean): void {
    this.#pending.delete(number)
    if (!isCounted) return
    this.#total += 1
    if (this.capacity === 0) return
    let at = this.#last.length
    while (at > 0 && (this.#last[at - 1] ?? 0) > number) at -= 1
    this.#last.splice(at, 0, number)
    if (this.#last.length > this.capacity) this.#last.shift()
  }

  /** The call of this number was none: those after it move up by one. */
  closeGap(number: number): void {
    const moved = [...this.#pending].map((each) => (each > number ? each - 1 : each))
    this.#pending.clear()
    for (const each of moved) this.#pending.add(each)
    for (let at = this.#last.length - 1; at >= 0 && (this.#last[at] ?? 0) > number; at -= 1)
      this.#last[at] = (this.#last[at] ?? 0) - 1
  }

  /** True if there were so many; with `since`, among calls with that number and later ones. */
  hasAtLeast(count: number, since: number | undefined): boolean {
    if (since === undefined) return this.#total + this.#pending.size >= count
    let found = 0
    for (let at = this.#last.length - 1; at >= 0 && (this.#last[at] ?? 0) >= since; at -= 1)
      found += 1
    if (found >= count) return true
    for (const number of this.#pending) if (number >= since) found += 1
    return found >= count
  }

  get total(): number {
    return this.#total + this.#pending.size
  }
}
