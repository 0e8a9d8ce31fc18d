import type { StepDetail } from '../../model/step-detail.js'
import type { RowStore } from '../run/row-store.js'
import type { ForkDraft } from './fork-draft.js'

/** How many other steps had their answer before the branch leaves the tape. */
export function answeredBefore(
  rows: RowStore,
  step: StepDetail,
  choice: ForkDraft['choice'],
): number {
  const until = step.at + (choice === 'answer' ? (step.latencyMs ?? 0) : 0)
  const own = rows.placeOf(step.label)
  const { at, latencyMs, inferred, length } = rows.columns
  let count = 0
  for (let place = 0; place < length; place++) {
    if (place === own || inferred[place]) continue
    // A latency that is not known is NaN, and so is no time before any other.
    if ((at[place] ?? 0) + (latencyMs[place] ?? Number.NaN) <= until) count += 1
  }
  return count
}
