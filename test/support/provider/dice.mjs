import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Where the provider's chance comes from: one seed gives one sequence of
 * draws. Requests that arrive at the same time draw in the order they arrive,
 * so a seed repeats a sequential conversation, not a race.
 */
export class Dice {
  #state

  /** @param {number} [seed] Without it, every provider is different. */
  constructor(seed = Math.floor(Math.random() * 2 ** 32)) {
    this.seed = seed
    this.#state = seed >>> 0
  }

  /** A number in [0, 1) (mulberry32). */
  roll() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number from `low` to `high`, both included. @param {number} low @param {number} high */
  between(low, high) {
    return low + Math.floor(this.roll() * (high - low + 1))
  }

  /** True with this probability. @param {number} probability */
  chance(probability) {
    return this.roll() < probability
  }

  /** One of the items. @template T @param {readonly T[]} items @returns {T} */
  pick(items) {
    return items[this.between(0, items.length - 1)]
  }

  /** An id as providers make them: prefix and 24 letters or digits. @param {string} prefix */
  id(prefix) {
    const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'
    return (
      prefix +
      Array.from({ length: 24 }, () => letters[this.between(0, letters.length - 1)]).join('')
    )
  }

  /** Waits a random time of at most this long. @param {number} maxMs */
  async pause(maxMs) {
    await sleep(this.roll() * maxMs)
  }
}
