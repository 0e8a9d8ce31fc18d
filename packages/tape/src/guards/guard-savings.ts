import type { CallUsage, GuardFacts, GuardIntent } from './guard-facts.js'

/** A figure over several calls: the known part, and the number of calls for which it is unknown. */
export interface SavedFigure {
  readonly known: number
  readonly unknown: number
}

/** Usage that a call would have had if it had run. */
export interface SavedStep {
  /** Number of the call in its guard. */
  readonly call: number
  readonly tool: string
  /** `served`: done by an earlier run. `denied`, `stopped`: prevented from starting. */
  readonly why: 'served' | 'denied' | 'stopped'
  readonly exitReason?: GuardFacts['exitReason']
  /**
   * Source of the figures: the same call in an earlier run, or the last identical call in this run.
   * `unknown`: it was never made.
   */
  readonly basis: 'earlier run' | 'same call' | 'unknown'
  readonly tookMs?: number
  readonly usage?: CallUsage
}

/** Savings from serving results and from stopping early, only from recorded figures. */
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

/** The part of a call that savings need; implemented by `GuardedCallOnTape`. */
export interface SettledCall {
  readonly tool: string
  readonly intent: GuardIntent
  readonly facts: GuardFacts | undefined
}

/** Adds up what did not have to run. A figure that was never recorded stays unknown; nothing is estimated. */
export function guardSavings(calls: Iterable<SettledCall>): GuardSavings {
  const tally = new SavingsTally()
  for (const call of calls) tally.add(call)
  return tally.total()
}

type Figures = Pick<SavedStep, 'tookMs' | 'usage'>

/** Like `guardSavings`, call by call, for a run in progress. */
export class SavingsTally {
  readonly #steps: SavedStep[] = []
  /** Figures of the last execution of each call. */
  readonly #made = new Map<string, Figures>()

  add({ tool, intent, facts }: SettledCall): void {
    if (facts === undefined) return
    const { status, attempts, served, tookMs, usage } = facts
    if (status === 'done') {
      // Avoids a spread if possible: with times, each spread would create a hidden class.
      const isTimeOnly = usage === undefined && tookMs !== undefined
      this.#made.set(
        intent.fingerprint,
        isTimeOnly
          ? { tookMs }
          : { ...(tookMs !== undefined && { tookMs }), ...(usage && { usage }) },
      )
    }
    // A call that was blocked while its tool ran, or that may have run, saved nothing.
    const wasPrevented = attempts === 0 && (status === 'denied' || status === 'stopped')
    if (served === undefined && !wasPrevented) return
    const why = served === undefined ? (status as 'denied' | 'stopped') : 'served'
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
      // Removes rounding errors of binary fractions.
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
}
