import { randomInt } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { ForkRun } from './fork-run.js'

const FIRST_MS = 1000
const LONGEST_MS = 60_000
const TRIES_MAX = 6

/**
 * Runs forks again that a provider has refused because there were too many. All
 * wait together: as long as the provider says, or longer each time, each a little
 * differently. After six times the fork counts as one without a verdict.
 */
export class RateLimitPause {
  readonly #signal: AbortSignal
  readonly #onPause: ((ms: number) => void) | undefined
  #until = 0

  constructor(signal: AbortSignal, onPause?: (ms: number) => void) {
    this.#signal = signal
    this.#onPause = onPause
  }

  async retrying(run: () => Promise<ForkRun>): Promise<ForkRun> {
    let turnedAway: Spent = { tokens: 0, costUsd: 0 }
    for (let tries = 1; ; tries++) {
      await this.#wait()
      const result = withSpent(await run(), turnedAway)
      if (result.rateLimit === undefined || result.changed !== undefined) return result
      if (tries === TRIES_MAX) return { ...result, broke: 'the provider limits the rate' }
      result.remove()
      turnedAway = result
      this.#slowDown(tries, result.rateLimit.retryAfterMs)
    }
  }

  #slowDown(tries: number, retryAfterMs: number | undefined): void {
    const grown = Math.min(LONGEST_MS, FIRST_MS * 2 ** (tries - 1))
    // What a provider asks for is honoured, within reason.
    const wanted = Math.min(retryAfterMs ?? grown, 10 * LONGEST_MS)
    const ms = wanted + randomInt(0, Math.ceil(grown / 4))
    this.#onPause?.(ms)
    this.#until = Math.max(this.#until, Date.now() + ms)
  }

  async #wait(): Promise<void> {
    for (let left = this.#until - Date.now(); left > 0; left = this.#until - Date.now())
      await setTimeout(left, undefined, { signal: this.#signal })
  }
}

type Spent = Pick<ForkRun, 'tokens' | 'costUsd'>

/** What was paid for tries that came to nothing is paid all the same. */
function withSpent({ costUsd, ...run }: ForkRun, before: Spent): ForkRun {
  const isKnown = costUsd !== undefined && before.costUsd !== undefined
  return {
    ...run,
    tokens: run.tokens + before.tokens,
    ...(isKnown && { costUsd: costUsd + before.costUsd }),
  }
}
