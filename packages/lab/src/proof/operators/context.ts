import { findSite, type ParsedSource, type SyntaxNode } from '../source-text.js'
import { INJECTION, type Symptom } from '../symptoms.js'
import {
  operator,
  type Operator,
  type OperatorContext,
  type Proposal,
  symptomsOf,
} from './operator.js'
import { toolAnswers } from './tool-loop.js'

/** Share of the window for the request. The rest is for the answer and estimation errors. */
const FILL = 0.7
const CHARACTERS_PER_TOKEN = 3

/** Shortens a conversation that is too long for the model. */
const truncateContext = operator(
  'truncate-context',
  'context',
  'context-overflow',
  (source, symptom, context) =>
    conversations(source, symptom, context).flatMap((property) =>
      [
        { helper: FIT_MESSAGES, title: 'Leave out the oldest messages' },
        { helper: CLIP_MESSAGES, title: 'Shorten long messages' },
      ].map(({ helper, title }) => ({
        node: property,
        edit: source.editWith(helper, (name) => {
          const fitted = `${name}(${property.child('value')!.text}, ${characterLimit(symptom)})`
          return property.replace(`${property.child('key')!.text}: ${fitted}`)
        }),
        title,
      })),
    ),
)

const characterLimit = ({ facts }: Symptom): number => {
  const { window, tokens, characters } = facts
  const size = Number(characters ?? 0)
  if (typeof window === 'number' && typeof tokens === 'number' && tokens > window && size > 0)
    return Math.floor((size * window * FILL) / tokens)
  if (typeof window === 'number') return Math.floor(window * CHARACTERS_PER_TOKEN * FILL)
  return Math.max(1000, Math.floor(size / 2))
}

/** The `messages` properties of requests to models. */
const conversations = (
  source: ParsedSource,
  { site }: Symptom,
  { sources }: OperatorContext,
): SyntaxNode[] => {
  const at = findSite(sources, site)
  return source
    .ofType('ObjectExpression')
    .filter(
      (node) =>
        at?.source !== source ||
        node.isAround(at.offset) ||
        node.around.some((each) => each.type === 'CallExpression' && each.isAround(at.offset)),
    )
    .flatMap((node) => node.children('properties'))
    .filter((each) => each.type === 'ObjectProperty' && each.child('key')?.name === 'messages')
}

const FIT_MESSAGES = `
/**
 * Leaves out the oldest messages until the rest has at most \`limit\` characters. Instructions stay,
 * and so does the task of a conversation that ends with results of tools.
 */
function fitMessages(messages⟨: any[]⟩, limit⟨: number⟩) {
  const isTask = (role⟨: string⟩) => role === 'system' || role === 'developer'
  const task = messages.at(-1)?.role === 'user' ? undefined : messages.find(({ role }) => role === 'user')
  const head = messages.filter((message) => isTask(message.role) || message === task)
  const rest = messages.filter((message) => !head.includes(message))
  while (rest.length > 1 && JSON.stringify([...head, ...rest]).length > limit) {
    rest.shift()
    // A tool result is invalid without its call.
    while (rest.length > 1 && rest[0].role === 'tool') rest.shift()
  }
  return [...head, ...rest]
}`

const CLIP_MESSAGES = `
/** Shortens the longest texts until all messages together have about \`limit\` characters. */
function clipMessages(messages⟨: any[]⟩, limit⟨: number⟩) {
  const longest = Math.floor(limit / Math.max(1, messages.filter(({ content }) => String(content).length > limit / 10).length))
  return messages.map((message) =>
    typeof message.content === 'string' && message.content.length > longest
      ? { ...message, content: message.content.slice(0, longest * 0.7) + ' … ' + message.content.slice(-longest * 0.2) }
      : message,
  )
}`

/** Sends instructions as a parameter, for providers that have no `system` messages. */
const systemParameter = operator(
  'system-parameter',
  'context',
  (context) =>
    symptomsOf(context, 'server-error').filter(
      ({ facts }) => facts['isModel'] === true && NO_SYSTEM.test(String(facts['message'])),
    ),
  (source, symptom, context) =>
    conversations(source, symptom, context).map((node) => ({
      node,
      edit: source.editWith(WITH_SYSTEM_PARAMETER, (name) =>
        node.replace(`...${name}(${node.child('value')!.text})`),
      ),
      title: 'Send instructions as the `system` parameter',
    })),
)

const NO_SYSTEM = /role\W{0,4}system|top-level .?system/i

const WITH_SYSTEM_PARAMETER = `
/** Moves messages with the role system into the parameter of that name. */
function withSystemParameter(messages⟨: any[]⟩) {
  const system = messages.filter(({ role }) => role === 'system').map(({ content }) => content).join('\\n')
  return { messages: messages.filter(({ role }) => role !== 'system'), ...(system !== '' && { system }) }
}`

/** Removes sentences that address the model from tool results. */
const stripInjectedText = operator(
  'strip-injected-text',
  'context',
  (context) => symptomsOf(context, 'untrusted-text').slice(0, 1),
  (source) => {
    // Message contents that are computed rather than written by the agent's author.
    const quoted = source
      .ofType('ObjectProperty')
      .filter((node) => /^(?:content|prompt|input)$/.test(node.child('key')?.name ?? ''))
      .flatMap((node) => {
        const content = node.child('value')
        const role = node.parent
          ?.children('properties')
          .find((each) => each.child('key')?.name === 'role')
        const said = role?.child('value')?.raw['value']
        if (content === undefined || (said !== undefined && said !== 'user')) return []
        const isWritten = /^(?:(?:String|Numeric)Literal|(?:Array|Object)Expression)$/
        const isShorthand = node.raw['shorthand'] === true
        return isWritten.test(content.type) ? [] : [{ content, isShorthand }]
      })
    return [...toolAnswers(source), ...quoted].map(({ content: node, isShorthand }) => ({
      node,
      edit: source.editWith(WITHOUT_INSTRUCTIONS, (name) =>
        node.replace(`${isShorthand ? `${node.text}: ` : ''}${name}(${node.text})`),
      ),
      title: 'Remove sentences that give the model instructions',
    }))
  },
)

const WITHOUT_INSTRUCTIONS = `
/** Removes sentences that address a model: tool results are data, not instructions. */
function withoutInstructions(result⟨: any⟩) {
  const orders = new RegExp(${JSON.stringify(INJECTION.source)}, 'i')
  const checked = (sentence⟨: string⟩) => (orders.test(sentence) ? '[removed]' : sentence)
  return typeof result === 'string' ? result.replace(/[^.!?\\n]+[.!?]?/g, checked) : result
}`

/** Passes more of a text that the agent truncates. */
const passMoreContext = operator(
  'add-missing-context',
  'context',
  (context) => symptomsOf(context, 'missing-context').slice(0, 1),
  (source) =>
    source.ofType('CallExpression').flatMap((node): Proposal[] => {
      if (!/^(?:slice|substring|substr)$/.test(node.callee?.name ?? '')) return []
      const [first, second] = node.args
      const isTail = second === undefined && first?.raw['operator'] === '-'
      const isHead = node.args.length === 2 && first?.text === '0'
      const given = isTail ? first.child('argument') : second
      const number = given?.type === 'Identifier' ? source.constant(given.name) : given
      if (number?.type !== 'NumericLiteral' || (!isTail && !isHead)) return []
      const edit = number.replace(String(Number(number.raw['value']) * 10))
      return [{ node, edit, title: 'Pass ten times as much to the model' }]
    }),
)

export const contextOperators: readonly Operator[] = [
  truncateContext,
  systemParameter,
  stripInjectedText,
  passMoreContext,
]
