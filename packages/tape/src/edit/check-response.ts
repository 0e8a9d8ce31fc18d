import type { JsonRecord } from '../providers/json-shape.js'
import { Problems } from './problems.js'

const STATUSES = ['completed', 'incomplete', 'failed', 'in_progress', 'queued', 'cancelled']

/** What makes it no response of OpenAI's Responses API. */
export const checkResponse = (answer: unknown): string[] => {
  const problems = new Problems()
  const response = problems.record('the answer', answer)
  if (response === undefined) return problems.list
  const { output, usage } = response
  problems.text('id', response['id'])
  problems.oneOf('object', response['object'], ['response'])
  problems.oneOf('status', response['status'], STATUSES)
  for (const [path, item] of problems.records('output', output)) checkItem(problems, path, item)
  if (usage !== undefined && usage !== null) {
    const counts = problems.record('usage', usage)
    problems.count('usage.input_tokens', counts?.['input_tokens'])
    problems.count('usage.output_tokens', counts?.['output_tokens'])
    problems.counts('usage', counts)
  }
  return problems.list
}

const checkItem = (problems: Problems, path: string, item: JsonRecord): void => {
  const called = (): void => {
    problems.text(`${path}.call_id`, item['call_id'])
    problems.text(`${path}.name`, item['name'])
  }
  switch (item['type']) {
    case 'message':
      problems.oneOf(`${path}.role`, item['role'], ['assistant'])
      for (const [at, part] of problems.records(`${path}.content`, item['content'])) {
        checkPart(problems, at, part)
      }
      break
    case 'function_call':
      called()
      problems.jsonText(`${path}.arguments`, item['arguments'])
      break
    case 'custom_tool_call':
      called()
      problems.text(`${path}.input`, item['input'])
      break
    case 'reasoning':
      for (const [at, part] of problems.records(`${path}.summary`, item['summary'])) {
        problems.text(`${at}.text`, part['text'])
      }
      break
    default:
      problems.text(`${path}.type`, item['type'])
  }
}

const checkPart = (problems: Problems, path: string, part: JsonRecord): void => {
  problems.oneOf(`${path}.type`, part['type'], ['output_text', 'refusal'])
  if (part['type'] === 'output_text') problems.text(`${path}.text`, part['text'])
  if (part['type'] === 'refusal') problems.text(`${path}.refusal`, part['refusal'])
}
