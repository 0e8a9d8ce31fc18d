import type { FreeAnswer, ToolResultPlan } from '@retake/engine'
import { withToolResults } from '@retake/engine/plans'
import { isRecord, type RunView, type Step } from '@retake/tape'
import { attempt } from '../attempt.js'

/**
 * Tools that were not wrapped, such as step 2.1: functions of the agent that a model called and
 * whose results are in a later request. A fork changes what the model sees, not the function. Only
 * results that can be replaced in that request are searched.
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

/** The plan of a fork in which models see this answer of a tool. */
export function resultPlan(step: Step, answer: FreeAnswer): ToolResultPlan {
  const { name = '', args } = step.call() ?? {}
  return { tool: name, args, content: 'error' in answer ? answer.error : contentOf(answer.payload) }
}

const contentOf = (payload: unknown): string =>
  typeof payload === 'string' ? payload : (JSON.stringify(payload) ?? '')

/** The result of a tool as data: parsed if it is JSON. */
export function inferredResult(step: Step): unknown {
  const result = resultText(step.call()?.result)
  return typeof result === 'string' ? attempt(() => JSON.parse(result) as unknown, result) : result
}

/** Blocks of text are one text. */
function resultText(content: unknown): unknown {
  if (!Array.isArray(content)) return content
  const texts = (content as unknown[]).map((part) => (isRecord(part) ? part['text'] : part))
  return texts.every((text) => typeof text === 'string') ? texts.join('') : content
}
