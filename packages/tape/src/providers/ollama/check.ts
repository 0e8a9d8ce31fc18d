import { isRecord, type JsonRecord } from '../json-shape.js'
import { Problems } from '../problems.js'

/** What makes it no answer of Ollama. */
export const checkOllama = (answer: unknown): string[] => {
  const problems = new Problems()
  const document = problems.record('the answer', answer)
  if (document === undefined || document['embeddings'] !== undefined) return problems.list
  const { model, message, response, done } = document
  problems.text('model', model)
  problems.oneOf('done', done, [true])
  for (const key of ['prompt_eval_count', 'eval_count']) problems.counts(key, document[key])
  if (response !== undefined && message === undefined) problems.text('response', response)
  else {
    const said = problems.record('message', message)
    if (said !== undefined) checkMessage(problems, said)
  }
  return problems.list
}

const checkMessage = (problems: Problems, message: JsonRecord): void => {
  problems.oneOf('message.role', message['role'], ['assistant'])
  if (message['content'] !== undefined) problems.text('message.content', message['content'])
  const { tool_calls: calls } = message
  if (calls === undefined || calls === null) return
  for (const [path, call] of problems.records('message.tool_calls', calls)) {
    const called = problems.record(`${path}.function`, call['function'])
    if (called === undefined) continue
    problems.text(`${path}.function.name`, called['name'])
    if (!isRecord(called['arguments']))
      problems.add(`${path}.function.arguments`, 'is not an object')
  }
}
