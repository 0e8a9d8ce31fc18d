import { findPrice, PRICES } from '@retake/tape'
import type { FixCandidate } from '../candidates.js'
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
  type Operator,
  type OperatorContext,
  symptomsOf,
} from './operator.js'

const MAX_TOKENS = /^max_?(?:output_?|completion_?|new_?)?tokens$|^num_?predict$/i
const LEAST_TOKENS = 2048
const MOST_TOKENS = 16_384

/** Lets the model finish its answer. */
const raiseMaxTokens: Operator = (context) =>
  symptomsOf(context, 'cut-off-answer').flatMap((symptom) =>
    numericSettings(context.sources, MAX_TOKENS)
      .filter(({ value }) => {
        const limit = symptom.facts['maxTokens']
        return value < MOST_TOKENS && (typeof limit !== 'number' || value === limit)
      })
      .flatMap(({ source, node, value, name }) => {
        const raised = Math.min(MOST_TOKENS, Math.max(LEAST_TOKENS, value * 4))
        return candidateOf(source.edit().replace(node, String(raised)), {
          operator: 'raise-max-tokens',
          layer: 'lifecycle',
          title: `Raise ${name} from ${value} to ${raised} in ${source.where(node)}`,
          symptom,
        })
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
const modelFallback: Operator = (context) =>
  symptomsOf(context, 'server-error').flatMap((symptom): FixCandidate[] => {
    const missing = symptom.facts['missingModel']
    if (typeof missing !== 'string') return []
    const others = fallbackModels(context, missing, symptom)
    return context.sources.flatMap((source) =>
      source
        .ofType('StringLiteral')
        .filter(({ node }) => node['value'] === missing)
        .flatMap(({ node }) =>
          others.flatMap((model) => {
            const quote = source.text[node.start]!
            return candidateOf(source.edit().replace(node, `${quote}${model}${quote}`), {
              operator: 'model-fallback',
              layer: 'lifecycle',
              title: `Use ${model} instead of ${missing} in ${source.where(node)}`,
              symptom,
            })
          }),
        ),
    )
  })

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
const adaptParameter: Operator = (context) =>
  symptomsOf(context, 'server-error').flatMap((symptom): FixCandidate[] => {
    if (symptom.facts['isRejected'] !== true || symptom.facts['isModel'] !== true) return []
    const message = String(symptom.facts['message'])
    const named = PARAMETER.exec(message)
    const rejected = leafOf(named?.[1] ?? named?.[2] ?? '')
    const replacement = REPLACEMENT.exec(message)?.[1]
    return context.sources.flatMap((source) =>
      source
        .ofType('ObjectProperty')
        .filter(({ node }) => rejected !== '' && nameOfNode(childNode(node, 'key')) === rejected)
        .flatMap(({ node, around }) => {
          const isRenamed = replacement !== undefined && node['shorthand'] !== true
          const edit = source.edit()
          return candidateOf(
            isRenamed
              ? edit.replace(childNode(node, 'key')!, replacement)
              : edit.replace(withComma(source, node, around.at(-1)!), ''),
            {
              operator: 'adapt-parameter',
              layer: 'lifecycle',
              title: `${isRenamed ? `Send ${replacement} instead of` : 'Do not send'} ${rejected} in ${source.where(node)}`,
              symptom,
            },
          )
        }),
    )
  })

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
const closeSchema: Operator = (context) =>
  symptomsOf(context, 'server-error')
    .filter(({ facts }) => /additionalProperties/.test(String(facts['message'])))
    .flatMap((symptom) =>
      context.sources.flatMap((source) => {
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
        return candidateOf(edit, {
          operator: 'close-schema',
          layer: 'tool',
          title: `Allow no other arguments in the schemas of ${source.path}`,
          symptom,
        })
      }),
    )

/** Sends requests in turn instead of all together, where a rate limit was hit by many. */
const limitConcurrency: Operator = (context) =>
  symptomsOf(context, 'rate-limit', 'server-error')
    .filter(({ class: kind, facts }) => kind === 'rate-limit' || facts['status'] === 503)
    .filter((symptom) => isConcurrent(context, symptom))
    .flatMap((symptom) =>
      collectedInTurn(context, symptom).concat(
        context.sources.flatMap((source) =>
          [...callsOf(source, 'Promise.all'), ...callsOf(source, 'Promise.allSettled')].flatMap(
            ({ node }) => {
              const [mapped] = childNodes(node, 'arguments')
              const callee = childNode(mapped, 'callee')
              const isMap = mapped?.type === 'CallExpression' && nameOfNode(callee) === 'map'
              const [callback] = childNodes(mapped, 'arguments')
              if (
                !isMap ||
                callback === undefined ||
                source.textOf(childNode(node, 'callee')!) !== 'Promise.all'
              )
                return []
              const name = source.freeName('mapInTurn')
              const items = source.textOf(childNode(callee, 'object')!)
              return candidateOf(
                source
                  .edit()
                  .replace(node, `${name}(${items}, ${source.textOf(callback)})`)
                  .addFunction(mapInTurn(name, source.isTyped)),
                {
                  operator: 'limit-concurrency',
                  layer: 'lifecycle',
                  title: `Send requests in turn instead of all together in ${source.where(node)}`,
                  why: `${symptom.evidence} Other requests were under way.`,
                  symptom,
                },
              )
            },
          ),
        ),
      ),
    )

/** Waits for each promise that a loop collects: `list.push(call())`, then `Promise.all(list)`. */
const collectedInTurn = ({ sources }: OperatorContext, symptom: Symptom): FixCandidate[] =>
  sources.flatMap((source) => {
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
      return candidateOf(source.edit().insert(pushed.start, 'await '), {
        operator: 'limit-concurrency',
        layer: 'lifecycle',
        title: `Wait for each request before the next one in ${source.where(pushed)}`,
        why: `${symptom.evidence} Other requests were under way.`,
        symptom,
      })
    })
  })

const isConcurrent = ({ steps }: OperatorContext, { step: label }: Symptom): boolean => {
  const failed = steps.find(({ step }) => step.label === label)?.step
  return steps.some(
    ({ step }) =>
      failed !== undefined &&
      step.label !== label &&
      step.kind === failed.kind &&
      step.at <= failed.at + (failed.latencyMs ?? 0) &&
      failed.at <= step.at + (step.latencyMs ?? 0),
  )
}

const mapInTurn = (name: string, isTyped: boolean): string => `
/** Like \`Promise.all(items.map(…))\`, but one after the other. */
async function ${name}${isTyped ? '<Item, Result>(items: readonly Item[], callback: (item: Item, index: number, items: readonly Item[]) => Promise<Result>): Promise<Result[]>' : '(items, callback)'} {
  const results${isTyped ? ': Result[]' : ''} = []
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
