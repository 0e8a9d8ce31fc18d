import type { Step } from '@retake/tape'
import { cost, plural } from '@retake/tape/present'

/** What a search will probably take, known before any fork. */
export interface Estimate {
  readonly steps: number
  /** For one cause, when the agent does the same each time. */
  readonly forks: number
  /** When it does not, and for several causes. */
  readonly forksMost: number
  /** Steps that are asked again in all of `forks`. */
  readonly liveSteps: number
  readonly tokens: number
  /** Missing when the cost of a step is not known. */
  readonly costUsd?: number
}

/** Forks that a question takes when the agent does the same each time, and when it is noisy. */
const STEADY = 2.2
const NOISY = 7
/** Probes beside those for causes: anchors, and the audit at the end. */
const FIXED_PROBES = 2 + 9
/** Part of the steps that is live in a fork, on average: probes keep prefixes. */
const LIVE_PART = 0.5

/** `isPaid`: whether a step that is free is really asked. */
export function estimateSearch(
  steps: readonly Step[],
  isPaid: (step: Step) => boolean = () => true,
): Estimate {
  const count = steps.length
  const forCause = Math.ceil(Math.log2(Math.max(2, count))) + 1
  const echoes = Math.ceil(count / 7)
  const forks = Math.ceil((forCause + echoes + FIXED_PROBES) * STEADY)
  const forksMost = Math.ceil((4 * forCause + 2 * echoes + FIXED_PROBES) * NOISY)
  const paid = steps.filter(isPaid)
  const times = forks * LIVE_PART
  const tokens = paid.reduce((sum, step) => sum + tokensOf(step), 0)
  const costs = paid.filter(({ kind }) => kind === 'model').map(({ costUsd }) => costUsd)
  const isKnown = !costs.includes(undefined)
  const costUsd = costs.reduce<number>((sum, each) => sum + (each ?? 0), 0)
  return {
    steps: count,
    forks,
    forksMost,
    liveSteps: Math.round(paid.length * times),
    tokens: Math.round(tokens * times),
    ...(isKnown && { costUsd: costUsd * times }),
  }
}

/** All tokens of a step, in and out. */
export function tokensOf({ usage }: Pick<Step, 'usage'>): number {
  if (usage === undefined) return 0
  return usage.input + usage.cachedInput + usage.cacheWrite + usage.output
}

/** The estimate in one sentence, with the limits that hold. */
export function estimateLine(
  estimate: Estimate,
  { maxForks, maxUsd }: { readonly maxForks: number; readonly maxUsd?: number },
): string {
  const { steps, forks, forksMost, liveSteps, tokens, costUsd } = estimate
  const limits = [
    `at most ${plural(maxForks, 'fork')}`,
    ...(maxUsd === undefined ? [] : [`at most $${maxUsd}`]),
  ]
  return [
    plural(steps, 'step'),
    `about ${forks} to ${forksMost} forks`,
    `about ${plural(liveSteps, 'live step')}`,
    `${tokens} tokens`,
    costUsd === undefined ? 'cost unknown' : `about ${cost(costUsd)}`,
    limits.join(', '),
  ].join(' · ')
}
