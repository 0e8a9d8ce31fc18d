import type { RunView, Step } from '@retake/tape'
import { noSuchStep } from './errors/runs.js'

/** The step of a number or label, or an error that says which there are. */
export function findStep(view: RunView, label: string): Step {
  const step = view.step(label)
  if (step === undefined) throw noSuchStep(view.id, label, view.recordedSteps.length)
  return step
}

/**
 * The event at which a step is looked at: its last answer, or its start when it has
 * none. What an MCP server asks on a pipe is answered by the agent itself.
 */
export const momentOf = (step: Step): number => {
  const { transport, askedBy } = step.kind === 'mcp' ? (step.mcp() ?? {}) : {}
  const isAnsweredHere = transport === 'stdio' && askedBy === 'server'
  return isAnsweredHere ? step.seq : (step.answerSeqs.at(-1) ?? step.seq)
}
