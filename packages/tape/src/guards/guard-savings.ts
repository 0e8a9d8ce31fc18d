import type { CallUsage, GuardFacts, GuardIntent } from './guard-facts.js'

/** A figure over several calls: what is known, and of how many calls it is not. */
export interface SavedFigure {
  readonly known: number
  readonly unknown: number
}

/** Usage that one call that did not run would have had. */
export interface SavedStep {
  /** Number of the call in its guard. */
  readonly call: number
  readonly tool: string
  /** `served`: an earlier run has done it. `denied`, `stopped`: it was kept from starting. */
  readonly why: 'served' | 'denied' | 'stopped'
  readonly exitReason?: GuardFacts['exitReason']
  /**
   * Where the figures come from: this very call as it was made in an earlier run, or the
   * last time that the same call was made in this one. `unknown`: it was never made.
   */
  readonly basis: 'earlier run' | 'same call' | 'unknown'
  readonly tookMs?: number
  readonly usage?: CallUsage
}

/** Savings from serving results and from stopping early, from recorded figures only. */
export interface GuardSavings {
  readonly steps: readonly SavedStep[]
  readonly calls: number
  readonly served: number
  readonly stopped: number
  readonly inputTokens: SavedFigure
  readonly outputTokens: SavedFigure
  readonly costUsd: SavedFigure
  readonly tookMs: SavedFigure
}

/** The part of a call that savings need; `GuardedCallOnTape` is one. */
export interface SettledCall {
  readonly tool: string
  readonly intent: GuardIntent
  readonly facts: GuardFacts | undefined
}

/** Adds up what did not have to run. A figure that was never recorded stays unknown: nothing is estimated. */
export function guardSavings(calls: Iterable<SettledCall>): GuardSavings {
  const tally = new SavingsTally()
  for (const call of calls) tally.add(call)
  return tally.total()
}

type Figures = Pick<SavedStep, 'tookMs' | 'usage'>

/** The same, call by call: for a run that is still running. */
export class SavingsTally {
  readonly #steps: SavedStep[] = []
  /** Figures of each call when it was last made. */
  readonly #made = new Map<string, Figures>()

  add({ tool, intent, facts }: SettledCall): void {
    if (facts === undefined) return
    const why = savedBy(facts)
    if (why === undefined || why === 'served') this.#remember(intent.fingerprint, facts)
    if (why === undefined) return
    const made = this.#made.get(intent.fingerprint)
    this.#steps.push({
      call: intent.call,
      tool,
      why,
      ...(facts.exitReason && { exitReason: facts.exitReason }),
      basis: why === 'served' ? 'earlier run' : made === undefined ? 'unknown' : 'same call',
      ...made,
    })
  }

  total(): GuardSavings {
    const steps = [...this.#steps]
    const served = steps.filter(({ why }) => why === 'served').length
    const figure = (of: (step: SavedStep) => number | undefined): SavedFigure => ({
      // Sums of binary fractions carry dust.
      known: Number(steps.reduce((sum, step) => sum + (of(step) ?? 0), 0).toFixed(9)),
      unknown: steps.filter((step) => of(step) === undefined).length,
    })
    return {
      steps,
      calls: steps.length,
      served,
      stopped: steps.length - served,
      inputTokens: figure(({ usage }) => usage?.inputTokens),
      outputTokens: figure(({ usage }) => usage?.outputTokens),
      costUsd: figure(({ usage }) => usage?.costUsd),
      tookMs: figure(({ tookMs }) => tookMs),
    }
  }

  #remember(fingerprint: string, { status, tookMs, usage }: GuardFacts): void {
    if (status !== 'done') return
    // Without a spread where it can be: of times, each would make a hidden class.
    const isTimeOnly = usage === undefined && tookMs !== undefined
    this.#made.set(
      fingerprint,
      isTimeOnly
        ? { tookMs }
        : { ...(tookMs !== undefined && { tookMs }), ...(usage && { usage }) },
    )
  }
}

/** A call that was blocked while its tool ran, or that may have run, saved nothing. */
function savedBy({ status, attempts, served }: GuardFacts): SavedStep['why'] | undefined {
  if (served !== undefined) return 'served'
  if (attempts !== 0) return undefined
  return status === 'denied' || status === 'stopped' ? status : undefined
}
