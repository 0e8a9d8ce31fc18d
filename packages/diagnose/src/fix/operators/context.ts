import type { FixCandidate } from '../candidates.js'
import {
  childNode,
  childNodes,
  findSite,
  nameOfNode,
  type ParsedSource,
  type SyntaxNode,
} from '../source-text.js'
import { INJECTION, type Symptom } from '../symptoms.js'
import {
  candidateOf,
  constantOf,
  isAround,
  type Operator,
  type OperatorContext,
  symptomsOf,
} from './operator.js'
import { toolAnswers } from './tool-loop.js'

/** Part of the window that a request may fill; the rest is for the answer and for what was estimated wrongly. */
const FILL = 0.7
const CHARACTERS_PER_TOKEN = 3

/** Shortens a conversation that is too long for the model. */
const truncateContext: Operator = (context) =>
  symptomsOf(context, 'context-overflow').flatMap((symptom) => {
    const limit = characterLimit(symptom)
    return conversations(context, symptom).flatMap(({ source, property, value }) => {
      const text = {
        operator: 'truncate-context',
        layer: 'context' as const,
        symptom,
      }
      const given = source.textOf(value)
      const candidate = (name: string, helper: string, title: string): FixCandidate[] =>
        candidateOf(
          source
            .edit()
            .replace(
              property,
              `${source.textOf(childNode(property, 'key')!)}: ${name}(${given}, ${limit})`,
            )
            .addFunction(helper),
          { ...text, title: `${title} in ${source.where(property)}` },
        )
      const fit = source.freeName('fitMessages')
      const clip = source.freeName('clipMessages')
      return [
        ...candidate(fit, fitMessages(fit, source.isTyped), 'Leave out the oldest messages'),
        ...candidate(clip, clipMessages(clip, source.isTyped), 'Shorten long messages'),
      ]
    })
  })

const characterLimit = ({ facts }: Symptom): number => {
  const { window, tokens, characters } = facts
  const size = Number(characters ?? 0)
  if (typeof window === 'number' && typeof tokens === 'number' && tokens > window && size > 0)
    return Math.floor((size * window * FILL) / tokens)
  if (typeof window === 'number') return Math.floor(window * CHARACTERS_PER_TOKEN * FILL)
  return Math.max(1000, Math.floor(size / 2))
}

/** `messages` of requests to models, as properties. */
const conversations = (
  { sources }: OperatorContext,
  { site }: Symptom,
): {
  readonly source: ParsedSource
  readonly property: SyntaxNode
  readonly value: SyntaxNode
}[] => {
  const at = findSite(sources, site)
  return sources.flatMap((source) =>
    source
      .ofType('ObjectExpression')
      .filter(
        ({ node, around }) =>
          at?.source !== source ||
          isAround(node, at.offset) ||
          around.some((each) => each.type === 'CallExpression' && isAround(each, at.offset)),
      )
      .flatMap(({ node }) => childNodes(node, 'properties'))
      .filter(
        (property) =>
          property.type === 'ObjectProperty' &&
          nameOfNode(childNode(property, 'key')) === 'messages',
      )
      .map((property) => ({ source, property, value: childNode(property, 'value')! })),
  )
}

const fitMessages = (name: string, isTyped: boolean): string => `
/**
 * Leaves out the oldest messages until the rest has at most \`limit\` characters. Instructions stay,
 * and so does the task of a conversation that ends with results of tools.
 */
function ${name}(${isTyped ? 'messages: any[], limit: number' : 'messages, limit'}) {
  const isTask = (${isTyped ? 'role: string' : 'role'}) => role === 'system' || role === 'developer'
  const task = messages.at(-1)?.role === 'user' ? undefined : messages.find(({ role }) => role === 'user')
  const head = messages.filter((message) => isTask(message.role) || message === task)
  const rest = messages.filter((message) => !head.includes(message))
  while (rest.length > 1 && JSON.stringify([...head, ...rest]).length > limit) {
    rest.shift()
    // A result of a tool is nothing without its call.
    while (rest.length > 1 && rest[0].role === 'tool') rest.shift()
  }
  return [...head, ...rest]
}`

const clipMessages = (name: string, isTyped: boolean): string => `
/** Shortens the longest texts until all messages together have about \`limit\` characters. */
function ${name}(${isTyped ? 'messages: any[], limit: number' : 'messages, limit'}) {
  const longest = Math.floor(limit / Math.max(1, messages.filter(({ content }) => String(content).length > limit / 10).length))
  return messages.map((message) =>
    typeof message.content === 'string' && message.content.length > longest
      ? { ...message, content: message.content.slice(0, longest * 0.7) + ' … ' + message.content.slice(-longest * 0.2) }
      : message,
  )
}`

/** Sends instructions as a parameter to providers that have no messages with the role system. */
const systemParameter: Operator = (context) =>
  symptomsOf(context, 'server-error')
    .filter(({ facts }) => facts['isModel'] === true && NO_SYSTEM.test(String(facts['message'])))
    .flatMap((symptom) =>
      conversations(context, symptom).flatMap(({ source, property, value }) => {
        const name = source.freeName('withSystemParameter')
        return candidateOf(
          source
            .edit()
            .replace(property, `...${name}(${source.textOf(value)})`)
            .addFunction(withSystemParameter(name, source.isTyped)),
          {
            operator: 'system-parameter',
            layer: 'context',
            title: `Send instructions as the parameter system in ${source.where(property)}`,
            symptom,
          },
        )
      }),
    )

const NO_SYSTEM = /role\W{0,4}system|top-level .?system/i

const withSystemParameter = (name: string, isTyped: boolean): string => `
/** Messages without those of the role system, which are joined to the parameter of this name. */
function ${name}(messages${isTyped ? ': any[]' : ''}) {
  const system = messages.filter(({ role }) => role === 'system').map(({ content }) => content).join('\\n')
  return { messages: messages.filter(({ role }) => role !== 'system'), ...(system !== '' && { system }) }
}`

/** Takes sentences that address the model out of results of tools. */
const stripInjectedText: Operator = (context) => {
  const [symptom] = symptomsOf(context, 'untrusted-text')
  if (symptom === undefined) return []
  return context.sources.flatMap((source) =>
    [...toolAnswers(source), ...quotedTexts(source)].flatMap(({ content, isShorthand }) => {
      const name = source.freeName('withoutInstructions')
      const value = source.textOf(content)
      return candidateOf(
        source
          .edit()
          .replace(content, `${isShorthand ? `${value}: ` : ''}${name}(${value})`)
          .addFunction(withoutInstructions(name, source.isTyped)),
        {
          operator: 'strip-injected-text',
          layer: 'context',
          title: `Remove sentences that give orders to the model in ${source.where(content)}`,
          symptom,
        },
      )
    }),
  )
}

/** Contents of messages that are computed, and not by the agent's author. */
const quotedTexts = (
  source: ParsedSource,
): { readonly content: SyntaxNode; readonly isShorthand: boolean }[] =>
  source.ofType('ObjectProperty').flatMap(({ node, around }) => {
    const content = childNode(node, 'value')
    const isContent = /^(?:content|prompt|input)$/.test(nameOfNode(childNode(node, 'key')) ?? '')
    const role = childNodes(around.at(-1), 'properties').find(
      (each) => nameOfNode(childNode(each, 'key')) === 'role',
    )
    const said = childNode(role, 'value')?.['value']
    if (!isContent || content === undefined || (said !== undefined && said !== 'user')) return []
    const isComputed = !/^(?:StringLiteral|NumericLiteral|ArrayExpression|ObjectExpression)$/.test(
      content.type,
    )
    return isComputed ? [{ content, isShorthand: node['shorthand'] === true }] : []
  })

const withoutInstructions = (name: string, isTyped: boolean): string => `
/** Removes sentences that address a model: results of tools are data, not orders. */
function ${name}(result${isTyped ? ': any' : ''}) {
  const orders = new RegExp(${JSON.stringify(INJECTION.source)}, 'gi')
  return typeof result === 'string' ? result.replace(orders, '[removed]') : result
}`

/** Gives the model more of what the agent cut off. */
const passMoreContext: Operator = (context) => {
  const [symptom] = symptomsOf(context, 'missing-context')
  if (symptom === undefined) return []
  return context.sources.flatMap((source) =>
    source.ofType('CallExpression').flatMap(({ node }) => {
      if (!/^(?:slice|substring|substr)$/.test(nameOfNode(childNode(node, 'callee')) ?? ''))
        return []
      const bounds = childNodes(node, 'arguments')
      const bound = bounds.length === 1 ? bounds[0] : bounds[1]
      const isTail =
        bound?.type === 'UnaryExpression' && bound['operator'] === '-' && bounds.length === 1
      const given = isTail ? childNode(bound, 'argument') : bound
      const number = given?.type === 'Identifier' ? constantOf(source, given) : given
      const isHead = bounds.length === 2 && source.textOf(bounds[0]!) === '0'
      if (number?.type !== 'NumericLiteral' || (!isTail && !isHead)) return []
      const value = Number(number['value'])
      return candidateOf(source.edit().replace(number, String(value * 10)), {
        operator: 'add-missing-context',
        layer: 'context',
        title: `Pass ten times as much to the model in ${source.where(node)}`,
        symptom,
      })
    }),
  )
}

export const contextOperators: readonly Operator[] = [
  truncateContext,
  systemParameter,
  stripInjectedText,
  passMoreContext,
]
