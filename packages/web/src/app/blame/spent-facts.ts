import type { BlameFindings } from '@retake/tape'
import { cost, count, plural } from '@retake/tape/present'

/** What the search cost: forks, steps, tokens, money. Unknown figures are named, not shown as 0. */
export function spentFacts({ forks }: BlameFindings): string[] {
  return [
    plural(forks.asked, 'fork'),
    ...(forks.served > 0 ? [`${count(forks.served)} from an earlier search`] : []),
    ...(forks.undefined > 0 ? [`${count(forks.undefined)} without a verdict`] : []),
    `${plural(forks.liveSteps, 'step')} re-run`,
    forks.tokens === undefined ? 'tokens unknown' : plural(forks.tokens, 'token'),
    forks.costUsd === undefined ? 'cost unknown' : cost(forks.costUsd),
  ]
}
