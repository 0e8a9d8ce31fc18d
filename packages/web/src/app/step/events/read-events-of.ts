import type { EventRow } from '../../../model/run-parts.js'
import type { RunSource } from '../../../model/run-source.js'
import type { StepDetail } from '../../../model/step-detail.js'
import { momentOf } from '../console/split-at-moment.js'

const BATCH = 2000

export interface EventsOfStep {
  readonly rows: readonly EventRow[]
  /** Where to look on; undefined when all was looked at. */
  readonly next: number | undefined
}

/** The event that begins a step, and those that answer it. Looks at no more than `limit` events. */
export async function readEventsOf(
  source: Pick<RunSource, 'events'>,
  detail: Pick<StepDetail, 'seq' | 'answeredSeq'>,
  limit: number,
): Promise<EventsOfStep> {
  const end = momentOf(detail) + 1
  const stop = Math.min(end, detail.seq + limit)
  const rows: EventRow[] = []
  for (let from = detail.seq; from < stop; from += BATCH) {
    const batch = await source.events(from, Math.min(from + BATCH, stop))
    rows.push(...batch.filter(({ seq, op }) => seq === detail.seq || op === detail.seq))
  }
  return { rows, next: stop < end ? stop : undefined }
}
