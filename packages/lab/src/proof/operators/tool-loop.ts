import type { ParsedSource, SyntaxNode } from '../source-text.js'

/**
 * Code that answers a tool call: the message to the model, and the call that computes its content.
 * Recognised by field names of the providers' APIs, not by names that the agent chose.
 */
export interface ToolAnswer {
  readonly message: SyntaxNode
  /** Value of the field with the result. */
  readonly content: SyntaxNode
  readonly isShorthand: boolean
  /** The call that runs the tool; undefined if the result is not computed by a call. */
  readonly dispatch: SyntaxNode | undefined
  /** True if the dispatch is awaited. */
  readonly isAwaited: boolean
  /** True if the result reaches the model unconverted, so that an error must be text too. */
  readonly isText: boolean
}

const ANSWER_FIELDS = ['content', 'output', 'result', 'response']

export const toolAnswers = (source: ParsedSource): ToolAnswer[] =>
  source
    .ofType('ObjectExpression')
    .filter(isToolMessage)
    .flatMap((message) => {
      const property = message
        .children('properties')
        .find((each) => ANSWER_FIELDS.includes(each.child('key')?.name ?? ''))
      const content = property?.child('value')
      if (property === undefined || content === undefined) return []
      const isShorthand = property.raw['shorthand'] === true
      return [{ message, content, isShorthand, ...dispatchOf(content, property.start) }]
    })

const isToolMessage = (node: SyntaxNode): boolean =>
  node.children('properties').some((property) => {
    const name = property.child('key')?.name
    const value = property.child('value')
    const text = value?.type === 'StringLiteral' ? value.name! : ''
    return (
      (name === 'role' && text === 'tool') ||
      (name === 'type' && /^(?:tool_result|function_call_output|tool-result)$/.test(text)) ||
      /^(?:tool_call_id|tool_use_id|toolUseId|toolCallId)$/.test(name ?? '') ||
      (name === 'response' && node.parent?.child('key')?.name === 'functionResponse')
    )
  })

/** Names of the variables and members that requests to models send as conversations. */
export const conversationNames = (sources: readonly ParsedSource[]): Set<string> =>
  new Set(
    sources.flatMap((source) =>
      source
        .ofType('ObjectProperty')
        .filter((each) => /^(?:messages|input|contents)$/.test(each.child('key')?.name ?? ''))
        .flatMap((each) => each.child('value')?.text ?? []),
    ),
  )

type Dispatch = Pick<ToolAnswer, 'dispatch' | 'isAwaited' | 'isText'>

const NO_DISPATCH: Dispatch = { dispatch: undefined, isAwaited: false, isText: true }

/** Follows a value to the call that computes it. */
const dispatchOf = (value: SyntaxNode | undefined, before: number, depth = 0): Dispatch => {
  if (value === undefined || depth > 6) return NO_DISPATCH
  const next = (node: SyntaxNode | undefined): Dispatch => dispatchOf(node, before, depth + 1)
  switch (value.type) {
    case 'AwaitExpression':
      return { ...next(value.child('argument')), isAwaited: true }
    case 'TSAsExpression':
    case 'TSNonNullExpression':
    case 'ParenthesizedExpression':
      return next(value.child('expression'))
    case 'LogicalExpression':
      return next(value.child('left'))
    case 'Identifier': {
      // The last value assigned to the variable before the position.
      const last = value.source
        .ofType('VariableDeclarator', 'AssignmentExpression')
        .findLast((node) => {
          const target = node.child('id') ?? node.child('left')
          return target?.type === 'Identifier' && target.name === value.name && node.start < before
        })
      return next(last?.child('init') ?? last?.child('right'))
    }
    // `{ result: run(call) }` and `[{ type: 'text', text: run(call) }]`
    case 'ObjectExpression': {
      const members = value.children('properties')
      const [member, ...others] = members.filter((each) => each.child('key')?.name !== 'type')
      const kind = members.find((each) => each !== member)?.child('value')?.name
      if (others.length > 0 || member?.type !== 'ObjectProperty') return NO_DISPATCH
      const found = next(member.child('value'))
      return kind === 'text' || found.dispatch === undefined ? found : { ...found, isText: false }
    }
    case 'ArrayExpression': {
      const [item, ...others] = value.children('elements')
      return others.length > 0 ? NO_DISPATCH : next(item)
    }
    case 'OptionalCallExpression':
    case 'CallExpression': {
      const callee = value.callee?.text
      if (callee === 'JSON.stringify') return { ...next(value.args[0]), isText: false }
      if (callee === 'String') return next(value.args[0])
      return { ...NO_DISPATCH, dispatch: value }
    }
    default:
      return NO_DISPATCH
  }
}

/** The outermost loop around a node within its function. Looks through callbacks. */
export const outermostLoop = ({ around }: SyntaxNode): SyntaxNode | undefined => {
  const border = around.findLastIndex(
    ({ isFunction, parent }) =>
      isFunction && !/^(?:Optional)?CallExpression$/.test(parent?.type ?? ''),
  )
  return around.slice(border + 1).find((each) => each.isLoop)
}

/** The statement around a node, in a block or at the top level. */
export const statementAround = (node: SyntaxNode): SyntaxNode =>
  [...node.around, node].findLast(({ parent }) =>
    /^(?:BlockStatement|Program)$/.test(parent?.type ?? ''),
  ) ?? node
