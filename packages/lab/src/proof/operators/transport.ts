import { findSite, type SourceEdit, type ParsedSource, type SyntaxNode } from '../source-text.js'
import type { Symptom } from '../symptoms.js'
import {
  isSourceOf,
  isThrownIn,
  numbersOf,
  operator,
  type Operator,
  type OperatorContext,
  type Proposal,
  settingValues,
  symptomsOf,
} from './operator.js'

const RETRIES = 5

const CLIENTS =
  /^(?:OpenAI|AzureOpenAI|Anthropic|Groq|Mistral|ChatOpenAI|ChatAnthropic|ChatGroq|AnthropicBedrock)$/

/**
 * Retries a request after the delay that the server asks for. Applies only if the tape shows such
 * an answer, or a failure of the server itself: retrying anything else is never a fix.
 */
const honourRetryAfter = operator(
  'honour-retry-after',
  'transport',
  (context) =>
    symptomsOf(context, 'rate-limit', 'server-error').filter(
      ({ class: kind, facts }) => kind === 'rate-limit' || facts['isTransient'] === true,
    ),
  (source, symptom, context) => {
    const found = findSite(context.sources, symptom.site)
    const calls = isSourceOf(context, source, symptom) ? source.calls('fetch') : []
    const here = calls.filter((node) => found === undefined || node.isAround(found.offset))
    const fetches = withPlacebo(here, calls, (node) => ({
      node,
      edit: source.editWith(FETCH_WITH_RETRY, (name) => node.callee!.replace(name)),
      title: 'Wait as long as the server asks, then retry,',
    }))
    const clients = retriesOfClients(source, symptom, context)
    // Any other client, whose errors have the answer.
    const others = source
      .ofType('AwaitExpression')
      .filter((node) => found?.source === source && node.isAround(found.offset) && node.canAwait)
      .slice(-1)
      .map((node) => ({
        node,
        edit: source.editWith(WITH_RETRY, (name) =>
          node.child('argument')!.wrap(`${name}(() => `, ')'),
        ),
        title: 'Wait as long as the server asks, then retry,',
      }))
    const why = `${symptom.evidence} The agent gave up instead of waiting.`
    return [...clients, ...fetches, ...(fetches.length > 0 ? [] : others)].map((each) => ({
      ...each,
      why,
    }))
  },
)

const retriesOfClients = (
  source: ParsedSource,
  symptom: Symptom,
  context: OperatorContext,
): Proposal[] => {
  const settings = context.sources
    .flatMap((each) => settingValues(each, /^max_?retries$/i))
    .filter(({ node }) => numbersOf(node).some((value) => value < RETRIES))
  if (settings.length > 0)
    return settings
      .filter(({ node }) => node.source === source)
      .map(({ node }) => ({
        node,
        edit: node.replace(
          node.type === 'NumericLiteral' ? String(RETRIES) : `Math.max(${RETRIES}, ${node.text})`,
        ),
        title: `Let the client wait and retry up to ${RETRIES} times`,
      }))
  // A client that gave up after its own retries needs more of them.
  if (Number(symptom.facts['attempts']) < 2 || !isSourceOf(context, source, symptom)) return []
  return source
    .ofType('NewExpression')
    .filter(({ callee }) => CLIENTS.test(callee?.name ?? ''))
    .map((node) => ({
      node,
      edit: withOption(node, `maxRetries: ${RETRIES}`),
      title: `Let the client retry up to ${RETRIES} times`,
    }))
}

/** Adds an option to the object that is the first argument of a call. */
const withOption = (call: SyntaxNode, option: string): SourceEdit => {
  const [first] = call.args
  const edit = call.source.edit()
  if (first === undefined) {
    const hasBrackets = call.text.slice(call.callee!.end - call.start).includes('(')
    return hasBrackets
      ? edit.insert(call.source.text.lastIndexOf(')', call.end), `{ ${option} }`)
      : edit.insert(call.end, `({ ${option} })`)
  }
  if (first.type !== 'ObjectExpression') return edit
  const isEmpty = first.children('properties').length === 0
  return edit.insert(first.start + 1, ` ${option}${isEmpty ? ' ' : ','}`)
}

/** Pairs each proposal with a placebo: the same change at an unrelated location. */
const withPlacebo = (
  here: readonly SyntaxNode[],
  all: readonly SyntaxNode[],
  proposeAt: (node: SyntaxNode) => Proposal,
): Proposal[] => {
  const elsewhere = all.find((each) => !here.includes(each))
  const placebo = elsewhere && proposeAt(elsewhere)
  return here.map((each) => ({ ...proposeAt(each), placebo }))
}

const FETCH_WITH_RETRY = `
/** Retries after a rate limit or a server error, with the delay that the server asks for. */
async function fetchWithRetry(input⟨: string | URL | Request⟩, init⟨?: RequestInit⟩) {
  for (let attempt = 0; ; attempt++) {
    const response = await fetch(input, init)
    const isTransient = response.status === 429 || response.status >= 500
    if (!isTransient || attempt === 4) return response
    await response.body?.cancel()
    const after = response.headers.get('retry-after') ?? ''
    const askedMs = Number(after) * 1000 || Date.parse(after) - Date.now()
    const waitMs = askedMs > 0 ? askedMs : 250 * 2 ** attempt
    await new Promise((resolve) => setTimeout(resolve, waitMs))
  }
}`

const WITH_RETRY = `
/** Retries after a rate limit or a server error, with the delay that the server asks for. */
async function withRetry⟨<Result>⟩(call⟨: () => Promise<Result>⟩)⟨: Promise<Result>⟩ {
  for (let attempt = 0; ; attempt++) {
    try {
      return await call()
    } catch (error⟨: any⟩) {
      const response = error.response ?? error
      const status = error.status ?? error.statusCode ?? response.status ?? response.statusCode
      if (attempt === 4 || (status !== 429 && !(status >= 500))) throw error
      const headers = response.headers ?? error.responseHeaders ?? {}
      const after = (typeof headers.get === 'function' ? headers.get('retry-after') : headers['retry-after']) ?? ''
      const askedMs = Number(after) * 1000 || Date.parse(after) - Date.now()
      const waitMs = askedMs > 0 ? askedMs : 250 * 2 ** attempt
      await new Promise((resolve) => setTimeout(resolve, waitMs))
    }
  }
}`

const TIMEOUT_NAME = /^(?:\w*_)?(?:request)?_?time_?out(?:_?ms)?$|^(?:\w+)?Timeout(?:Ms)?$/i
const MAX_TIMEOUT_MS = 600_000
const TIMEOUT_MS = 60_000

/** Raises time limits above the duration of the recorded answer, also in expressions. */
const raiseTimeout = operator('raise-timeout', 'transport', 'timeout', (source, { facts }) => {
  const timers = source
    .calls('setTimeout')
    .filter(({ text }) => /abort|reject/i.test(text) || source.calls('Promise.race').length > 0)
  const calls = [
    ...source.calls('AbortSignal.timeout').map(({ args }) => args[0]),
    ...timers.map(
      ({ args }) => args.find((each) => !each.isFunction && numbersOf(each).length > 0) ?? args[1],
    ),
  ]
    .map((node) => (node?.type === 'Identifier' ? (source.constant(node.name) ?? node) : node))
    .flatMap((node) => (node === undefined ? [] : [{ node, isMs: true }]))
  const settings = settingValues(source, TIMEOUT_NAME).map(({ name, node }) => ({
    node,
    isMs: /ms$/i.test(name) || isClientOption(node),
  }))
  const known = new Set<SyntaxNode>()
  return [...settings, ...calls].flatMap(({ node, isMs }): Proposal[] => {
    const values = numbersOf(node)
    if (known.has(node) || (values.length === 0 && !isMs)) return []
    known.add(node)
    const latency = Number(facts['latencyMs'] ?? 0)
    const least = Math.min(...values)
    if (latency > 0 && least > latency * 3 && least > 1000 && least !== Infinity) return []
    // Where the unit is not known, small numbers may be seconds.
    const most = Math.max(0, ...values)
    const floor = isMs || most >= 100 ? TIMEOUT_MS : 0
    const raised = grouped(Math.min(MAX_TIMEOUT_MS, Math.max(most * 20, floor)))
    const isPlain = node.type === 'NumericLiteral'
    const title = isPlain
      ? `Raise the time limit from ${node.text} to ${raised.replaceAll('_', '')}`
      : `Raise the time limit \`${node.text}\` to at least ${raised.replaceAll('_', '')}`
    const edit = node.replace(isPlain ? raised : `Math.max(${raised}, ${node.text})`)
    // A timer that nobody clears would keep the program running.
    if (!/clearTimeout|unref/.test(source.text))
      for (const { args, end } of timers)
        if (args.some((each) => each === node || source.constant(each.name) === node))
          edit.insert(end, '.unref()')
    return [{ node, edit, title }]
  })
})

/** With digit separators: `60_000`. */
const grouped = (value: number): string => {
  const digits = String(value)
  return digits.length < 5 ? digits : digits.replaceAll(/\B(?=(?:\d{3})+$)/g, '_')
}

/** Options of the clients of models, whose time limits are in milliseconds. */
const isClientOption = (node: SyntaxNode): boolean =>
  node.around.some(
    ({ type, callee }) =>
      (type === 'NewExpression' && CLIENTS.test(callee?.name ?? '')) ||
      (type === 'CallExpression' && /^(?:create|fetch|axios|got)$/.test(callee?.name ?? '')),
  )

/** Parses JSON that a model wrapped in a code fence or words, or wrote with trailing commas. */
const repairJson = operator(
  'repair-json',
  'transport',
  (context) =>
    symptomsOf(context, 'malformed-json').filter(
      ({ facts }) => facts['isCutOff'] !== true && facts['kind'] !== 'object',
    ),
  (source, _symptom, context) => {
    // The library parses the answer itself, and asks for its text first.
    const generated = source.calls('generateObject').flatMap((node): Proposal[] => {
      const [options] = node.args
      const names = options?.propertyNames ?? []
      if (options?.type !== 'ObjectExpression' || names.includes('experimental_repairText'))
        return []
      const edit = source.editWith(PARSE_MODEL_JSON, (name) => {
        const type = source.isTyped ? ': { text: string }' : ''
        const option = `experimental_repairText: async ({ text }${type}) => JSON.stringify(${name}(text)),`
        return source.edit().insert(options.start + 1, ` ${option}`)
      })
      const title = 'Accept JSON with a code fence, words around it or trailing commas'
      return [{ node, edit, title }]
    })
    const all = source.calls('JSON.parse').filter(({ args }) => args.length === 1)
    const failed = all.filter((node) => isThrownIn(context, node))
    const parsed = withPlacebo(failed.length === 0 ? all : failed, all, (node) => ({
      node,
      edit: source.editWith(PARSE_MODEL_JSON, (name) => node.callee!.replace(name)),
      title: 'Accept JSON with a code fence, words around it or trailing commas',
    }))
    return [...parsed, ...generated]
  },
)

const PARSE_MODEL_JSON = `
/** Parses JSON that a model wrote: accepts a code fence, words around it and trailing commas. */
function parseModelJson(text⟨: string⟩) {
  try {
    return JSON.parse(text)
  } catch (error) {
    const start = text.search(/[[{]/)
    const end = Math.max(text.lastIndexOf('}'), text.lastIndexOf(']'))
    if (start < 0 || end < start) throw error
    const json = text.slice(start, end + 1)
    try {
      return JSON.parse(json)
    } catch {
      // Keeps strings; fixes commas before a closing bracket and Python's literals.
      const words⟨: Record<string, string>⟩ = { True: 'true', False: 'false', None: 'null' }
      const slips = /("(?:[^"\\\\]|\\\\.)*")|,(?=\\s*[}\\]])|\\b(?:True|False|None)\\b/g
      return JSON.parse(json.replace(slips, (found, string) => string ?? words[found] ?? ''))
    }
  }
}`

/** Accepts a text that an answer has in parts, or not at all. */
const textOfParts = operator(
  'text-of-parts',
  'transport',
  (context) =>
    symptomsOf(context, 'exception')
      .filter(({ facts }) => facts['isNot'] === 'a function')
      .slice(0, 1),
  (source, { evidence }, { thrownAt: [at], steps }) => {
    const hasParts = steps.some(
      ({ result, responseText }) =>
        /"content":\s*\[\s*\{/.test(responseText) || Array.isArray(result),
    )
    if (at?.source !== source || !hasParts) return []
    return source.ofType('CallExpression').flatMap((node): Proposal[] => {
      const { object, name = '' } = node.callee ?? {}
      if (!node.isAround(at.offset) || object === undefined || !TEXT_METHOD.test(name)) return []
      return [
        {
          node,
          edit: source.editWith(TEXT_OF, (helper) => object.wrap(`${helper}(`, ')')),
          title: 'Accept text in parts',
          why: `${evidence} The answer has its text in parts.`,
        },
      ]
    })
  },
)

const TEXT_METHOD =
  /^(?:trim|trimEnd|trimStart|split|replace|replaceAll|toLowerCase|toUpperCase|startsWith|endsWith|match|matchAll|slice|padEnd)$/

const TEXT_OF = `
/** A text that some servers send as a list of parts. */
function textOf(content⟨: any⟩)⟨: string⟩ {
  if (!Array.isArray(content)) return content ?? ''
  return content.map((part) => (typeof part === 'string' ? part : (part.text ?? ''))).join('')
}`

export const transportOperators: readonly Operator[] = [
  honourRetryAfter,
  raiseTimeout,
  repairJson,
  textOfParts,
]
