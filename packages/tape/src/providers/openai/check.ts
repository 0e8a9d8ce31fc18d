import { type JsonRecord, listOf } from '../../values/json-shape.js'
import { Problems } from '../problems.js'

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
