import { findPrice, PRICES, type RunView } from '@retake/tape'
import { isVariantName } from '../answer-values.js'
import { findSite, type SyntaxNode } from '../source-text.js'
import { leafOf, type Symptom } from '../symptoms.js'
import {
  numbersOf,
  numericSettings,
  operator,
  type Operator,
  settingValues,
  symptomsOf,
} from './operator.js'

const MAX_TOKENS = /^max_?(?:output_?|completion_?|new_?)?tokens$|^num_?predict$/i
const MIN_TOKENS = 2048
const MAX_TOKENS_RAISED = 16_384

/** Lets the model finish its answer. */
const raiseMaxTokens = operator(
  'raise-max-tokens',
  'lifecycle',
  'cut-off-answer',
  (source, { facts: { maxTokens } }) => {
    const limit = Number(maxTokens)
    return settingValues(source, MAX_TOKENS).flatMap(({ name, node }) => {
      const values = numbersOf(node)
      const value = values.includes(limit) || values.length === 0 ? limit : values[0]!
      if (!Number.isNaN(limit) && value !== limit) return []
      if (!(value < MAX_TOKENS_RAISED)) return []
      const raised = Math.min(MAX_TOKENS_RAISED, Math.max(MIN_TOKENS, value * 4))
      const isPlain = node.type === 'NumericLiteral'
      const title = `Raise ${name} from ${isPlain ? value : node.text} to ${raised}`
      const edit = node.replace(isPlain ? String(raised) : `Math.max(${raised}, ${node.text})`)
      return [{ node, edit, title }]
    })
  },
)

/** Makes the model choose the most likely answer. */
const lowerTemperature = operator(
  'lower-temperature',
  'lifecycle',
  'nondeterminism',
  (source, symptom, { sources }) => {
    const settings = sources
      .flatMap((each) => numericSettings(each, /^temperature$/i))
      .filter(({ value }) => value > 0)
    if (settings.length > 0)
      return settings
        .filter(({ node }) => node.source === source)
        .map(({ node, value }) => ({
          node,
          edit: node.replace('0'),
          title: `Lower the temperature from ${value} to 0`,
        }))
    const at = findSite(sources, symptom.site)
    // Options of requests to models: objects with a model and a conversation.
    return source
      .ofType('ObjectExpression')
      .filter(
        ({ propertyNames: names, around }) =>
          names.includes('model') &&
          names.some((name) => /^(?:messages|input|prompt|contents|system)$/.test(name)) &&
          !names.includes('temperature') &&
          (at?.source !== source ||
            around.some((each) => each.type === 'CallExpression' && each.isAround(at.offset))),
      )
      .map((node) => ({
        node,
        edit: node.children('properties')[0]!.insertBefore('temperature: 0, '),
        title: 'Set the temperature to 0',
      }))
  },
)

/** Replaces a model that the provider no longer offers. */
const modelFallback = operator(
  'model-fallback',
  'lifecycle',
  'server-error',
  (source, symptom, context) => {
    const missing = symptom.facts['missingModel']
    if (typeof missing !== 'string') return []
    // Models of the same provider that answered, then the known model with the most similar name.
    const { run, earlier = [], sources } = context
    const answered = [run, ...earlier]
      .flatMap((each) => each.steps)
      .filter(({ kind, state }) => kind === 'model' && state === 'done')
      .filter(({ provider }) => provider === symptom.facts['provider'])
      .flatMap(({ model }) => model ?? [])
    const mentioned = sources
      .flatMap((source) => source.ofType('StringLiteral').map((node) => node.name!))
      .filter((text) => /^[a-z][\w.:/-]{4,60}$/.test(text) && findPrice(text) !== undefined)
    const family = missing.split(/[-_.:]/)[0]!
    const known = Object.keys(PRICES)
      .filter((name) => name !== missing && name.startsWith(family))
      .toSorted(
        (left, right) =>
          sharedPrefix(right, missing) - sharedPrefix(left, missing) || left.length - right.length,
      )
    const models = new Set([...answered, ...mentioned, ...known.slice(0, 1)])
    models.delete(missing)
    // A small model cannot replace a large one.
    const sameSize = [...models].filter((model) => SMALL.test(model) === SMALL.test(missing))
    const others = (sameSize.length > 0 ? sameSize : [...models]).slice(0, 3)
    return source
      .ofType('StringLiteral')
      .filter(({ name }) => name === missing)
      .flatMap((node) =>
        others.map((model) => {
          const quote = node.text[0]!
          const title = `Use ${model} instead of ${missing}`
          return { node, edit: node.replace(`${quote}${model}${quote}`), title }
        }),
      )
  },
)

/** Words in names of models that are smaller than others of their family. */
const SMALL = /mini|nano|lite|haiku|flash|small|instant|tiny|[-_](?:[1-9]|1\d)b\b/i

const sharedPrefix = (left: string, right: string): number => {
  let length = 0
  while (length < left.length && left[length] === right[length]) length++
  return length
}

const PARAMETER =
  /['"`]([\w.]+)['"`](?: parameter)? (?:is|was|does) (?:not |no longer |deprecated)|(?:unsupported|unknown|unrecognized|unexpected) (?:parameter|argument|field|value)s?:? ['"`]?([\w.]+)/i
const REPLACEMENT = /\buse ['"`]([\w.]+)['"`]/i
const MOST =
  /(?:at most|maximum|less than or equal to|<=|no more than|up to|cannot exceed|must not exceed)[^\d]{0,40}?(?<![\w-])(\d[\d,_]*(?:\.\d+)?)|\d[\d,_.]* ?> ?(\d[\d,_]*)|(?:between|range:?|in) ?[[(]?\d[\d.]*(?: and |, ?|\.\.)(\d[\d,_]*(?:\.\d+)?)/i

/** Renames, lowers or drops a parameter that the provider rejects, as its message suggests. */
const adaptParameter = operator(
  'adapt-parameter',
  'lifecycle',
  (context) =>
    symptomsOf(context, 'server-error').filter(
      ({ facts }) => facts['isRejected'] === true && facts['isModel'] === true,
    ),
  (source, { step: label, facts }, { steps }) => {
    const message = String(facts['message'])
    const extra = /(?:^|["'\s])([\w.]+): Extra inputs are not permitted/.exec(message)?.[1]
    const [, first = extra, second = ''] = PARAMETER.exec(message) ?? []
    const replacement = REPLACEMENT.exec(message)?.[1]
    const most = Number(
      MOST.exec(message)
        ?.slice(1)
        .find((each) => each !== undefined)
        ?.replaceAll(/[,_]/g, ''),
    )
    const { settings = {} } = steps.find(({ step }) => step.label === label) ?? {}
    // The last one that a message names is the least important: "`temperature` and `top_p` cannot …".
    const mentioned = Object.keys(settings)
      .filter((name) => name !== 'model' && new RegExp(`\\b${name}\\b`).test(message))
      .toSorted((left, right) => message.indexOf(right) - message.indexOf(left))
    const names = new Set([leafOf(first ?? second), ...mentioned].filter((name) => name !== ''))
    return [...names].flatMap((rejected) => {
      const isSent = (node: SyntaxNode): boolean => {
        const value = node.child('value') ?? node.child('right')
        const given = value?.type.endsWith('Literal') === true ? value.raw['value'] : undefined
        return given === undefined || (settings[rejected] ?? given) === given
      }
      const assigned = source
        .ofType('AssignmentExpression')
        .filter((node) => node.child('left')!.object !== undefined)
        .filter((node) => isVariantName(node.child('left')!.name ?? '', rejected) && isSent(node))
        .flatMap(({ parent }) => (parent?.type === 'ExpressionStatement' ? [parent] : []))
        .map((node) => ({ node, edit: node.replace(''), title: `Do not send ${rejected}` }))
      const properties = source
        .ofType('ObjectProperty')
        .filter((node) => isVariantName(node.child('key')?.name ?? '', rejected) && isSent(node))
        .map((node) => {
          const value = node.child('value')!
          const isRenamed = replacement !== undefined
          const isLiteral = value.type === 'NumericLiteral'
          const sent = Number(settings[rejected])
          const comma = /^\s*,\s*/.exec(source.text.slice(node.end, node.parent!.end))?.[0] ?? ''
          const whole = { start: node.start, end: node.end + comma.length }
          if (isRenamed)
            return {
              node,
              edit:
                node.raw['shorthand'] === true
                  ? node.replace(`${replacement}: ${value.text}`)
                  : node.child('key')!.replace(replacement),
              title: `Send ${replacement} instead of ${rejected}`,
            }
          return most < (isLiteral ? Number(value.raw['value']) : sent)
            ? {
                node,
                edit: isLiteral
                  ? value.replace(String(most))
                  : node.replace(`${node.child('key')!.text}: Math.min(${value.text}, ${most})`),
                title: `Lower ${rejected} to ${most}`,
              }
            : {
                node,
                edit: source.edit().replace(whole, ''),
                title: `Do not send ${rejected}`,
              }
        })
      return [...properties, ...assigned]
    })
  },
)

/** Makes strict schemas as providers require them, or not strict where arguments are optional. */
const closeSchema = operator(
  'close-schema',
  'tool',
  (context) =>
    symptomsOf(context, 'server-error').filter(({ facts }) =>
      /additionalProperties|'required' is required/.test(String(facts['message'])),
    ),
  (source, { facts }) => {
    const message = String(facts['message'])
    const closed = source.edit()
    for (const node of source.ofType('ObjectExpression')) {
      const names = node.propertyNames
      const isOpen = ['type', 'properties'].every((name) => names.includes(name))
      const given = node
        .children('properties')
        .find((each) => each.child('key')?.name === 'additionalProperties')
        ?.child('value')
      if (isOpen && given === undefined)
        closed.insert(node.children('properties')[0]!.start, 'additionalProperties: false, ')
      if (isOpen && given?.text === 'true') closed.replace(given, 'false')
    }
    // A schema that is strict needs every argument; without it, optional ones stay so.
    const loose = source.edit()
    for (const node of source.ofType('ObjectProperty'))
      if (node.child('key')?.name === 'strict' && node.child('value')?.text === 'true')
        loose.replace(node.child('value')!, 'false')
    return [
      ...(/additionalProperties/.test(message)
        ? [{ edit: closed, title: 'Disallow arguments that the schemas do not define' }]
        : []),
      ...(/'required' is required|Missing '/.test(message)
        ? [{ edit: loose, title: 'Let arguments be optional, as the schemas say' }]
        : []),
    ]
  },
)

/** Sends requests one at a time if concurrent requests hit a rate limit. */
const limitConcurrency = operator(
  'limit-concurrency',
  'lifecycle',
  ({ symptoms, run }) => concurrentRefusals(symptoms, run),
  (source, { evidence }) => {
    const all = [...source.calls('Promise.all'), ...source.calls('Promise.allSettled')]
    // Awaits each promise that a loop collects: `list.push(call())`, then `Promise.all(list)`.
    const lists = all.map(({ args }) => args[0]?.name)
    const collected = source.ofType('CallExpression').flatMap((node) => {
      const [pushed] = node.args
      const isCollected =
        node.callee?.name === 'push' &&
        lists.includes(node.callee.object?.name ?? '') &&
        node.around.some((each) => each.isLoop)
      if (!isCollected || pushed?.type !== 'CallExpression' || !node.canAwait) return []
      const edit = pushed.insertBefore('await ')
      return [{ node: pushed, edit, title: 'Wait for each request before the next one' }]
    })
    // Awaits each promise of `Promise.all(items.map(…))` before the next call.
    const mapped = all.flatMap((node) => {
      const [given] = node.args
      const declared = source
        .ofType('VariableDeclarator')
        .find((each) => given?.type === 'Identifier' && each.child('id')?.name === given.name)
        ?.child('init')
      const call = declared ?? given
      const [callback] = call?.args ?? []
      const { name: method, object } = call?.callee ?? {}
      if (call?.type === 'CallExpression' && call.callee?.text === 'Array.from') {
        const [list, each] = call.args
        if (list === undefined || each === undefined || declared !== undefined) return []
        const edit = source.editWith(MAP_IN_TURN, (name) =>
          node.replace(`${name}(Array.from(${list.text}), ${each.text})`),
        )
        return node.callee!.name === 'allSettled' || /\blength\b/.test(list.text)
          ? []
          : [{ node, edit, title: 'Send requests one at a time' }]
      }
      if (call?.type !== 'CallExpression' || method !== 'map' || callback === undefined) return []
      const isSettled = node.callee!.name === 'allSettled'
      if (declared !== undefined && (isSettled || !declared.canAwait)) return []
      const one = isSettled
        ? `async (...args${source.isTyped ? ': any' : ''}) => (await Promise.allSettled([(${callback.text})(...args)]))[0]`
        : callback.text
      const edit = source.editWith(MAP_IN_TURN, (name) => {
        const inTurn = `${name}(${object!.text}, ${one})`
        return declared === undefined ? node.replace(inTurn) : declared.replace(`await ${inTurn}`)
      })
      return [{ node, edit, title: 'Send requests one at a time' }]
    })
    // `Promise.all([a(), b()])`
    const listed = all.flatMap((node) => {
      const calls = node.args[0]?.children('elements') ?? []
      if (!node.canAwait || calls.length < 2 || node.callee!.name === 'allSettled') return []
      const edit = source.edit()
      for (const each of calls)
        if (each.type === 'CallExpression') edit.insert(each.start, 'await ')
      return [{ node, edit, title: 'Send requests one at a time' }]
    })
    const batches = source
      .ofType('CallExpression')
      .filter(({ callee, args }) => callee?.name === 'batch' && args.length === 1)
      .map((node) => ({
        node,
        edit: source.edit().insert(node.args[0]!.end, ', { maxConcurrency: 1 }'),
        title: 'Send requests one at a time',
      }))
    const limits = [
      ...numericSettings(
        source,
        /concurren|parallel|in_?flight|^(?:num_?)?workers$|pool_?size/i,
      ).map(({ node }) => node),
      ...source.calls('pLimit').flatMap(({ args }) => args),
    ]
      .filter((node) => node.type === 'NumericLiteral' && Number(node.raw['value']) > 1)
      .map((node) => ({ node, edit: node.replace('1'), title: 'Send requests one at a time' }))
    const why = `${evidence} Other requests were in progress.`
    return [...collected, ...mapped, ...listed, ...batches, ...limits].map((each) => ({
      ...each,
      why,
    }))
  },
)

/** Requests that were rate-limited while others of their kind were in progress. */
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
          // A request without an answer was in progress until the run ended.
          failed.at <= step.at + (step.latencyMs ?? Number.POSITIVE_INFINITY),
      )
    })

const MAP_IN_TURN = `
/** Like \`Promise.all(items.map(…))\`, but one at a time. */
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
