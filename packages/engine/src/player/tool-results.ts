import { isDeepStrictEqual } from 'node:util'
import { CallNumbers } from '@retake/tape'
import { isRecord, parseJson, textOf } from '@retake/tape/format'

/**
 * An unwrapped tool, and the result to show to models instead of its own. Such a tool runs inside
 * the agent, so its result can only be changed in the requests that contain it.
 */
export interface ToolResultPlan {
  readonly tool: string
  readonly args: unknown
  readonly content: string
}

/**
 * A request to a model with the results of these calls replaced; undefined if it contains none of
 * them. Results are matched with calls by id, or by name and order in APIs without ids.
 */
export function withToolResults(
  body: Uint8Array,
  plans: readonly ToolResultPlan[],
): Uint8Array | undefined {
  if (plans.length === 0) return undefined
  const text = Buffer.from(body).toString('utf8')
  if (!HAS_RESULT.test(text)) return undefined
  const replacer = new ResultReplacer(plans)
  const replaced = replacer.replace(parsed(text))
  return replacer.isChanged ? Buffer.from(JSON.stringify(replaced)) : undefined
}

const HAS_RESULT =
  /"(tool_call_id|tool_use_id|toolUseId|call_id|functionResponse)"|"role"\s*:\s*"tool"/

/** Reads a conversation in order: calls come before their results. */
class ResultReplacer {
  isChanged = false
  /** By id of the call, the planned result. */
  readonly #contents = new Map<string, string>()
  readonly #numbers = new CallNumbers()

  constructor(readonly plans: readonly ToolResultPlan[]) {}

  replace(value: unknown, key = ''): unknown {
    if (Array.isArray(value)) return value.map((each) => this.replace(each))
    if (!isRecord(value)) return value
    this.#addCall(value, key)
    const content = this.#contents.get(this.#resultId(value, key) ?? '')
    const field = RESULT_FIELDS.find((name) => name in value)
    if (content !== undefined && field !== undefined) {
      this.isChanged = true
      return { ...value, [field]: withText(value[field], content) }
    }
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, this.replace(each, name)]),
    )
  }

  #addCall(value: JsonRecord, key: string): void {
    const called = isRecord(value['function']) ? value['function'] : value
    const { name } = called
    const given = called['arguments'] ?? called['input'] ?? called['args']
    // Gemini omits the arguments of a call that has none.
    const args = key === 'functionCall' ? (given ?? {}) : given
    if (typeof name !== 'string' || args === undefined) return
    const id = textOf(value['call_id'] ?? value['toolUseId'] ?? value['id'])
    // Without an id, only the object around a call counts, not the call in it.
    if (id === '' && called === value && key !== 'functionCall') return
    const plan = this.plans.find(
      (one) =>
        one.tool === name &&
        isDeepStrictEqual(one.args, typeof args === 'string' ? parsed(args) : args),
    )
    const callId = this.#numbers.call(id, name)
    if (plan !== undefined) this.#contents.set(callId, plan.content)
  }

  #resultId(value: JsonRecord, key: string): string | undefined {
    if (key === 'functionResponse')
      return this.#numbers.result(textOf(value['id']), textOf(value['name']))
    const id =
      value['tool_call_id'] ?? value['tool_use_id'] ?? value['toolUseId'] ?? value['call_id']
    const isCall = 'name' in value && ('input' in value || 'arguments' in value)
    if (typeof id === 'string') return isCall ? undefined : id
    return value['role'] === 'tool'
      ? this.#numbers.result('', textOf(value['tool_name'] ?? value['name']))
      : undefined
  }
}

type JsonRecord = Readonly<Record<string, unknown>>

/** The fields in which APIs expect a result; Gemini requires an object. */
const RESULT_FIELDS = ['output', 'response', 'content'] as const

function parsed(text: string): unknown {
  const value = parseJson(text)
  return value === undefined ? text : value
}

/** Text in the form of the original content: a text, a list with one text block, or an object. */
function withText(content: unknown, text: string): unknown {
  if (isRecord(content)) return wrapped(content, parsed(text))
  if (!Array.isArray(content)) return text
  const [first] = content as unknown[]
  return [isRecord(first) && 'type' in first ? { type: first['type'], text } : { text }]
}

/** A result as the only value, under the name that the SDK chose, or the object itself. */
function wrapped(content: JsonRecord, result: unknown): JsonRecord {
  const [only = '', ...more] = Object.keys(content)
  if (more.length === 0 && ['output', 'result'].includes(only)) return { [only]: result }
  return isRecord(result) ? result : { output: result }
}
