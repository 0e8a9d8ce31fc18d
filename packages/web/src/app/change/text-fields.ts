import { isRecord, type JsonPlace } from './json-place.js'

/** One text of an answer that people want to change most often. */
export interface TextField {
  readonly at: JsonPlace
  readonly label: string
  readonly text: string
}

type Pattern = { readonly label: string; readonly path: readonly string[] }

/** What a model said, or a server of MCP answered, in each format; `*` is every item of a list. */
const PATTERNS: readonly Pattern[] = [
  ['What the model said', 'choices * message content'],
  ['Arguments it calls with', 'choices * message tool_calls * function arguments'],
  ['What the model said', 'output * content * text'],
  ['Arguments it calls with', 'output * arguments'],
  ['What the model said', 'content * text'],
  ['What the model said', 'candidates * content parts * text'],
  ['What the model said', 'output message content * text'],
  ['What the model said', 'message content'],
  ['What the server answered', 'result content * text'],
].map(([label = '', path = '']) => ({ label, path: path.split(' ') }))

const FIELDS_MAX = 8

/**
 * The texts of an answer that are worth a field of their own: what a model said, or
 * the texts of a small result. None when there are too many; then it is edited as JSON.
 */
export function textFields(data: unknown): readonly TextField[] {
  if (typeof data === 'string') return [{ at: [], label: 'Text', text: data }]
  const known = PATTERNS.flatMap(({ label, path }) =>
    matches(data, path).map(({ at, text }) => ({ at, label, text })),
  )
  const found = known.length > 0 ? known : leaves(data, [])
  return found.length <= FIELDS_MAX ? found : []
}

function matches(
  data: unknown,
  [key, ...rest]: readonly string[],
  at: JsonPlace = [],
): { at: JsonPlace; text: string }[] {
  if (key === undefined) return typeof data === 'string' ? [{ at, text: data }] : []
  if (key === '*')
    return Array.isArray(data)
      ? data.flatMap((item, index) => matches(item, rest, [...at, index]))
      : []
  return isRecord(data) && Object.hasOwn(data, key) ? matches(data[key], rest, [...at, key]) : []
}

/** Every string in it, named by where it stands. */
function leaves(data: unknown, at: JsonPlace): TextField[] {
  if (typeof data === 'string') return [{ at, label: at.join('.'), text: data }]
  if (Array.isArray(data)) return data.flatMap((item, index) => leaves(item, [...at, index]))
  // `$` marks a value that JSON has no form for; its parts are not texts.
  if (!isRecord(data) || Object.hasOwn(data, '$')) return []
  return Object.entries(data).flatMap(([key, item]) => leaves(item, [...at, key]))
}
