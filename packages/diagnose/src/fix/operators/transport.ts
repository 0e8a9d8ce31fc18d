import type { FixCandidate } from '../candidates.js'
import {
  childNode,
  childNodes,
  findSite,
  type FoundNode,
  nameOfNode,
  type ParsedSource,
  type SyntaxNode,
} from '../source-text.js'
import { fieldPaths, isNearName, leafOf, type Symptom } from '../symptoms.js'
import {
  callsOf,
  candidateOf,
  constantOf,
  sourcesFor,
  isAround,
  isThrownIn,
  numericSettings,
  operator,
  type Operator,
  type OperatorContext,
  type Proposal,
  symptomsOf,
} from './operator.js'

/** Times that a client may try again. */
const RETRIES = 5

/**
 * Sends a request again as late as the server asked for. Only where the tape shows that it asked, or
 * that the failure was its own: retrying anything else is never a fix.
 */
const honourRetryAfter: Operator = (context) =>
  symptomsOf(context, 'rate-limit', 'server-error')
    .filter(({ class: kind, facts }) => kind === 'rate-limit' || facts['isTransient'] === true)
    .flatMap((symptom) => [
      ...retriesOfClients(context, symptom),
      ...retriesOfFetch(context, symptom),
    ])

const retryText = (symptom: Symptom) => ({
  operator: 'honour-retry-after',
  layer: 'transport' as const,
  why: `${symptom.evidence} The agent gave up instead of waiting.`,
  symptom,
})

const retriesOfClients = (context: OperatorContext, symptom: Symptom): FixCandidate[] => {
  const settings = numericSettings(context.sources, /^max_?retries$/i)
    .filter(({ value }) => value < RETRIES)
    .flatMap(({ source, node }) =>
      candidateOf(source.edit().replace(node, String(RETRIES)), {
        ...retryText(symptom),
        title: `Let the client wait and retry up to ${RETRIES} times in ${source.where(node)}`,
      }),
    )
  if (settings.length > 0) return settings
  // A client that gave up after its own retries needs more of them.
  return Number(symptom.facts['attempts']) < 2
    ? []
    : clientsIn(sourcesFor(context, symptom)).flatMap(({ source, node }) =>
        candidateOf(addOption(source, node, 'maxRetries', String(RETRIES)), {
          ...retryText(symptom),
          title: `Let the client retry up to ${RETRIES} times in ${source.where(node)}`,
        }),
      )
}

const CLIENTS =
  /^(?:OpenAI|AzureOpenAI|Anthropic|Groq|Mistral|ChatOpenAI|ChatAnthropic|ChatGroq|AnthropicBedrock)$/

/** Constructor calls of SDK clients. */
const clientsIn = (
  sources: readonly ParsedSource[],
): { readonly source: ParsedSource; readonly node: SyntaxNode }[] =>
  sources.flatMap((source) =>
    source
      .ofType('NewExpression')
      .filter(({ node }) => CLIENTS.test(nameOfNode(childNode(node, 'callee')) ?? ''))
      .map(({ node }) => ({ source, node })),
  )

/** Adds an option to the object that is the first argument of a call. */
const addOption = (source: ParsedSource, call: SyntaxNode, name: string, value: string) => {
  const [first] = childNodes(call, 'arguments')
  const edit = source.edit()
  if (first === undefined) {
    const end = source.text.lastIndexOf(')', call.end)
    return source.text.slice(childNode(call, 'callee')!.end, call.end).includes('(')
      ? edit.insert(end, `{ ${name}: ${value} }`)
      : edit.insert(call.end, `({ ${name}: ${value} })`)
  }
  if (first.type !== 'ObjectExpression') return edit
  const isEmpty = childNodes(first, 'properties').length === 0
  return edit.insert(first.start + 1, ` ${name}: ${value}${isEmpty ? ' ' : ','}`)
}

const retriesOfFetch = (context: OperatorContext, symptom: Symptom): FixCandidate[] => {
  const found = findSite(context.sources, symptom.site)
  return sourcesFor(context, symptom).flatMap((source) => {
    const calls = callsOf(source, 'fetch')
    const here = calls.filter(({ node }) => found === undefined || isAround(node, found.offset))
    return withPlacebo(here, calls, ({ node }, placebo) =>
      candidateOf(
        source.editWith(FETCH_WITH_RETRY, (edit, name) =>
          edit.replace(childNode(node, 'callee')!, name),
        ),
        {
          ...retryText(symptom),
          title: `Wait as long as the server asks, then retry, in ${source.where(node)}`,
          placebo,
        },
      ),
    )
  })
}

/** The same change elsewhere, where it cannot matter, is the placebo of each candidate. */
const withPlacebo = (
  here: readonly FoundNode[],
  all: readonly FoundNode[],
  candidateAt: (found: FoundNode, placebo?: FixCandidate) => FixCandidate[],
): FixCandidate[] => {
  const elsewhere = all.find((each) => !here.includes(each))
  const placebo = elsewhere && candidateAt(elsewhere)[0]
  return here.flatMap((each) => candidateAt(each, placebo))
}

const FETCH_WITH_RETRY = `
/** Sends a request again after a rate limit or a server error, as late as the server asks for. */
async function fetchWithRetry(input⟨: string | URL | Request⟩, init⟨?: RequestInit⟩) {
  for (let attempt = 0; ; attempt++) {
    const response = await fetch(input, init)
    const isTransient = response.status === 429 || response.status >= 500
    if (!isTransient || attempt === 4) return response
    await response.body?.cancel()
    const seconds = Number(response.headers.get('retry-after'))
    const waitMs = seconds > 0 ? seconds * 1000 : 250 * 2 ** attempt
    await new Promise((resolve) => setTimeout(resolve, waitMs))
  }
}`

const TIMEOUT_NAME = /^(?:\w*_)?(?:request)?_?time_?out(?:_?ms)?$|^(?:\w+)?Timeout(?:Ms)?$/i
const LONGEST_TIMEOUT_MS = 600_000

/** Waits longer than the recorded answer took. */
const raiseTimeout = operator(
  'raise-timeout',
  'transport',
  (context) => symptomsOf(context, 'timeout'),
  (source, { facts }) => {
    const settings = numericSettings([source], TIMEOUT_NAME).map(({ node }) => node)
    const calls = [
      ...callsOf(source, 'AbortSignal.timeout').map(({ node }) => childNodes(node, 'arguments')[0]),
      ...callsOf(source, 'setTimeout')
        .filter(({ node }) => /abort|reject/i.test(source.textOf(node)))
        .map(({ node }) => childNodes(node, 'arguments')[1]),
    ]
      .map((node) => (node?.type === 'Identifier' ? constantOf(source, node) : node))
      .filter((node) => node?.type === 'NumericLiteral')
    return [...settings, ...calls].flatMap((node): Proposal[] => {
      const value = Number(node!['value'])
      const latency = Number(facts['latencyMs'] ?? 0)
      if (latency > 0 && value > latency * 3 && value > 1000) return []
      // The unit is not known: small numbers may be seconds.
      const raised = Math.min(LONGEST_TIMEOUT_MS, Math.max(value * 20, value < 100 ? 0 : 60_000))
      const title = `Raise the time limit from ${value} to ${raised}`
      return [{ node: node!, edit: source.edit().replace(node!, grouped(raised)), title }]
    })
  },
)

/** `60_000`, as people write it. */
const grouped = (value: number): string =>
  value < 10_000 ? String(value) : String(value).replaceAll(/\B(?=(?:\d{3})+$)/g, '_')

/** Reads JSON that a model wrapped in a code fence or words, or wrote with trailing commas. */
const repairJson: Operator = (context) =>
  symptomsOf(context, 'malformed-json')
    .filter(({ facts }) => facts['isCutOff'] !== true && facts['kind'] !== 'object')
    .flatMap((symptom) =>
      context.sources.flatMap((source) => {
        const all = callsOf(source, 'JSON.parse').filter(
          ({ node }) => childNodes(node, 'arguments').length === 1,
        )
        const thrown = all.filter(({ node }) => isThrownIn(context, source, node))
        return withPlacebo(thrown.length === 0 ? all : thrown, all, ({ node }, placebo) =>
          candidateOf(
            source.editWith(PARSE_MODEL_JSON, (edit, name) =>
              edit.replace(childNode(node, 'callee')!, name),
            ),
            {
              operator: 'repair-json',
              layer: 'transport',
              title: `Accept JSON with a code fence, words around it or trailing commas in ${source.where(node)}`,
              symptom,
              placebo,
            },
          ),
        )
      }),
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
      // Strings stay as they are; commas before a closing bracket and Python's words do not.
      const words⟨: Record<string, string>⟩ = { True: 'true', False: 'false', None: 'null' }
      const slips = /("(?:[^"\\\\]|\\\\.)*")|,(?=\\s*[}\\]])|\\b(?:True|False|None)\\b/g
      return JSON.parse(json.replace(slips, (found, string) => string ?? words[found] ?? ''))
    }
  }
}`

/** Reads a field under the name that the answer has, where the code has another. */
const fieldAlias: Operator = (context) => {
  const drifted = symptomsOf(context, 'response-drift').flatMap((symptom) =>
    Object.entries(symptom.facts['renamed'] as Record<string, string>).map(([from, to]) => ({
      symptom,
      from,
      to,
    })),
  )
  const [exception] = symptomsOf(context, 'exception')
  const names = exception === undefined ? [] : nearMisses(context, exception)
  return [...drifted, ...names].flatMap(({ symptom, from, to }) =>
    context.sources.flatMap((source) =>
      candidateOf(aliasEdit(source, from, to), {
        operator: 'field-alias',
        layer: 'transport',
        title: `Also read \`${to}\` where the code reads \`${from}\` in ${source.path}`,
        why:
          symptom.class === 'response-drift'
            ? symptom.evidence
            : `The answer has ${to}, not ${from}.`,
        symptom,
      }),
    ),
  )
}

/** Members read on the line of the error that no answer has, with a similar name that one has. */
const nearMisses = (
  { steps, thrownAt }: OperatorContext,
  symptom: Symptom,
): { symptom: Symptom; from: string; to: string }[] => {
  const known = new Set(
    steps.flatMap(({ result, answerText, toolCalls }) => [
      ...fieldPaths(result).map(leafOf),
      ...fieldPaths(answerText).map(leafOf),
      ...toolCalls.flatMap(({ args }) => fieldPaths(args).map(leafOf)),
    ]),
  )
  const [at] = thrownAt
  if (at === undefined || known.size === 0) return []
  const line = at.source.lineAt(at.offset)
  const read = at.source
    .ofType('MemberExpression', 'OptionalMemberExpression')
    .filter(({ node }) => at.source.lineAt(node.start) === line || isAround(node, at.offset))
    .map(({ node }) => nameOfNode(node))
    .filter((name) => name !== undefined && !known.has(name))
  return [...new Set(read)].flatMap((from) => {
    const to = [...known].find((name) => isNearName(name, from!))
    return to === undefined ? [] : [{ symptom, from: from!, to }]
  })
}

const aliasEdit = (source: ParsedSource, from: string, to: string) => {
  const edit = source.edit()
  const member = /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(to) ? `.${to}` : `[${JSON.stringify(to)}]`
  for (const { node, around } of source.ofType('MemberExpression', 'OptionalMemberExpression')) {
    const parent = around.at(-1)
    const isTarget =
      (parent?.type === 'AssignmentExpression' && parent['left'] === node) ||
      parent?.type === 'UpdateExpression' ||
      (parent?.type === 'CallExpression' && parent['callee'] === node)
    if (nameOfNode(node) !== from || isTarget) continue
    const object = source.textOf(childNode(node, 'object')!)
    const access = node['optional'] === true && member.startsWith('.') ? `?${member}` : member
    if (/\bawait\b|\(/.test(object)) continue
    edit.replace(node, `(${source.textOf(node)} ?? ${object}${access})`)
  }
  for (const { node } of source.ofType('ObjectPattern')) {
    for (const property of childNodes(node, 'properties')) {
      const isPlain =
        property['shorthand'] === true && childNode(property, 'value')?.type === 'Identifier'
      if (!isPlain || nameOfNode(childNode(property, 'key')) !== from) continue
      const key = member.startsWith('.') ? to : JSON.stringify(to)
      edit.replace(
        property,
        `${key}: ${source.freeName('renamed')}, ${from} = ${source.freeName('renamed')}`,
      )
    }
  }
  return edit
}

/** Reads a text that an answer has in parts, or not at all, where the code expects one text. */
const textOfParts: Operator = (context) => {
  const symptom = symptomsOf(context, 'exception').find(
    ({ facts }) => facts['isNot'] === 'a function',
  )
  const [at] = context.thrownAt
  const hasParts = context.steps.some(
    ({ result, responseText }) =>
      /"content":\s*\[\s*\{/.test(responseText) || Array.isArray(result),
  )
  if (symptom === undefined || at === undefined || !hasParts) return []
  const { source } = at
  return source
    .ofType('CallExpression')
    .filter(({ node }) => isAround(node, at.offset))
    .flatMap(({ node }) => {
      const callee = childNode(node, 'callee')
      const object = childNode(callee, 'object')
      if (object === undefined || !TEXT_METHOD.test(nameOfNode(callee) ?? '')) return []
      return candidateOf(
        source.editWith(TEXT_OF, (edit, name) => edit.wrap(object, `${name}(`, ')')),
        {
          operator: 'text-of-parts',
          layer: 'transport',
          title: `Accept a text in parts in ${source.where(node)}`,
          why: `${symptom.evidence} The answer has its text in parts.`,
          symptom,
        },
      )
    })
}

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
  fieldAlias,
  textOfParts,
]
