import type { ForkCounts } from '@retake/tape'

/** The forks of two searches together. */
export function sumForks(some: ForkCounts, more: ForkCounts): ForkCounts {
  const tokens = sumKnown(some.tokens, more.tokens)
  const costUsd = sumKnown(some.costUsd, more.costUsd)
  return {
    asked: some.asked + more.asked,
    served: some.served + more.served,
    undefined: some.undefined + more.undefined,
    liveSteps: some.liveSteps + more.liveSteps,
    ...(tokens === undefined ? {} : { tokens }),
    ...(costUsd === undefined ? {} : { costUsd }),
  }
}

export const NO_FORKS: ForkCounts = { asked: 0, served: 0, undefined: 0, liveSteps: 0 }

/** What is left of limits after these forks; those that were served cost nothing. */
export function limitsLeft(
  { maxForks = Infinity, maxUsd = Infinity }: { maxForks?: number; maxUsd?: number },
  { asked, served, costUsd = 0 }: ForkCounts,
): { maxForks: number; maxUsd: number } {
  return {
    maxForks: Math.max(0, maxForks - (asked - served)),
    maxUsd: Math.max(0, maxUsd - costUsd),
  }
}

function sumKnown(some: number | undefined, more: number | undefined): number | undefined {
  return some === undefined && more === undefined ? undefined : (some ?? 0) + (more ?? 0)
}
