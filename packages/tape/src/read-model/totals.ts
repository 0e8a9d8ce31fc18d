import { addUsage, NO_USAGE, type Usage } from '../providers/usage.js'
import type { Step } from './step.js'

/** Sums over a run. */
export interface RunTotals {
  readonly modelCalls: number
  /** Recorded and inferred ones; a call is counted once. */
  readonly toolCalls: number
  /** Of the exchanges that report it. */
  readonly usage: Usage
  /** Cost of the whole run; `undefined` as soon as one exchange's cost is not known. */
  readonly costUsd: number | undefined
  /** Cost of the exchanges whose cost is known. */
  readonly knownCostUsd: number
  /** Labels of model steps whose cost is not known. */
  readonly unknownCost: readonly string[]
}

/** Adds a run up. Reads the answers of all model steps. */
export const sumSteps = (steps: readonly Step[]): RunTotals => {
  const models = steps.filter(({ kind }) => kind === 'model')
  const unknownCost = models.filter(isCostUnknown).map(({ label }) => label)
  const knownCostUsd = models.reduce((sum, step) => sum + (step.costUsd ?? 0), 0)
  return {
    modelCalls: models.length,
    toolCalls: steps.filter(({ kind }) => kind === 'tool').length,
    usage: models.reduce(
      (sum, { usage }) => (usage === undefined ? sum : addUsage(sum, usage)),
      NO_USAGE,
    ),
    costUsd: unknownCost.length === 0 ? knownCostUsd : undefined,
    knownCostUsd,
    unknownCost,
  }
}

/** An answer that the provider refused costs nothing; one that broke off costs something unknown. */
export const isCostUnknown = (step: Step): boolean =>
  step.costUsd === undefined && !(step.usage === undefined && step.state === 'failed')
