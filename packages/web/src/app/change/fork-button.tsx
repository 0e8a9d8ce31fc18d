import type { StepDetail } from '../../model/step-detail.js'
import type { Run } from '../run/use-run.js'

/** Opens the editor for another answer or question at this step. */
export function ForkButton(_props: { readonly run: Run; readonly step: StepDetail }) {
  return null
}
