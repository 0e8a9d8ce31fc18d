import { findSite, type ParsedSource, type SyntaxNode } from '../source-text.js'
import { INJECTION, type Symptom } from '../symptoms.js'
import {
  numericSettings,
  operator,
  type Operator,
  type OperatorContext,
  oracleSymptom,
  type Proposal,
  symptomsOf,
} from './operator.js'
import { methodCalls } from './pitfalls.js'
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
        .filter(({ helper }) => helper === CLIP_TEXTS || isConversation(node))
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

/** A list of messages, rather than a text. */
const isConversation = (node: SyntaxNode): boolean => {
  const name = node.child('key')?.name ?? ''
  const value = node.child('value')
  return (
    name === 'messages' ||
    (/^(?:input|contents)$/.test(name) &&
      (value?.type === 'ArrayExpression' ||
        /messages|history|items|turns|conversation/i.test(value?.text ?? '')))
  )
}

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
  const all = source
    .ofType('ObjectProperty')
    .filter((each) => names.test(each.child('key')?.name ?? ''))
    .filter((each) => each.parent?.type === 'ObjectExpression')
  if (at?.source !== source) return all
  const sent = all.filter(({ around }) =>
    around.some(
      (each) => /^(?:Object|Call)Expression$/.test(each.type) && each.isAround(at.offset),
    ),
  )
  // The request may be built in a variable before it is sent.
  return sent.length > 0 ? sent : all
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

/** What providers say about a conversation that the assistant begins. */
const FIRST_IS_USER =
  /first (?:non-system )?(?:message|content|turn)\b.{0,60}\buser\b|(?:start|begin)s? with (?:a |the )?['"`]?(?:role ['"`]?)?user\b|must be (?:a |from the )?user (?:message|turn).{0,20}first/i

/** What providers say about instructions that follow other messages. */
const FIRST_IS_SYSTEM =
  /system (?:message|role|prompt)s?\b.{0,60}\b(?:first|begin\w*|start)\b|only .{0,30}first message .{0,30}system/i

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
            (facts['isModel'] === true &&
              [ORDER_ERROR, FIRST_IS_USER, FIRST_IS_SYSTEM].some((each) =>
                each.test(String(facts['message'])),
              ))),
      )
      .slice(0, 1),
  (source, symptom, context) => {
    const { order, message } = symptom.facts
    if (order === undefined && !ORDER_ERROR.test(String(message))) {
      const isSystem = FIRST_IS_SYSTEM.test(String(message))
      return conversations(source, symptom, context, CONVERSATIONS).map((node) => {
        const hasParts = node.child('key')?.name === 'contents'
        const opening = hasParts ? USER_FIRST_IN_PARTS : USER_FIRST
        return {
          node,
          edit: source.editWith(isSystem ? SYSTEM_FIRST : opening, (name) =>
            node.replace(`${node.child('key')!.text}: ${name}(${node.child('value')!.text})`),
          ),
          title: isSystem
            ? 'Send instructions before the other messages'
            : 'Begin the conversation with a message of the user',
        }
      })
    }
    const isAlternating = /alternat/i.test(String(message)) && order === undefined
    const kind = order === 'result-without-call' ? 'lost' : 'late'
    return [
      ...(isAlternating ? [] : movedNotes(source)),
      ...conversations(source, symptom, context, /^(?:messages|input)$/)
        .filter((node) => isConversation(node))
        .flatMap((node) =>
          REORDERED[isAlternating ? 'alternating' : kind].map(([helper, title]) => ({
            node,
            edit: source.editWith(helper, (name) =>
              node.replace(`${node.child('key')!.text}: ${name}(${node.child('value')!.text})`),
            ),
            title,
          })),
        ),
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

const CONVERSATIONS = /^(?:messages|input|contents)$/

const userFirst = (name: string, content: string): string => `
/** Adds a message of the user before a conversation that the assistant begins. */
function ${name}(messages⟨: any⟩)⟨: any⟩ {
  const at = messages.findIndex(({ role }⟨: any⟩) => role !== 'system' && role !== 'developer')
  if (at < 0 || messages[at].role === 'user') return messages
  return [...messages.slice(0, at), { role: 'user', ${content} }, ...messages.slice(at)]
}`
/** Providers refuse an empty text. */
const OPENING = "'(The conversation begins.)'"
const USER_FIRST = userFirst('userFirst', `content: ${OPENING}`)
const USER_FIRST_IN_PARTS = userFirst('userFirst', `parts: [{ text: ${OPENING} }]`)

const SYSTEM_FIRST = `
/** Puts instructions, as one message, before the other messages. */
function systemFirst(messages⟨: any⟩)⟨: any⟩ {
  const isSystem = ({ role }⟨: any⟩) => role === 'system' || role === 'developer'
  const [first, ...others] = messages.filter(isSystem)
  if (first === undefined) return messages
  const content = [first, ...others].map((message) => message.content).join('\\n\\n')
  return [{ ...first, content }, ...messages.filter((message⟨: any⟩) => !isSystem(message))]
}`

const WITHOUT_LOST_RESULTS = `
/** Leaves out results of tools whose call was left out before. */
function withoutLostResults(messages⟨: any[]⟩)⟨: any[]⟩ {
  const blocks = (message⟨: any⟩) => (Array.isArray(message.content) ? message.content : [])
  const called = new Set(
    messages.flatMap((message) => [
      ...(message.tool_calls ?? []).map(({ id }⟨: any⟩) => id),
      ...blocks(message).map(({ id }⟨: any⟩) => id),
      ...(message.type === 'function_call' ? [message.call_id] : []),
    ]),
  )
  return messages.filter(
    (message) =>
      (message.role !== 'tool' || called.has(message.tool_call_id)) &&
      (message.type !== 'function_call_output' || called.has(message.call_id)) &&
      !blocks(message).some(({ type, tool_use_id: id }⟨: any⟩) => type === 'tool_result' && !called.has(id)),
  )
}`

const JOIN_TURNS = `
/** Joins adjacent messages of one role, which some models require. */
function joinTurns(messages⟨: any[]⟩)⟨: any[]⟩ {
  const turns⟨: any[]⟩ = []
  for (const message of messages) {
    const last = turns.at(-1)
    const contents = last?.role === message.role && message.role !== 'tool' ? [last.content, message.content] : []
    const parts = (content⟨: any⟩) => (typeof content === 'string' ? [{ type: 'text', text: content }] : content)
    if (contents.length > 0 && contents.every((content) => typeof content === 'string'))
      turns[turns.length - 1] = { ...last, content: contents.join('\\n\\n') }
    else if (contents.length > 0 && contents.every((content) => typeof content === 'string' || Array.isArray(content)))
      turns[turns.length - 1] = { ...last, content: contents.flatMap(parts) }
    else turns.push(message)
  }
  return turns
}`

/** Changes of a conversation by what is wrong with its order. */
const REORDERED: Readonly<
  Record<'alternating' | 'late' | 'lost', readonly (readonly [helper: string, title: string])[]>
> = {
  alternating: [
    [JOIN_TURNS, 'Join messages of one role'],
    [USER_FIRST, 'Begin the conversation with a message of the user'],
  ],
  late: [[RESULTS_AFTER_CALLS, 'Put results of tools directly after their calls']],
  lost: [
    [WITHOUT_LOST_RESULTS, 'Leave out results of tools whose call is not in the conversation'],
  ],
}

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
  (source, _symptom, { sources }) => {
    const limits = sources.flatMap(lengthLimits)
    const names = new Set(limits.flatMap(({ name }) => name ?? []))
    // Settings with the limit, which may be in another file.
    const settings = numericSettings(source, /./).filter(({ name }) => names.has(name))
    const numbers = [...limits, ...settings.map(({ node }) => node)].filter(
      (node) => node.source === source && node.type === 'NumericLiteral',
    )
    return [...new Set(numbers)].map((node) => ({
      node,
      edit: node.replace(String(Number(node.raw['value']) * 10)),
      title: 'Pass ten times as much to the model',
    }))
  },
)

/** Numbers, or names of numbers, to which code shortens texts and lists. */
const lengthLimits = (source: ParsedSource): SyntaxNode[] => [
  ...source.ofType('CallExpression').flatMap((node): SyntaxNode[] => {
    const { name = '', object } = node.callee ?? {}
    const [first, second] = node.args
    if (!/^(?:slice|substring|substr|splice)$/.test(name) || object === undefined) return []
    if (/Date|ISO|JSON\(\)/.test(object.text)) return []
    // `list.splice(0, list.length - 6)` and `list.slice(list.length - 6)`
    const rest = name === 'splice' ? second : second === undefined ? first : undefined
    if (rest?.raw['operator'] === '-' && rest.child('left')?.name === 'length')
      return [rest.child('right')!]
    if (name === 'splice') return []
    const isTail = second === undefined && first?.raw['operator'] === '-'
    if (isTail) return [first.child('argument') ?? first]
    return second !== undefined && first?.text === '0' ? [second] : []
  }),
  // `while (list.length > 6) list.shift()`
  ...methodCalls(source, /^(?:shift|splice)$/).flatMap(({ node, object }) => {
    const test = node.around
      .findLast(({ type }) => /^(?:While|If|For)Statement$/.test(type))
      ?.child('test')
    const isLength = test?.child('left')?.text === `${object.text}.length`
    return isLength && /^>=?$/.test(String(test?.raw['operator'])) ? test.child('right')! : []
  }),
]

export const contextOperators: readonly Operator[] = [
  truncateContext,
  messageOrder,
  systemParameter,
  stripInjectedText,
  passMoreContext,
]
