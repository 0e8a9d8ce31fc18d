import { latePart } from '../design/late-part.js'
import type { Run } from '../run/use-run.js'
import { useHome } from '../sources/viewer-home.js'

/** A report has no program to run, and does not carry this. */
const ProgramState =
  __HOME__ === 'live'
    ? latePart(async () => (await import('./program-state.js')).ProgramState)
    : () => null

export interface LiveStateProps {
  readonly run: Run
  readonly step: string
}

/** The program really standing at this step: its variables, moving on and back, evaluating expressions. */
export function LiveState({ run, step }: LiveStateProps) {
  const { live } = useHome()
  if (live === undefined) return null
  return <ProgramState run={run} step={step} live={live} />
}
