import type { RunView, Step } from '@retake/tape'
import { noSuchStep } from './errors.js'

/** The step of a number or label, or an error that says which there are. */
export function findStep(view: RunView, label: string): Step {
  const step = view.step(label)
  if (step === undefined) throw noSuchStep(view.id, label, view.recordedSteps.length)
  return step
}

/** The event at which a step is looked at: its last answer, or its start when it has none. */
export const momentOf = (step: Step): number => step.answerSeqs.at(-1) ?? step.seq
