import { findSite, type ParsedSource, type SyntaxNode } from '../source-text.js'
import { INJECTION, type Symptom } from '../symptoms.js'
import {
  operator,
  type Operator,
  type OperatorContext,
  oracleSymptom,
  type Proposal,
  symptomsOf,
} from './operator.js'
import { statementAround, toolAnswers } from './tool-loop.js'

/** Share of the window for the request. The rest is for the answer and estimation errors. */
const FILL = 0.7
const CHARACTERS_PER_TOKEN = 3

/** Shortens a conversation that is too long for the model. */
const truncateContext = operator(
  'truncate-context',
  'context',
  'context-overflow',
  (source, symptom, context) =>
    [
      ...conversations(source, symptom, context, PROMPTS),
      ...invocations(source, symptom, context),
    ].flatMap((node) =>
      [
        { helper: FIT_MESSAGES, title: 'Leave out the oldest messages' },
        { helper: CLIP_TEXTS, title: 'Shorten long texts' },
      ]
        .filter(({ helper }) => helper === CLIP_TEXTS || node.child('key')?.name === 'messages')
        .map(({ helper, title }) => ({
          node,
          edit: source.editWith(helper, (name) => {
            const value = node.child('value') ?? node
            const fitted = `${name}(${value.text}, ${characterLimit(symptom)})`
            return node.replace(value === node ? fitted : `${node.child('key')!.text}: ${fitted}`)
          }),
          title,
        })),
    ),
)

/** Fields of requests to models that grow with what the agent reads. */
const PROMPTS = /^(?:messages|input|prompt|contents)$/

/** The argument of `model.invoke(…)`, unless it has a field with the conversation. */
const invocations = (
  source: ParsedSource,
  { site }: Symptom,
  { sources }: OperatorContext,
): SyntaxNode[] => {
  const at = findSite(sources, site)
  return source
    .ofType('CallExpression')
    .filter(({ callee }) =>
      /^(?:invoke|stream|generateContent|sendMessage)$/.test(callee?.name ?? ''),
    )
    .filter((node) => at?.source !== source || node.isAround(at.offset))
    .flatMap(({ args: [prompt] }) =>
      prompt === undefined || prompt.propertyNames.some((name) => PROMPTS.test(name))
        ? []
        : [prompt],
    )
}

const characterLimit = ({ facts }: Symptom): number => {
  const { window, tokens, characters } = facts
  const size = Number(characters ?? 0)
  if (typeof window === 'number' && typeof tokens === 'number' && tokens > window && size > 0)
    return Math.floor((size * window * FILL) / tokens)
  if (typeof window === 'number') return Math.floor(window * CHARACTERS_PER_TOKEN * FILL)
  return Math.max(1000, Math.floor(size / 2))
}

/** The `messages` of requests to models, or other properties of them. */
const conversations = (
  source: ParsedSource,
  { site }: Symptom,
  { sources }: OperatorContext,
  names = /^messages$/,
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
    .filter((each) => each.type === 'ObjectProperty' && names.test(each.child('key')?.name ?? ''))
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

const CLIP_TEXTS = `
/** Shortens the longest texts in a prompt until it has about \`limit\` characters. */
function clipTexts(prompt⟨: any⟩, limit⟨: number⟩)⟨: any⟩ {
  const long = new Set()
  const find = (value⟨: any⟩) => {
    if (typeof value === 'string' && value.length > limit / 10) long.add(value)
    if (typeof value === 'object' && value !== null) Object.values(value).forEach(find)
  }
  find(prompt)
  const longest = Math.floor(limit / Math.max(1, long.size))
  const clip = (value⟨: any⟩)⟨: any⟩ => {
    if (typeof value === 'string' && value.length > longest)
      return value.slice(0, longest * 0.7) + ' … ' + value.slice(-longest * 0.2)
    if (Array.isArray(value)) return value.map(clip)
    if (typeof value !== 'object' || value === null) return value
    const entries = Object.entries(value).map(([name, member]) => [name, clip(member)])
    return Object.assign(Object.create(Object.getPrototypeOf(value)), Object.fromEntries(entries))
  }
  return clip(prompt)
}`

/** Sends instructions as a parameter, for providers that have no `system` messages. */
const systemParameter = operator(
  'system-parameter',
  'context',
  (context) =>
    symptomsOf(context, 'server-error').filter(
      ({ facts }) => facts['isModel'] === true && NO_SYSTEM.test(String(facts['message'])),
    ),
  (source, symptom, context) => [
    ...conversations(source, symptom, context).map((node) => ({
      node,
      edit: source.editWith(WITH_SYSTEM_PARAMETER, (name) =>
        node.replace(`...${name}(${node.child('value')!.text})`),
      ),
      title: 'Send instructions as the `system` parameter',
    })),
    ...conversations(source, symptom, context, /^contents$/).map((node) => {
      const request = node.parent!
      // Only the new SDK has the model and its settings in one object.
      const isSettings =
        request.propertyNames.includes('model') && request.parent?.callee?.text !== 'JSON.stringify'
      const field = isSettings ? 'config' : 'systemInstruction'
      return {
        node,
        edit: source.editWith(WITH_SYSTEM_INSTRUCTION, (name) =>
          request.wrap(`${name}(`, `, '${field}')`),
        ),
        title: 'Send instructions as `systemInstruction`',
      }
    }),
  ],
)

const NO_SYSTEM = /role\W{0,4}system|system\W{0,4} role|top-level .?system|valid role/i

const WITH_SYSTEM_PARAMETER = `
/** Moves messages with the role system into the parameter of that name. */
function withSystemParameter(messages⟨: any[]⟩) {
  const isSystem = ({ role }⟨: any⟩) => role === 'system' || role === 'developer'
  const system = messages.filter(isSystem).map(({ content }) => content).join('\\n')
  return { messages: messages.filter((message) => !isSystem(message)), ...(system !== '' && { system }) }
}`

const WITH_SYSTEM_INSTRUCTION = `
/** Moves contents with the role system into the instruction of a request to Gemini. */
function withSystemInstruction(request⟨: any⟩, field⟨: string⟩)⟨: any⟩ {
  const isSystem = ({ role }⟨: any⟩) => role === 'system' || role === 'developer'
  const parts = request.contents.filter(isSystem).flatMap((content⟨: any⟩) => content.parts)
  if (parts.length === 0) return request
  const instruction = { parts }
  const contents = request.contents.filter((content⟨: any⟩) => !isSystem(content))
  return field === 'config'
    ? { ...request, contents, config: { ...request.config, systemInstruction: instruction } }
    : { ...request, contents, systemInstruction: instruction }
}`

// ── Order of messages ───────────────────────────────────────────────────────

/** Words of providers about calls of tools and the messages that answer them. */
const ORDER_ERROR =
  /tool_calls?\b|tool_use|tool_result|tool messages?\b|role ['"`]?tool\b|function (?:call|response)|roles? must alternate|must alternate/i

/** Puts messages in the order that the provider requires. */
const messageOrder = operator(
  'message-order',
  'context',
  (context) =>
    symptomsOf(context, 'server-error')
      .filter(
        ({ facts }) =>
          facts['isRejected'] === true &&
          (facts['order'] !== undefined ||
            (facts['isModel'] === true && ORDER_ERROR.test(String(facts['message'])))),
      )
      .slice(0, 1),
  (source, symptom, context) => {
    const { order, message } = symptom.facts
    const isAlternating = /alternat/i.test(String(message)) && order === undefined
    const [helper, title] = isAlternating
      ? [JOIN_TURNS, 'Join messages of one role']
      : order === 'result-without-call'
        ? [WITHOUT_LOST_RESULTS, 'Leave out results of tools whose call is not in the conversation']
        : [RESULTS_AFTER_CALLS, 'Put results of tools directly after their calls']
    return [
      ...(isAlternating ? [] : movedNotes(source)),
      ...conversations(source, symptom, context).map((node) => ({
        node,
        edit: source.editWith(helper, (name) =>
          node.replace(`messages: ${name}(${node.child('value')!.text})`),
        ),
        title,
      })),
    ]
  },
)

/** Moves messages between tool calls and their results after the results. */
const movedNotes = (source: ParsedSource): Proposal[] =>
  toolAnswers(source).flatMap(({ message }) => {
    const push = message.parent
    const loop = message.around.findLast((each) => each.isLoop)
    const list = push?.callee?.text
    if (loop === undefined || list === undefined || !list.endsWith('.push')) return []
    const variables = new Set(
      [loop.child('left'), loop.child('init')].flatMap(
        (each) => each?.text.match(/[\p{L}_$][\p{L}\p{N}_$]*/gu) ?? [],
      ),
    )
    const answer = statementAround(message)
    return source
      .ofType('ExpressionStatement')
      .filter((node) => {
        const call = node.child('expression')
        const isNote =
          call?.callee?.text === list &&
          call.args.length === 1 &&
          call.args[0]!.type === 'ObjectExpression' &&
          node !== answer
        const isBefore = node.parent === loop.parent && node.end <= loop.start
        const isWithin =
          node.parent === loop.child('body') &&
          !(node.text.match(/[\p{L}_$][\p{L}\p{N}_$]*/gu) ?? []).some((word) => variables.has(word))
        return (
          isNote && /role: ['"](?:user|system|developer)/.test(node.text) && (isBefore || isWithin)
        )
      })
      .map((node) => {
        const siblings = node.parent?.children('body') ?? []
        const before = siblings[siblings.indexOf(node) - 1]
        const start = before?.end ?? source.text.lastIndexOf('\n', node.start)
        const edit = source
          .edit()
          .replace({ start, end: node.end }, '')
          .insert(loop.end, `\n${loop.indent}${node.text}`)
        return { node, edit, title: 'Add the message after the results of the tools' }
      })
  })

export const RESULTS_AFTER_CALLS = `
/** Puts results of tools directly after the message with their calls. Other messages follow them. */
function resultsAfterCalls(messages⟨: any[]⟩)⟨: any[]⟩ {
  const blocks = (message⟨: any⟩) => (Array.isArray(message.content) ? message.content : [])
  const calls = (message⟨: any⟩) => [
    ...(message.tool_calls ?? []).map(({ id }⟨: any⟩) => id),
    ...blocks(message).flatMap(({ type, id }⟨: any⟩) => (type === 'tool_use' ? [id] : [])),
  ]
  const answered = (message⟨: any⟩) => [
    ...(message.role === 'tool' ? [message.tool_call_id] : []),
    ...blocks(message).flatMap(({ type, tool_use_id: id }⟨: any⟩) => (type === 'tool_result' ? [id] : [])),
  ]
  const isResult = ({ type }⟨: any⟩) => type === 'tool_result'
  const ordered⟨: any[]⟩ = []
  for (let rest = [...messages]; rest.length > 0; ) {
    const message = rest.shift()
    ordered.push(message)
    const open = calls(message)
    const isAnswer = (other⟨: any⟩) => answered(other).some((id⟨: any⟩) => open.includes(id))
    const results = rest.filter(isAnswer)
    const parts = results.flatMap(blocks)
    // Results in blocks belong into one message, before its texts.
    if (parts.some(isResult))
      ordered.push({ ...results[0], content: [...parts.filter(isResult), ...parts.filter((part) => !isResult(part))] })
    else ordered.push(...results)
    rest = rest.filter((other) => !isAnswer(other))
  }
  return ordered
}`

const WITHOUT_LOST_RESULTS = `
/** Leaves out results of tools whose call was left out before. */
function withoutLostResults(messages⟨: any[]⟩)⟨: any[]⟩ {
  const blocks = (message⟨: any⟩) => (Array.isArray(message.content) ? message.content : [])
  const called = new Set(
    messages.flatMap((message) => [
      ...(message.tool_calls ?? []).map(({ id }⟨: any⟩) => id),
      ...blocks(message).map(({ id }⟨: any⟩) => id),
    ]),
  )
  return messages.filter(
    (message) =>
      (message.role !== 'tool' || called.has(message.tool_call_id)) &&
      !blocks(message).some(({ type, tool_use_id: id }⟨: any⟩) => type === 'tool_result' && !called.has(id)),
  )
}`

const JOIN_TURNS = `
/** Joins adjacent messages of one role, which some models require. */
function joinTurns(messages⟨: any[]⟩)⟨: any[]⟩ {
  const turns⟨: any[]⟩ = []
  for (const message of messages) {
    const last = turns.at(-1)
    const isJoinable =
      last?.role === message.role && [last.content, message.content].every((content) => typeof content === 'string')
    if (isJoinable) turns[turns.length - 1] = { ...last, content: \`\${last.content}\\n\\n\${message.content}\` }
    else turns.push(message)
  }
  return turns
}`

// ── Text of others ──────────────────────────────────────────────────────────

/** Removes sentences that address the model from tool results. */
const stripInjectedText = operator(
  'strip-injected-text',
  'context',
  (context) => symptomsOf(context, 'untrusted-text').slice(0, 1),
  (source, { facts }) => {
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
      edit: source.editWith(withoutInstructions(facts['action']), (name) =>
        node.replace(`${isShorthand ? `${node.text}: ` : ''}${name}(${node.text})`),
      ),
      title: 'Remove sentences that give the model instructions',
    }))
  },
)

/** `action`: what the text made the model do, such as `forward`. */
const withoutInstructions = (action: unknown): string => {
  const orders = typeof action === 'string' ? `${INJECTION.source}|\\b${action}` : INJECTION.source
  return `
/** Removes sentences that address a model: tool results are data, not instructions. */
function withoutInstructions(result⟨: any⟩) {
  const orders = new RegExp(${JSON.stringify(orders)}, 'iu')
  const checked = (sentence⟨: string⟩) => (orders.test(sentence) ? '[removed]' : sentence)
  return typeof result === 'string' ? result.replace(/[^.!?\\n]+[.!?]?/g, checked) : result
}`
}

/** Passes more of a text that the agent truncates. */
const passMoreContext = operator(
  'add-missing-context',
  'context',
  (context) =>
    symptomsOf(context, 'exception').length > 0
      ? symptomsOf(context, 'missing-context').slice(0, 1)
      : [...symptomsOf(context, 'missing-context'), oracleSymptom(context)].slice(0, 1),
  (source) =>
    source.ofType('CallExpression').flatMap((node): Proposal[] => {
      if (!/^(?:slice|substring|substr)$/.test(node.callee?.name ?? '')) return []
      if (/Date|ISO|JSON\(\)/.test(node.callee!.object!.text)) return []
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
  messageOrder,
  systemParameter,
  stripInjectedText,
  passMoreContext,
]
