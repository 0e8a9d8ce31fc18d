import {
  childNode,
  childNodes,
  type FoundNode,
  nameOfNode,
  type ParsedSource,
  type SyntaxNode,
} from '../source-text.js'
import { foundIn, isFunctionNode, isLoopNode } from './operator.js'

/**
 * Code that answers a tool call: the message that goes to the model, and the call that computes
 * its content. Recognised by the words of the providers' APIs, not by names of the agent.
 */
export interface ToolAnswer {
  readonly source: ParsedSource
  readonly message: SyntaxNode
  /** Value of the field with the result. */
  readonly content: SyntaxNode
  readonly isShorthand: boolean
  /** The call that runs the tool; undefined if the result is not computed by a call. */
  readonly dispatch: FoundNode | undefined
  /** The dispatch is awaited. */
  readonly isAwaited: boolean
  /** The result reaches the model as it is, so an error must be a text too. */
  readonly isText: boolean
}

const ANSWER_FIELDS = ['content', 'output', 'result', 'response']

export const toolAnswers = (source: ParsedSource): ToolAnswer[] =>
  source
    .ofType('ObjectExpression')
    .filter(({ node }) => isToolMessage(node))
    .flatMap(({ node }) => {
      const property = childNodes(node, 'properties').find((each) =>
        ANSWER_FIELDS.includes(nameOfNode(childNode(each, 'key')) ?? ''),
      )
      const content = childNode(property, 'value')
      if (property === undefined || content === undefined) return []
      const found = dispatchOf(source, content, property.start)
      return [
        { source, message: node, content, isShorthand: property['shorthand'] === true, ...found },
      ]
    })

const isToolMessage = (node: SyntaxNode): boolean =>
  childNodes(node, 'properties').some((property) => {
    const name = nameOfNode(childNode(property, 'key'))
    const value = childNode(property, 'value')
    const text = value?.type === 'StringLiteral' ? String(value['value']) : ''
    return (
      (name === 'role' && text === 'tool') ||
      (name === 'type' && /^(?:tool_result|function_call_output|tool-result)$/.test(text)) ||
      /^(?:tool_call_id|tool_use_id|toolUseId|toolCallId)$/.test(name ?? '')
    )
  })

type Dispatch = Pick<ToolAnswer, 'dispatch' | 'isAwaited' | 'isText'>

const NO_DISPATCH: Dispatch = { dispatch: undefined, isAwaited: false, isText: true }

/** Follows a value to the call that computes it. */
const dispatchOf = (
  source: ParsedSource,
  value: SyntaxNode,
  before: number,
  depth = 0,
): Dispatch => {
  if (depth > 6) return NO_DISPATCH
  const next = (node: SyntaxNode | undefined): Dispatch =>
    node === undefined ? NO_DISPATCH : dispatchOf(source, node, before, depth + 1)
  switch (value.type) {
    case 'AwaitExpression':
      return { ...next(childNode(value, 'argument')), isAwaited: true }
    case 'TSAsExpression':
    case 'TSNonNullExpression':
    case 'ParenthesizedExpression':
      return next(childNode(value, 'expression'))
    case 'LogicalExpression':
      return next(childNode(value, 'left'))
    case 'Identifier':
      return next(lastValueOf(source, String(value['name']), before))
    case 'CallExpression': {
      const callee = source.textOf(childNode(value, 'callee')!)
      const [first] = childNodes(value, 'arguments')
      if (callee === 'JSON.stringify') return { ...next(first), isText: false }
      if (callee === 'String') return next(first)
      return { dispatch: foundIn(source, value), isAwaited: false, isText: true }
    }
    default:
      return NO_DISPATCH
  }
}

/** Value that a variable was given last before a position. */
const lastValueOf = (
  source: ParsedSource,
  name: string,
  before: number,
): SyntaxNode | undefined => {
  const given = source.ofType('VariableDeclarator', 'AssignmentExpression').filter(({ node }) => {
    const target = childNode(node, node.type === 'VariableDeclarator' ? 'id' : 'left')
    return target?.type === 'Identifier' && target['name'] === name && node.start < before
  })
  const last = given.at(-1)?.node
  return last && childNode(last, last.type === 'VariableDeclarator' ? 'init' : 'right')
}

/** The outermost loop around a node, inside the function that it belongs to; callbacks are crossed. */
export const outermostLoop = (found: FoundNode): SyntaxNode | undefined => {
  const { around } = found
  const border = around.findLastIndex(
    (node, at) => isFunctionNode(node) && !isCallback(around[at - 1]),
  )
  return around.slice(border + 1).find(isLoopNode)
}

const isCallback = (parent: SyntaxNode | undefined): boolean =>
  parent !== undefined && /^(?:Optional)?CallExpression$/.test(parent.type)

/** The statement around a node, in a block or at the top level. */
export const statementAround = ({ node, around }: FoundNode): SyntaxNode => {
  const chain = [...around, node]
  const at = chain.findLastIndex(({ type }) => /^(?:BlockStatement|Program)$/.test(type))
  return chain[at + 1] ?? node
}

/** Expression for the name of the tool that a dispatch runs: `handlers[name](…)` or `lookup(…)`. */
export const toolNameText = (source: ParsedSource, { node }: FoundNode): string => {
  const callee = childNode(node, 'callee')
  const property = childNode(callee, 'property')
  if (callee?.['computed'] === true && property !== undefined) return source.textOf(property)
  return `'${nameOfNode(callee) ?? 'tool'}'`
}

export const argumentsText = (source: ParsedSource, { node }: FoundNode): string =>
  childNodes(node, 'arguments')
    .map((argument) => source.textOf(argument))
    .join(', ')
