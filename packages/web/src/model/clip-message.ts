import type { McpExchange, Message, MessagePart, RecordedError } from '@retake/tape'
import { clip, ClipBudget, cutText } from './clip.js'

/** Names, ids and methods: text that stands in a line. */
const LINE = 400
const HEADLINE = 8192
const STACK = 32_768
/** Causes behind causes, errors in an aggregate, remarks during one request. */
const CAUSES = 8
const ERRORS = 20
const NOTIFICATIONS = 200

/** Messages with their long texts clipped; ids and names stay plain text. */
export const clipMessages = (
  messages: readonly Message[],
  budget = new ClipBudget(),
): readonly Message[] =>
  messages.map(({ role, parts }) => ({
    role,
    parts: parts.map((part) => clipPart(part, budget)),
  }))

function clipPart(part: MessagePart, budget: ClipBudget): MessagePart {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return { ...part, text: budget.text(part.text) as string }
    case 'tool_call': {
      const { type, id, name, args } = part
      return { type, id: cutText(id, LINE), name: cutText(name, LINE), args: clip(args, budget) }
    }
    case 'tool_result':
      return { ...part, id: cutText(part.id, LINE), content: clip(part.content, budget) }
    case 'image':
      return { ...part, source: cutText(part.source, HEADLINE) }
    case 'other':
      return { ...part, kind: cutText(part.kind, LINE), value: clip(part.value, budget) }
  }
}

/** A request of MCP with its values clipped. */
export function clipMcp(exchange: McpExchange, budget = new ClipBudget()): McpExchange {
  const { server, method, id, params, result, error, notifications } = exchange
  return {
    ...exchange,
    server: server === undefined ? undefined : cutText(server, LINE),
    method: cutText(method, LINE),
    id: typeof id === 'string' ? cutText(id, LINE) : id,
    params: clip(params, budget),
    result: clip(result, budget),
    error: error && {
      ...error,
      message: cutText(error.message, HEADLINE),
      ...('data' in error && { data: clip(error.data, budget) }),
    },
    notifications: notifications.slice(0, NOTIFICATIONS).map((each) => ({
      at: each.at,
      method: cutText(each.method, LINE),
      params: clip(each.params, budget),
    })),
  }
}

/** An error with its causes, as far as anybody reads them. */
export function clipError(
  error: RecordedError,
  budget = new ClipBudget(),
  depth = 0,
): RecordedError {
  const { stack, text, code, props, symbols, cause, errors, thrown } = error
  return {
    class: cutText(error.class, LINE),
    name: cutText(error.name, LINE),
    message: cutText(error.message, HEADLINE),
    ...(error.base !== undefined && { base: cutText(error.base, LINE) }),
    ...(stack !== undefined && { stack: cutText(stack, STACK) }),
    ...(text !== undefined && { text: cutText(text, HEADLINE) }),
    ...(code !== undefined && { code: typeof code === 'string' ? cutText(code, LINE) : code }),
    ...(props && { props: clip(props, budget) as Readonly<Record<string, unknown>> }),
    ...(symbols && { symbols: clip(symbols, budget) as Readonly<Record<string, unknown>> }),
    ...(cause && depth < CAUSES && { cause: clipError(cause, budget, depth + 1) }),
    ...(errors &&
      depth < CAUSES && {
        errors: errors.slice(0, ERRORS).map((each) => clipError(each, budget, depth + 1)),
      }),
    ...(thrown !== undefined && { thrown: clip(thrown, budget) }),
  }
}
