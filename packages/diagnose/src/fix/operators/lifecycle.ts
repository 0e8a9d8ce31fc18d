import { findPrice, PRICES, type RunView } from '@retake/tape'
import {
  childNode,
  childNodes,
  findSite,
  nameOfNode,
  type ParsedSource,
  propertyNames,
  type SyntaxNode,
} from '../source-text.js'
import { leafOf, type Symptom } from '../symptoms.js'
import {
  callsOf,
  canAwait,
  candidateOf,
  isLoopNode,
  numericSettings,
  operator,
  type Operator,
  type OperatorContext,
  type Proposal,
  symptomsOf,
} from './operator.js'

const MAX_TOKENS = /^max_?(?:output_?|completion_?|new_?)?tokens$|^num_?predict$/i
const LEAST_TOKENS = 2048
const MOST_TOKENS = 16_384

/** Lets the model finish its answer. */
const raiseMaxTokens = operator(
  'raise-max-tokens',
  'lifecycle',
  (context) => symptomsOf(context, 'cut-off-answer'),
  (source, { facts: { maxTokens } }) =>
    numericSettings([source], MAX_TOKENS)
      .filter(({ value }) => value < MOST_TOKENS && value === (maxTokens ?? value))
      .map(({ node, value, name }) => {
        const raised = Math.min(MOST_TOKENS, Math.max(LEAST_TOKENS, value * 4))
        const edit = source.edit().replace(node, String(raised))
        return { node, edit, title: `Raise ${name} from ${value} to ${raised}` }
      }),
)

/** Makes the model choose the most likely answer. */
const lowerTemperature: Operator = (context) =>
  symptomsOf(context, 'nondeterminism').flatMap((symptom) => {
    const text = {
      operator: 'lower-temperature',
      layer: 'lifecycle' as const,
      symptom,
    }
    const settings = numericSettings(context.sources, /^temperature$/i).filter(
      ({ value }) => value > 0,
    )
    if (settings.length > 0) {
      return settings.flatMap(({ source, node, value }) =>
        candidateOf(source.edit().replace(node, '0'), {
          ...text,
          title: `Lower the temperature from ${value} to 0 in ${source.where(node)}`,
        }),
      )
    }
    return modelOptions(context, symptom).flatMap(({ source, node }) =>
      candidateOf(
        source.edit().insert(childNodes(node, 'properties')[0]!.start, 'temperature: 0, '),
        {
          ...text,
          title: `Set the temperature to 0 in ${source.where(node)}`,
        },
      ),
    )
  })

/** Options of requests to models: objects with a model and a conversation. */
const modelOptions = (
  { sources }: OperatorContext,
  { site }: Symptom,
): { readonly source: ParsedSource; readonly node: SyntaxNode }[] => {
  const at = findSite(sources, site)
  return sources.flatMap((source) =>
    source
      .ofType('ObjectExpression')
      .filter(({ node }) => {
        const names = propertyNames(node)
        return (
          names.includes('model') &&
          names.some((name) => /^(?:messages|input|prompt|contents|system)$/.test(name)) &&
          !names.includes('temperature')
        )
      })
      .filter(
        ({ around }) =>
          at === undefined ||
          at.source !== source ||
          around.some(
            ({ type, start, end }) =>
              type === 'CallExpression' && start <= at.offset && at.offset < end,
          ),
      )
      .map(({ node }) => ({ source, node })),
  )
}

/** Replaces the name of a model that the provider no longer has. */
const modelFallback = operator(
  'model-fallback',
  'lifecycle',
  (context) => symptomsOf(context, 'server-error'),
  (source, symptom, context) => {
    const missing = symptom.facts['missingModel']
    if (typeof missing !== 'string') return []
    const others = fallbackModels(context, missing, symptom)
    return source
      .ofType('StringLiteral')
      .filter(({ node }) => node['value'] === missing)
      .flatMap(({ node }) =>
        others.map((model) => {
          const quote = source.text[node.start]!
          const edit = source.edit().replace(node, `${quote}${model}${quote}`)
          return { node, edit, title: `Use ${model} instead of ${missing}` }
        }),
      )
  },
)

/** Models of the same provider that answered, then the known one with the most similar name. */
const fallbackModels = (
  { run, earlier = [], sources }: OperatorContext,
  missing: string,
  symptom: Symptom,
): string[] => {
  const { provider } = symptom.facts
  const answered = [run, ...earlier]
    .flatMap((each) => each.steps)
    .filter((step) => step.kind === 'model' && step.state === 'done' && step.provider === provider)
    .map(({ model }) => model)
    .filter((model) => model !== undefined && model !== missing)
  const mentioned = sources
    .flatMap((source) => source.ofType('StringLiteral').map(({ node }) => String(node['value'])))
    .filter(
      (text) =>
        text !== missing && /^[a-z][\w.:/-]{4,60}$/.test(text) && findPrice(text) !== undefined,
    )
  const family = missing.split(/[-_.:]/)[0]!
  const known = Object.keys(PRICES)
    .filter((name) => name !== missing && name.startsWith(family))
    .toSorted(
      (left, right) =>
        sharedPrefix(right, missing) - sharedPrefix(left, missing) || left.length - right.length,
    )
  return [...new Set([...answered, ...mentioned, ...known.slice(0, 1)])].slice(0, 3) as string[]
}

const sharedPrefix = (left: string, right: string): number => {
  let length = 0
  while (length < left.length && left[length] === right[length]) length++
  return length
}

const PARAMETER =
  /['"`]([\w.]+)['"`](?: parameter)? (?:is|was|does) (?:not |no longer |deprecated)|(?:unsupported|unknown|unrecognized|unexpected) (?:parameter|argument|field|value)s?:? ['"`]?([\w.]+)/i
const REPLACEMENT = /\buse ['"`]([\w.]+)['"`]/i

/** Renames or leaves out a parameter that the provider does not accept, as its message says. */
const adaptParameter = operator(
  'adapt-parameter',
  'lifecycle',
  (context) =>
    symptomsOf(context, 'server-error').filter(
      ({ facts }) => facts['isRejected'] === true && facts['isModel'] === true,
    ),
  (source, { facts }) => {
    const message = String(facts['message'])
    const named = PARAMETER.exec(message)
    const rejected = leafOf(named?.[1] ?? named?.[2] ?? '')
    const replacement = REPLACEMENT.exec(message)?.[1]
    return source
      .ofType('ObjectProperty')
      .filter(({ node }) => rejected !== '' && nameOfNode(childNode(node, 'key')) === rejected)
      .map(({ node, around }) => {
        const isRenamed = replacement !== undefined && node['shorthand'] !== true
        const edit = source.edit()
        return {
          node,
          edit: isRenamed
            ? edit.replace(childNode(node, 'key')!, replacement)
            : edit.replace(withComma(source, node, around.at(-1)!), ''),
          title: `${isRenamed ? `Send ${replacement} instead of` : 'Do not send'} ${rejected}`,
        }
      })
  },
)

/** A property with the comma and white space behind it. */
const withComma = (
  source: ParsedSource,
  node: SyntaxNode,
  { end: most }: SyntaxNode,
): Pick<SyntaxNode, 'start' | 'end'> => {
  const after = /^\s*,\s*/.exec(source.text.slice(node.end, most))
  return { start: node.start, end: node.end + (after?.[0].length ?? 0) }
}

/** Closes schemas of strict tools, which providers require. */
const closeSchema = operator(
  'close-schema',
  'tool',
  (context) =>
    symptomsOf(context, 'server-error').filter(({ facts }) =>
      /additionalProperties/.test(String(facts['message'])),
    ),
  (source) => {
    const open = source.ofType('ObjectExpression').filter(({ node }) => {
      const names = propertyNames(node)
      return (
        ['type', 'properties'].every((name) => names.includes(name)) &&
        !names.includes('additionalProperties')
      )
    })
    const edit = source.edit()
    for (const { node } of open)
      edit.insert(childNodes(node, 'properties')[0]!.start, 'additionalProperties: false, ')
    return [{ edit, title: 'Allow no other arguments than those of the schemas' }]
  },
)

/** Sends requests in turn instead of all together, where a rate limit was hit by many. */
const limitConcurrency = operator(
  'limit-concurrency',
  'lifecycle',
  ({ symptoms, run }) => concurrentRefusals(symptoms, run),
  (source, { evidence }) =>
    [...collectedInTurn(source), ...mappedInTurn(source)].map((each) => ({
      ...each,
      why: `${evidence} Other requests were under way.`,
    })),
)

/** Waits for each promise of `Promise.all(items.map(…))`. */
const mappedInTurn = (source: ParsedSource): Proposal[] =>
  callsOf(source, 'Promise.all').flatMap(({ node }) => {
    const [mapped] = childNodes(node, 'arguments')
    const callee = childNode(mapped, 'callee')
    const isMap = mapped?.type === 'CallExpression' && nameOfNode(callee) === 'map'
    const [callback] = childNodes(mapped, 'arguments')
    if (!isMap || callback === undefined) return []
    const items = source.textOf(childNode(callee, 'object')!)
    const edit = source.editWith(MAP_IN_TURN, (made, name) =>
      made.replace(node, `${name}(${items}, ${source.textOf(callback)})`),
    )
    return [{ node, edit, title: 'Send requests in turn instead of all together' }]
  })

/** Waits for each promise that a loop collects: `list.push(call())`, then `Promise.all(list)`. */
const collectedInTurn = (source: ParsedSource): Proposal[] => {
  const lists = callsOf(source, 'Promise.all').map(({ node }) =>
    nameOfNode(childNodes(node, 'arguments')[0]),
  )
  return source.ofType('CallExpression').flatMap((found) => {
    const callee = childNode(found.node, 'callee')
    const [pushed] = childNodes(found.node, 'arguments')
    const isCollected =
      nameOfNode(callee) === 'push' &&
      lists.includes(nameOfNode(childNode(callee, 'object')) ?? '') &&
      pushed?.type === 'CallExpression' &&
      found.around.some(isLoopNode)
    if (!isCollected || !canAwait(found)) return []
    const edit = source.edit().insert(pushed.start, 'await ')
    return [{ node: pushed, edit, title: 'Wait for each request before the next one' }]
  })
}

/** Refusals of requests that were sent while others of their kind were under way. */
export const concurrentRefusals = (
  symptoms: readonly Symptom[],
  { steps }: RunView,
): readonly Symptom[] =>
  symptoms
    .filter(({ class: kind, facts }) => kind === 'rate-limit' || facts['status'] === 503)
    .filter(({ step: label }) => {
      const failed = steps.find((step) => step.label === label)
      return steps.some(
        (step) =>
          failed !== undefined &&
          step !== failed &&
          step.kind === failed.kind &&
          step.at <= failed.at + (failed.latencyMs ?? 0) &&
          failed.at <= step.at + (step.latencyMs ?? 0),
      )
    })

const MAP_IN_TURN = `
/** Like \`Promise.all(items.map(…))\`, but one after the other. */
async function mapInTurn⟨<Item, Result>⟩(items⟨: readonly Item[]⟩, callback⟨: (item: Item, index: number, items: readonly Item[]) => Promise<Result>⟩)⟨: Promise<Result[]>⟩ {
  const results⟨: Result[]⟩ = []
  for (const [index, item] of items.entries()) results.push(await callback(item, index, items))
  return results
}`

export const lifecycleOperators: readonly Operator[] = [
  raiseMaxTokens,
  modelFallback,
  adaptParameter,
  closeSchema,
  lowerTemperature,
  limitConcurrency,
]
