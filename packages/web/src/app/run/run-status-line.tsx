import { count, plural } from './figures.js'
import { useRows, type Run } from './use-run.js'

/** What goes on: how far the reading is, and whether the run still grows. */
export function RunStatusLine({ run: { head, rows } }: { readonly run: Run }) {
  useRows(rows)
  if (!rows.isComplete && rows.recorded < head.recordedSteps)
    return `reading ${count(rows.recorded)} of ${plural(head.recordedSteps, 'step')}`
  if (!rows.isComplete) return 'reading what needs all answers'
  return head.status === 'recording'
    ? `recording · ${plural(rows.length, 'step')} so far`
    : `${plural(rows.length, 'step')}, ${plural(head.events, 'event')}`
}
