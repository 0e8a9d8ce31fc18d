import type { FreeAnswer, ToolResultPlan } from '@retake/engine'
import { withToolResults } from '@retake/engine/plans'
import { isRecord, type RunView, type Step, attempt } from '@retake/tape'

/**
 * Unwrapped tools, such as step 2.1: functions of the agent that a model called and whose results
 * are in a later request. A fork changes what the model sees, not the function. Includes only
 * results that can be replaced in that request.
 */
export function inferredTools(view: RunView): Step[] {
  return view.steps.filter((step) => {
    const [reporter] = step.inferred ? step.answerSeqs : []
    const model = view.recordedSteps.find(({ seq }) => seq === reporter)
    const body = model?.exchange()?.request.body
    return (
      body !== undefined && withToolResults(body, [resultPlan(step, { payload: '' })]) !== undefined
    )
  })
}

/** Plan of a fork in which models see this answer of a tool. */
export function resultPlan(step: Step, answer: FreeAnswer): ToolResultPlan {
  const { name = '', args } = step.call() ?? {}
  const content = 'error' in answer ? answer.error : answer.payload
  return {
    tool: name,
    args,
    content: typeof content === 'string' ? content : (JSON.stringify(content) ?? ''),
  }
}

/** The result of a tool as data: parsed if it is JSON. */
export function inferredResult(step: Step): unknown {
  const content = step.call()?.result
  const texts = (Array.isArray(content) ? (content as unknown[]) : [content]).map((part) =>
    isRecord(part) && Array.isArray(content) ? part['text'] : part,
  )
  // Text blocks form one text.
  if (!texts.every((text) => typeof text === 'string')) return content
  const text = texts.join('')
  return attempt(() => JSON.parse(text) as unknown, text)
}
