import { isRecord, recordsOf, type JsonRecord } from '../json-shape.js'
import { Problems } from '../problems.js'

const STOP_REASONS = [
  'end_turn',
  'max_tokens',
  'stop_sequence',
  'tool_use',
  'pause_turn',
  'refusal',
  'model_context_window_exceeded',
]

/** What makes it no message of Anthropic's API. */
export const checkMessage = (answer: unknown): string[] => {
  const problems = new Problems()
  const message = problems.record('the answer', answer)
  if (message === undefined) return problems.list
  const { content, stop_reason: reason, usage } = message
  problems.text('id', message['id'])
  problems.text('model', message['model'])
  problems.oneOf('type', message['type'], ['message'])
  problems.oneOf('role', message['role'], ['assistant'])
  problems.oneOf('stop_reason', reason, STOP_REASONS)
  for (const [path, block] of problems.records('content', content))
    checkBlock(problems, path, block)
  const calls = recordsOf(content).filter(({ type }) => type === 'tool_use')
  if (reason === 'tool_use' && calls.length === 0)
    problems.add('stop_reason', 'is "tool_use", but no block is one')
  const counts = problems.record('usage', usage)
  if (counts !== undefined) {
    problems.count('usage.input_tokens', counts['input_tokens'])
    problems.count('usage.output_tokens', counts['output_tokens'])
    problems.counts('usage', counts)
  }
  return problems.list
}

const checkBlock = (problems: Problems, path: string, block: JsonRecord): void => {
  switch (block['type']) {
    case 'text':
      problems.text(`${path}.text`, block['text'])
      break
    case 'thinking':
      problems.text(`${path}.thinking`, block['thinking'])
      problems.text(`${path}.signature`, block['signature'])
      break
    case 'tool_use':
    case 'server_tool_use':
      problems.text(`${path}.id`, block['id'])
      problems.text(`${path}.name`, block['name'])
      if (!isRecord(block['input'])) problems.add(`${path}.input`, 'is not an object')
      break
    default:
      problems.text(`${path}.type`, block['type'])
  }
}
