import { seededRandom } from './seeded-random.js'
import type { PendingAnswer } from './pending-answer.js'

/** A choice against the recorded order: `chosen` came although `passed` had come first then. */
export interface Swap {
  /** How many choices were made before this one. */
  readonly pick: number
  /** Numbers of recorded deliveries. */
  readonly chosen: number
  readonly passed: number
}

export interface OrderOptions {
  /** 0 is the recorded order. */
  readonly seed: number
  /** After this many choices the recorded order goes on. */
  readonly picks?: number
}

/**
 * Chooses which of the answers that are ready comes next. Parts of one answer
 * stay in order, and so do timers by the time they are due. A timeout that came
 * too late to matter does not come earlier: that a slow answer can be given up on
 * is no race. Nothing else about the order is certain in the world outside.
 */
export class DeliveryOrder {
  readonly swaps: Swap[] = []
  #picks = 0
  readonly #random: () => number

  constructor(readonly options: OrderOptions) {
    this.#random = seededRandom(`order ${options.seed}`)
  }

  /** Choices made so far. */
  get picks(): number {
    return this.#picks
  }

  choose(ready: readonly PendingAnswer[]): PendingAnswer | undefined {
    const first = ready.reduce<PendingAnswer | undefined>(
      (best, one) => (best === undefined || one.nextSeq < best.nextSeq ? one : best),
      undefined,
    )
    if (first === undefined) return undefined
    const { seed, picks = Number.POSITIVE_INFINITY } = this.options
    const pick = this.#picks
    this.#picks += 1
    if (seed === 0 || pick >= picks) return first
    const legal = withEarliestTimer(ready).filter((one) => one === first || !one.isLateTimeout)
    const chosen = legal[Math.floor(this.#random() * legal.length)] ?? first
    if (chosen !== first) this.swaps.push({ pick, chosen: chosen.nextSeq, passed: first.nextSeq })
    return chosen
  }
}

/** Of all timers only the one that is due first. */
function withEarliestTimer(ready: readonly PendingAnswer[]): PendingAnswer[] {
  const timers = ready.filter(({ isTimer }) => isTimer)
  const earliest = timers.reduce<PendingAnswer | undefined>(
    (best, one) => (best === undefined || one.due < best.due ? one : best),
    undefined,
  )
  return ready.filter((one) => !one.isTimer || one === earliest)
}
