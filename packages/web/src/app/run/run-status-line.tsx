import { count, plural } from '@retake/tape/present'
import { useRows, type Run } from './use-run.js'

export interface RunStatusLineProps {
  readonly run: Run
  /** Something could not be read; nobody reads on. */
  readonly hasFailed: boolean
}

/** What goes on: how far the reading is, and whether the run still grows. */
export function RunStatusLine({ run: { head, rows }, hasFailed }: RunStatusLineProps) {
  useRows(rows)
  if (!rows.isComplete && hasFailed)
    return rows.recorded < head.recordedSteps
      ? `${count(rows.recorded)} of ${plural(head.recordedSteps, 'step')} could be read`
      : 'what needs all answers could not be read'
  if (!rows.isComplete && rows.recorded < head.recordedSteps)
    return `reading ${count(rows.recorded)} of ${plural(head.recordedSteps, 'step')}`
  if (!rows.isComplete) return 'reading what needs all answers'
  return head.status === 'recording'
    ? `recording · ${plural(rows.length, 'step')} so far`
    : `${plural(rows.length, 'step')}, ${plural(head.events, 'event')}`
}
