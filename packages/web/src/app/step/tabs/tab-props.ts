import type { StepDetail } from '../../../model/step-detail.js'
import type { Run } from '../../run/use-run.js'

/** What every view of a step is handed. */
export interface TabProps {
  readonly run: Run
  readonly detail: StepDetail
}
