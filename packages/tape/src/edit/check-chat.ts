import { listOf, type JsonRecord } from '../providers/json-shape.js'
import { Problems } from './problems.js'

const FINISH_REASONS = ['stop', 'length', 'tool_calls', 'content_filter', 'function_call']

/** What makes it no chat completion. */
export const checkChat = (answer: unknown): string[] => {
  const problems = new Problems()
  const completion = problems.record('the answer', answer)
  if (completion === undefined) return problems.list
  const { id, model, choices, usage } = completion
  if (id !== undefined) problems.text('id', id)
  if (model !== undefined) problems.text('model', model)
  if (Array.isArray(choices) && choices.length === 0) problems.add('choices', 'is empty')
  for (const [path, choice] of problems.records('choices', choices)) {
    checkChoice(problems, path, choice)
  }
  if (usage !== undefined && usage !== null) {
    const counts = problems.record('usage', usage)
    problems.count('usage.prompt_tokens', counts?.['prompt_tokens'])
    problems.count('usage.completion_tokens', counts?.['completion_tokens'])
    problems.counts('usage', counts)
  }
  return problems.list
}

const checkChoice = (problems: Problems, path: string, choice: JsonRecord): void => {
  const { finish_reason: reason } = choice
  problems.oneOf(`${path}.finish_reason`, reason, FINISH_REASONS)
  const message = problems.record(`${path}.message`, choice['message'])
  if (message === undefined) return
  problems.oneOf(`${path}.message.role`, message['role'], ['assistant'])
  const { content, tool_calls: calls } = message
  if (content !== undefined && content !== null && !Array.isArray(content))
    problems.text(`${path}.message.content`, content)
  if (calls !== undefined && calls !== null) {
    for (const [at, call] of problems.records(`${path}.message.tool_calls`, calls)) {
      checkCall(problems, at, call)
    }
  }
  if (reason === 'tool_calls' && listOf(calls).length === 0) {
    problems.add(`${path}.finish_reason`, 'is "tool_calls", but the message has none')
  }
}

const checkCall = (problems: Problems, path: string, call: JsonRecord): void => {
  problems.text(`${path}.id`, call['id'])
  problems.oneOf(`${path}.type`, call['type'], ['function', 'custom'])
  const key = call['type'] === 'custom' ? 'custom' : 'function'
  const called = problems.record(`${path}.${key}`, call[key])
  if (called === undefined) return
  problems.text(`${path}.${key}.name`, called['name'])
  if (key === 'custom') problems.text(`${path}.custom.input`, called['input'])
  else problems.jsonText(`${path}.function.arguments`, called['arguments'])
}
