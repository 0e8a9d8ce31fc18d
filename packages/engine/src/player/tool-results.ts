import { isDeepStrictEqual } from 'node:util'
import { isRecord } from '@retake/tape/format'

/**
 * A tool that was not wrapped, and the result that models get to see in place of its own. It
 * runs inside the agent, so its result can only be changed in requests that carry it.
 */
export interface ToolResultPlan {
  readonly tool: string
  readonly args: unknown
  readonly content: string
}

/**
 * A request to a model with the results of these calls replaced; undefined if it has none of
 * them. Knows the APIs that give calls an id: chat completions, responses, messages, converse.
 */
export function withToolResults(
  body: Uint8Array,
  plans: readonly ToolResultPlan[],
): Uint8Array | undefined {
  if (plans.length === 0) return undefined
  const text = Buffer.from(body).toString('utf8')
  if (!/"(tool_call_id|tool_use_id|toolUseId|call_id)"/.test(text)) return undefined
  let request: unknown
  try {
    request = JSON.parse(text) as unknown
  } catch {
    return undefined
  }
  const calls = new Map<string, Call>()
  collectCalls(request, calls)
  const contents = new Map<string, string>()
  for (const [id, call] of calls) {
    const plan = plans.find(
      ({ tool, args }) => tool === call.name && isDeepStrictEqual(args, call.args),
    )
    if (plan !== undefined) contents.set(id, plan.content)
  }
  let isChanged = false
  const replaced = replaceResults(request, contents, () => (isChanged = true))
  return isChanged ? Buffer.from(JSON.stringify(replaced)) : undefined
}

interface Call {
  readonly name: string
  readonly args: unknown
}

function collectCalls(value: unknown, calls: Map<string, Call>): void {
  if (Array.isArray(value)) return value.forEach((each) => collectCalls(each, calls))
  if (!isRecord(value)) return
  const called = isRecord(value['function']) ? value['function'] : value
  const id = value['call_id'] ?? value['toolUseId'] ?? value['id']
  const args = called['arguments'] ?? called['input']
  if (typeof id === 'string' && typeof called['name'] === 'string' && args !== undefined)
    calls.set(id, {
      name: called['name'],
      args: typeof args === 'string' ? parsedArgs(args) : args,
    })
  for (const each of Object.values(value)) collectCalls(each, calls)
}

function parsedArgs(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

function replaceResults(
  value: unknown,
  contents: ReadonlyMap<string, string>,
  onChange: () => void,
): unknown {
  if (Array.isArray(value)) return value.map((each) => replaceResults(each, contents, onChange))
  if (!isRecord(value)) return value
  const id = value['tool_call_id'] ?? value['tool_use_id'] ?? value['toolUseId'] ?? value['call_id']
  const content = typeof id === 'string' ? contents.get(id) : undefined
  const key = 'output' in value ? 'output' : 'content'
  if (content !== undefined && key in value && !('name' in value && 'input' in value)) {
    onChange()
    return { ...value, [key]: withText(value[key], content) }
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, replaceResults(each, contents, onChange)]),
  )
}

/** Text in the form that the content had: a text, or a list with one block of text. */
function withText(content: unknown, text: string): unknown {
  if (!Array.isArray(content)) return text
  const [first] = content as unknown[]
  return [isRecord(first) && 'type' in first ? { type: first['type'], text } : { text }]
}
