import type { StepDetail } from '../../model/step-detail.js'
import { latePart } from '../design/late-part.js'
import type { Run } from '../run/use-run.js'
import { useHome } from '../sources/viewer-home.js'

export interface ForkButtonProps {
  readonly run: Run
  readonly step: StepDetail
}

/** A report has no use for it, and does not carry it. */
const LiveForkButton =
  __HOME__ === 'live'
    ? latePart(async () => (await import('./live-fork-button.js')).LiveForkButton)
    : () => null

/** Opens the editor for another answer or question at this step. Nothing where nothing can be run. */
export function ForkButton({ run, step }: ForkButtonProps) {
  const { live } = useHome()
  if (live === undefined) return null
  return <LiveForkButton run={run} step={step} />
}
