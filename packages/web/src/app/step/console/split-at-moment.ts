import type { StepDetail } from '../../../model/step-detail.js'

/** The event at which the agent had the answer of a step; its beginning when there is none. */
export const momentOf = (detail: Pick<StepDetail, 'seq' | 'answeredSeq'>): number =>
  detail.answeredSeq ?? detail.seq

/** What had happened by the moment of a step, and what came later. */
export function splitAtMoment<T extends { readonly seq: number }>(
  things: readonly T[],
  detail: Pick<StepDetail, 'seq' | 'answeredSeq'>,
): { readonly before: readonly T[]; readonly after: readonly T[] } {
  const moment = momentOf(detail)
  const split = things.findIndex(({ seq }) => seq > moment)
  return split < 0
    ? { before: things, after: [] }
    : { before: things.slice(0, split), after: things.slice(split) }
}
