import { isRecord, recordsOf, type JsonRecord } from '../json-shape.js'
import { Problems } from '../problems.js'

const STOP_REASONS = [
  'end_turn',
  'tool_use',
  'max_tokens',
  'stop_sequence',
  'guardrail_intervened',
  'content_filtered',
  'malformed_model_output',
  'malformed_tool_use',
  'model_context_window_exceeded',
]

/** What makes it no answer of Bedrock's Converse API. */
export const checkConverse = (answer: unknown): string[] => {
  const problems = new Problems()
  const document = problems.record('the answer', answer)
  if (document === undefined) return problems.list
  const { output, stopReason, usage } = document
  problems.oneOf('stopReason', stopReason, STOP_REASONS)
  const message = problems.record('output.message', isRecord(output) ? output['message'] : output)
  if (message !== undefined) {
    problems.oneOf('output.message.role', message['role'], ['assistant'])
    const blocks = problems.records('output.message.content', message['content'])
    for (const [path, block] of blocks) checkBlock(problems, path, block)
    const calls = recordsOf(message['content']).filter((block) => 'toolUse' in block)
    if (stopReason === 'tool_use' && calls.length === 0)
      problems.add('stopReason', 'is "tool_use", but no block is one')
  }
  if (usage !== undefined) {
    const counts = problems.record('usage', usage)
    problems.count('usage.inputTokens', counts?.['inputTokens'])
    problems.count('usage.outputTokens', counts?.['outputTokens'])
    problems.counts('usage', counts)
  }
  return problems.list
}

const checkBlock = (problems: Problems, path: string, block: JsonRecord): void => {
  if ('text' in block) problems.text(`${path}.text`, block['text'])
  if (!('toolUse' in block)) return
  const call = problems.record(`${path}.toolUse`, block['toolUse'])
  if (call === undefined) return
  problems.text(`${path}.toolUse.toolUseId`, call['toolUseId'])
  problems.text(`${path}.toolUse.name`, call['name'])
  if (call['input'] === undefined || typeof call['input'] === 'string')
    problems.add(`${path}.toolUse.input`, 'is not JSON')
}
