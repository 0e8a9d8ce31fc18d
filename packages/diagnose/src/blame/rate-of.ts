import type { Rate } from '@retake/tape'
import { confidenceSequence } from './stats/confidence-sequence.js'

/** How often it failed, with bounds that hold whenever the search stopped counting. */
export function rateOf(counted: { readonly fails: number; readonly forks: number }): Rate {
  const { fails, forks } = counted
  return { fails, forks, ...confidenceSequence(fails, forks) }
}
