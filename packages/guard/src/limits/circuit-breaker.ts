import type { BreakerLimits } from './limits.js'

/** How a call counts for its tool's circuit. `none`: it says nothing about the tool. */
export type CircuitOutcome = 'success' | 'failure' | 'none'

/**
 * Keeps calls from a tool that fails: open after some failures in a row, and after
 * a pause half-open, when exactly one call is let through to see.
 */
export class CircuitBreaker {
  #failures = 0
  #openUntil: number | undefined
  #isTried = false

  constructor(readonly limits: BreakerLimits) {}

  /** Milliseconds until a call may be tried; undefined when this one may. Changes nothing. */
  waitMs(now: number): number | undefined {
    if (this.#openUntil === undefined) return undefined
    if (now < this.#openUntil) return this.#openUntil - now
    return this.#isTried ? 0 : undefined
  }

  /** A call is let through. Returns whether it is the one that tries a half-open circuit. */
  admit(): boolean {
    if (this.#openUntil === undefined) return false
    this.#isTried = true
    return true
  }

  /** True if a call that was let through before may still start. */
  mayStart(isTry: boolean): boolean {
    return this.#openUntil === undefined || isTry
  }

  get failures(): number {
    return this.#failures
  }

  settle(outcome: CircuitOutcome, isTry: boolean, now: number): void {
    // Those that were under way when the circuit opened do not close it, nor keep it open.
    if (this.#openUntil !== undefined && !isTry) return
    if (isTry) this.#isTried = false
    if (outcome === 'none') return
    if (outcome === 'success') {
      this.#failures = 0
      this.#openUntil = undefined
      return
    }
    this.#failures += 1
    if (isTry || this.#failures >= this.limits.failures)
      this.#openUntil = now + this.limits.cooldownMs
  }
}
