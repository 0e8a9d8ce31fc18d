import { MarkStep } from './mark-step.js'
import { RequestStep } from './request-step.js'
import { isSameTool } from './same-tool.js'
import type { StepBase } from './step-base.js'

/**
 * Whether a step goes on with the conversation of a lane: a model request that
 * repeats it and adds to it, or work its last answer asked for.
 */
export const continuesConversation = (step: StepBase, earlier: readonly StepBase[]): boolean => {
  const last = earlier.findLast(
    (candidate) => candidate instanceof RequestStep && candidate.kind === 'model',
  )
  if (!(last instanceof RequestStep) || step instanceof MarkStep) return false
  if (step instanceof RequestStep && step.kind === 'model') return repeats(step, last)
  const { toolName } = step
  if (toolName !== undefined) return last.toolCalls.some(({ name }) => isSameTool(name, toolName))
  return last.toolCalls.length > 0
}

const repeats = (step: RequestStep, earlier: RequestStep): boolean => {
  const before = earlier.reader.requestMessages()
  const now = step.reader.requestMessages()
  return (
    now.length > before.length &&
    before.every((message, index) => JSON.stringify(message) === JSON.stringify(now[index]))
  )
}
