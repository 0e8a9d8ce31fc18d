const WINDOW_MS = 60_000
/** Wrong passwords from one address, and from all together, in that time. */
const EACH = 10
const ALL = 100

/**
 * Counts tries, before it is known whether they are right, so that many at once are
 * limited, too. Behind a proxy everybody has one address, and shares its tries.
 */
export class GuessLimit {
  readonly #tries: { readonly address: string; readonly at: number }[] = []
  readonly #now: () => number

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  /** Seconds to wait before the next try; 0 when this one may be made. */
  take(address: string): number {
    const now = this.#now()
    while ((this.#tries[0]?.at ?? now) <= now - WINDOW_MS) this.#tries.shift()
    const own = this.#tries.filter((each) => each.address === address)
    const oldest =
      own.length >= EACH ? own[0] : this.#tries.length >= ALL ? this.#tries[0] : undefined
    if (oldest !== undefined) return Math.ceil((oldest.at + WINDOW_MS - now) / 1000)
    this.#tries.push({ address, at: now })
    return 0
  }

  /** A right password takes its own tries back. */
  forgive(address: string): void {
    const others = this.#tries.filter((each) => each.address !== address)
    this.#tries.splice(0, this.#tries.length, ...others)
  }
}
