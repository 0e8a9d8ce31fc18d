import { Budget } from './budget.js'

const MINUTE_MS = 60_000

/**
 * A budget for any sixty seconds. What a call uses counts from the moment it ends,
 * and while it runs it is reserved: so the sum holds wherever the minute is laid.
 */
export class MinuteBudget extends Budget {
  /** What was spent when, oldest first, in whole milliseconds rounded up. */
  readonly #spent: { readonly at: number; amount: number; earlier: number }[] = []
  #oldest = 0

  spendAt(now: number, amount: number, earlier = 0): void {
    if (amount === 0) return
    const at = Math.ceil(now)
    const last = this.#spent.at(-1)
    // What is said to have been earlier than it was would be forgotten too early: it is put later.
    if (last !== undefined && last.at >= at) {
      last.amount += amount
      last.earlier += earlier
    } else this.#spent.push({ at, amount, earlier })
    this.spent += amount
    this.earlier += earlier
  }

  /** An earlier run spent it at that moment, which may lie before this process. */
  restoreAt(at: number, amount: number): void {
    this.spendAt(at, amount, amount)
  }

  /** Forgets what is more than a minute ago. */
  passTo(now: number): void {
    let first = this.#spent[this.#oldest]
    while (first !== undefined && first.at + MINUTE_MS <= now) {
      this.spent -= first.amount
      this.earlier -= first.earlier
      this.#oldest += 1
      first = this.#spent[this.#oldest]
    }
    if (this.#oldest > 1_000 && this.#oldest * 2 > this.#spent.length)
      this.#oldest -= this.#spent.splice(0, this.#oldest).length
  }

  /** Milliseconds until so much is free if nothing else is spent; undefined when that is not known. */
  waitFor(amount: number, now: number): number | undefined {
    let missing = this.spent + this.reserved + amount - this.cap
    for (let at = this.#oldest; at < this.#spent.length; at += 1) {
      if (missing <= 0) break
      const entry = this.#spent[at]
      if (entry === undefined) break
      missing -= entry.amount
      if (missing <= 0) return entry.at + MINUTE_MS - now
    }
    return undefined
  }
}
