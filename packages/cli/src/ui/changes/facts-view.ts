import type { BranchFactsView } from '@retake/web'
import type { BranchFacts } from '../../branch-facts.js'

/** Facts of a branch for a page: what is not known is missing. */
export const factsView = ({ savedUsd, paidUsd, ...facts }: BranchFacts): BranchFactsView => ({
  ...facts,
  ...(savedUsd !== undefined && { savedUsd }),
  ...(paidUsd !== undefined && { paidUsd }),
})
