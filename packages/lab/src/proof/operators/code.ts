import { isRecord } from '@retake/tape'
import type { ParsedSource, SourceEdit, SourceOffset, SyntaxNode } from '../source-text.js'
import type { Symptom } from '../symptoms.js'
import {
  accessText,
  LIST_METHODS,
  operator,
  type Operator,
  oracleSymptom,
  type Proposal,
  TEXT_METHODS,
  thrown,
  thrownOrWrong,
  wholesAt,
} from './operator.js'

const NOT_ITERABLE =
  /is not iterable|Cannot destructure|not a function or its return value is not iterable/

/** Handles the missing value that the error complains about. */
const missingValue = operator(
  'missing-value',
  'code',
  thrown,
  (source, { facts: { property, message } }, { thrownAt: [at] }) => {
    if (at?.source !== source) return []
    if (typeof property === 'string') return missingMember(at, property)
    if (!NOT_ITERABLE.test(String(message))) return []
    // A missing list that is iterated, or a missing object that is destructured.
    return wholesAt(source, at.offset).map((value) => {
      const isObject = value.parent?.child('id')?.type === 'ObjectPattern'
      const edit = value.wrap('(', ` ?? ${isObject ? '{}' : '[]'})`)
      return { node: value, edit, title: `Treat a missing \`${value.text}\` as empty` }
    })
  },
)

const missingMember = ({ source, offset }: SourceOffset, property: string): Proposal[] => {
  const read = source.ofType('MemberExpression').filter((node) => {
    const { type, raw } = node.child('property')!
    const isIndex = node.raw['computed'] === true && type === 'NumericLiteral'
    return node.name === property || (isIndex && String(raw['value']) === property)
  })
  const exact = read.filter((node) => node.child('property')!.isAround(offset))
  const line = source.lineAt(offset)
  const near =
    exact.length > 0 ? exact : read.filter((node) => node.child('property')!.line === line)
  const empty = LIST_METHODS.test(property) ? '[]' : TEXT_METHODS.test(property) ? "''" : undefined
  return near.flatMap((node): Proposal[] => {
    const object = node.object!
    const isTarget =
      node.parent?.type === 'AssignmentExpression' && node.parent.child('left') === node
    const gap = { start: object.end, end: node.child('property')!.start }
    const access = node.raw['computed'] === true ? '?.[' : '?.'
    const asEmpty = {
      node,
      edit: object.replace(`(${object.text} ?? ${empty})`),
      title: `Treat a missing \`${object.text}\` as empty`,
    }
    const optional = {
      node,
      edit: source.edit().replace(gap, access),
      title: `Allow \`${object.text}\` to be missing`,
    }
    return [...(empty === undefined ? [] : [asEmpty]), ...(isTarget ? [] : [optional])]
  })
}

/** Awaits calls that return a promise whose value is used, one by one and all together. */
const missingAwait = operator(
  'missing-await',
  'code',
  (context) => {
    const promise = context.symptoms.filter(({ facts }) => facts['kind'] === 'promise')
    return [...promise, ...thrownOrWrong(context)].slice(0, 1)
  },
  (source, { facts }, { sources, thrownAt: [at] }) => {
    const names = promiseFunctions(sources)
    // Without a sign of a promise, only functions of the project are awaited.
    const isSeen = facts['kind'] === 'promise' || /TypeError/.test(String(facts['error']))
    const calls = source
      .ofType('CallExpression')
      .filter((node) => node.canAwait && isPromise(node, names) && isValueUsed(node))
      .filter((node) => isSeen || names.has(node.callee!.name ?? ''))
    const here = calls.filter(
      (node) => at?.source === source && node.line === source.lineAt(at.offset),
    )
    // A statement that nobody waits for comes last: it may be meant.
    const isStatement = ({ parent }: SyntaxNode): boolean => parent?.type === 'ExpressionStatement'
    const ordered = [
      ...new Set([...here, ...calls.filter((node) => !isStatement(node)), ...calls]),
    ].slice(0, WAITS_MAX)
    const propose = (nodes: readonly SyntaxNode[]): Proposal[] => {
      const edit = source.edit()
      for (const node of nodes) addAwait(edit, node)
      const texts = [...new Set(nodes.map(({ callee }) => `\`${callee!.text}\``))]
      return nodes.slice(0, 1).map((node) => ({
        node,
        edit,
        title: `Wait for ${texts.join(' and ')}`,
      }))
    }
    const [first, ...others] = ordered
    return [
      ...propose(first === undefined ? [] : [first]),
      ...(others.length > 0 ? propose(calls) : []),
      ...others.flatMap((node) => propose([node])),
    ]
  },
)

const WAITS_MAX = 5

const addAwait = (edit: SourceEdit, node: SyntaxNode): void => {
  const isMember = /^(?:Optional)?MemberExpression$/.test(node.parent?.type ?? '')
  const isAll = isAsyncMap(node)
  const [before, after] = [
    `${isMember ? '(' : ''}await ${isAll ? 'Promise.all(' : ''}`,
    `${isAll ? ')' : ''}${isMember ? ')' : ''}`,
  ]
  edit.insert(node.start, before)
  if (after !== '') edit.insert(node.end, after)
}

/** Functions of the libraries that agents use. */
const PROMISE_FUNCTIONS =
  /^(?:fetch|generateText|generateObject)$|\.(?:chat\.completions|completions|messages|responses|embeddings|images)\.create$|\.invoke$/

/** Names of functions that return a promise, also through another one. */
function promiseFunctions(sources: readonly ParsedSource[]): Set<string> {
  const isAsync = (node: SyntaxNode): boolean => node.isFunction && node.raw['async'] === true
  const named = (node: SyntaxNode): string[] => {
    // Also `const load = tool('load', async () => …)`.
    const { parent } = node
    const outer = parent?.type === 'CallExpression' ? parent.parent : parent
    const id = node.child('id') ?? node.child('key') ?? outer?.child('id') ?? outer?.child('key')
    return id?.name === undefined ? [] : [id.name]
  }
  const names = new Set(sources.flatMap((source) => source.filter(isAsync)).flatMap(named))
  for (const source of sources) {
    for (const node of source.ofType('ImportDeclaration'))
      if (/^(?:node:)?(?:fs\/promises|timers\/promises)$/.test(node.child('source')?.name ?? ''))
        for (const each of node.children('specifiers')) names.add(each.child('local')?.name ?? '')
    for (const node of source.filter((each) => each.isFunction)) {
      const body = node.child('body')
      const returned =
        body?.type === 'BlockStatement' ? body.children('body').at(-1)?.child('argument') : body
      if (returned?.type === 'CallExpression' && isPromise(returned, names))
        for (const name of named(node)) names.add(name)
    }
  }
  return names
}

const isPromise = (node: SyntaxNode, names: ReadonlySet<string>): boolean => {
  const { callee } = node
  if (callee === undefined) return false
  if (names.has(callee.name ?? '') || PROMISE_FUNCTIONS.test(callee.text)) return true
  return isAsyncMap(node) || isBodyRead(callee)
}

/** `items.map(async …)`: a list of promises. */
const isAsyncMap = ({ callee, args }: SyntaxNode): boolean =>
  /^(?:map|forEach)$/.test(callee?.name ?? '') && args[0]?.raw['async'] === true

/** `response.json()` of an awaited `fetch`. */
const isBodyRead = (callee: SyntaxNode): boolean => {
  const { object } = callee
  if (!/^(?:json|text|arrayBuffer|blob)$/.test(callee.name ?? '') || object === undefined)
    return false
  const init = callee.source
    .ofType('VariableDeclarator')
    .find((each) => each.child('id')?.name === object.name)
    ?.child('init')
  return /\bfetch\w*\(/i.test((object.type === 'Identifier' ? init : object)?.text ?? '')
}

/** False if the promise is awaited, also later, returned, collected or left floating on purpose. */
const isValueUsed = (node: SyntaxNode): boolean => {
  const { parent } = node
  if (parent === undefined) return false
  if (
    /^(?:AwaitExpression|ReturnStatement|ArrayExpression|ArrowFunctionExpression)$/.test(
      parent.type,
    ) ||
    parent.raw['operator'] === 'void' ||
    /^(?:then|catch|finally)$/.test(parent.name ?? '') ||
    /^(?:Promise\.\w+|[\w$.]+\.push)$/.test(parent.callee?.text ?? '')
  )
    return false
  const statements = parent.parent?.type === 'Program' ? parent.parent.children('body') : []
  // The entry point of a program.
  if (parent.type === 'ExpressionStatement' && statements.at(-1) === parent) return false
  const name = parent.type === 'VariableDeclarator' ? parent.child('id')?.name : undefined
  return (
    name === undefined ||
    !new RegExp(
      `\\bawait ${name}\\b|\\b${name}\\.(?:then|catch)\\b|Promise\\.\\w+\\([^)]*\\b${name}\\b`,
    ).test(node.source.text)
  )
}

/** Assignments in conditions, and loops with an off-by-one bound. */
const wrongComparison = operator(
  'wrong-comparison',
  'code',
  thrownOrWrong,
  (source, symptom, { thrownAt: [at] }) => {
    const assigned = source.ofType('IfStatement', 'WhileStatement').flatMap((node): Proposal[] => {
      const test = node.child('test')
      const right = test?.child('right')
      if (test?.type !== 'AssignmentExpression' || test.raw['operator'] !== '=') return []
      if (!/Literal$|^Identifier$/.test(right!.type)) return []
      const edit = withOperator(test, '===')
      return [{ node: test, edit, title: 'Compare instead of assigning' }]
    })
    const isTooFar = symptom.facts['of'] === 'undefined' && at?.source === source
    const tooFar = source.ofType('ForStatement').flatMap((node): Proposal[] => {
      const test = node.child('test')
      if (!isTooFar || !node.isAround(at.offset) || test?.raw['operator'] !== '<=') return []
      if (test.child('right')?.name !== 'length') return []
      const edit = withOperator(test, '<')
      return [{ node: test, edit, title: 'End the loop before the length' }]
    })
    return [...assigned, ...tooFar]
  },
)

const withOperator = (node: SyntaxNode, text: string) =>
  node.source
    .edit()
    .replace({ start: node.child('left')!.end, end: node.child('right')!.start }, ` ${text} `)

const DATE = /^\d{4}-\d\d(?:-\d\d)?/

/** Takes the newest of several matching records instead of the first, if records have a date. */
const newestMatch = operator(
  'newest-match',
  'code',
  (context) => [oracleSymptom(context)],
  (source, _symptom, { steps }) => {
    const fields = steps.flatMap(({ step, result }) =>
      step.kind === 'tool' && isRecord(result)
        ? Object.entries(result)
            .filter(([, value]) => typeof value === 'string' && DATE.test(value))
            .map(([name]) => name)
        : [],
    )
    return [...new Set(fields)].flatMap((field) =>
      source.ofType('CallExpression').flatMap((node): Proposal[] => {
        const { callee, args } = node
        const [predicate] = args
        if (callee?.name !== 'find' || !callee.object || !predicate) return []
        // A search by key returns a single record, so there is nothing to sort.
        if (/\bid\b/i.test(predicate.text)) return []
        const access = accessText(field)
        const newestFirst = `(left, right) => String(right${access}).localeCompare(String(left${access}))`
        return [
          {
            node,
            edit: node.replace(
              `${callee.object.text}.filter(${predicate.text}).sort(${newestFirst})[0]`,
            ),
            title: `Take the newest match by \`${field}\``,
            why: `The tool returned the first matching record; records have \`${field}\`.`,
          },
        ]
      }),
    )
  },
)

/** Compares a word from the model ignoring case and punctuation. */
const normalizeLabel = operator(
  'normalize-label',
  'code',
  (context) => [oracleSymptom(context)],
  (source, symptom, { steps }) => {
    const labels = [
      ...source.ofType('StringLiteral').map((node) => node.name!),
      ...source.ofType('ObjectProperty').map((node) => node.child('key')?.name ?? ''),
    ]
    const hits = steps.flatMap(({ step, answerText }) => {
      if (step.kind !== 'model' || !/^[^\n]{1,40}$/.test(answerText.trim())) return []
      const plain = plainWord(answerText)
      const label = labels.find((each) => plain !== '' && plainWord(each) === plain)
      return label === undefined || labels.includes(answerText) ? [] : [{ step, answerText, label }]
    })
    return hits.slice(0, 1).flatMap(({ step, answerText, label }) => {
      const casing = label === label.toLowerCase() ? 'toLowerCase' : 'toUpperCase'
      const evidence = `The model answered “${answerText.trim()}”; the code expects “${label}”.`
      return labelUses(source, label).map((node) => ({
        node,
        edit: source.editWith(plainWordText(casing), (name) => node.wrap(`${name}(`, ')')),
        title: `Ignore case and punctuation of \`${node.text}\``,
        symptom: { ...symptom, step: step.label, evidence },
      }))
    })
  },
)

const plainWord = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()

/** Expressions compared with a label, or looked up in an object that has the label as a key. */
const labelUses = (source: ParsedSource, label: string): SyntaxNode[] => {
  const isLabel = (node: SyntaxNode | undefined): boolean =>
    node?.type === 'StringLiteral' && node.name === label
  const compared = source.ofType('BinaryExpression').flatMap((node) => {
    const [left, right] = [node.child('left')!, node.child('right')!]
    if (!/^[!=]==?$/.test(String(node.raw['operator']))) return []
    return isLabel(left) ? [right] : isLabel(right) ? [left] : []
  })
  const looked = source
    .ofType('MemberExpression')
    .filter(({ raw }) => raw['computed'] === true)
    .map((node) => node.child('property')!)
    .filter(({ type }) => type === 'Identifier')
  const included = source.ofType('CallExpression').flatMap(({ callee, args }) => {
    const list = callee?.name === 'includes' ? callee.object : undefined
    return list?.children('elements').some(isLabel) === true ? args : []
  })
  const switched = source
    .ofType('SwitchStatement')
    .filter((node) => node.children('cases').some((each) => isLabel(each.child('test'))))
    .map((node) => node.child('discriminant')!)
  return [...compared, ...looked, ...included, ...switched].slice(0, 4)
}

const plainWordText = (casing: string): string => `
/** A word from a model without punctuation, in the case that the code uses. */
function plainWord(text⟨: string⟩) {
  return text.replace(/[^\\p{L}\\p{N} _-]+/gu, '').trim().${casing}()
}`

/** Reads a number that a model wrote with a unit or separators. */
const readNumber = operator(
  'read-number',
  'code',
  (context): Symptom[] => {
    const hit = context.steps.find(
      ({ step, answerText }) =>
        step.kind === 'model' &&
        /\d/.test(answerText) &&
        answerText.trim().length < 60 &&
        Number.isNaN(Number(answerText)),
    )
    if (hit === undefined) return []
    const evidence = `The model wrote “${hit.answerText.trim()}”, which is not a plain number.`
    return [{ ...oracleSymptom(context), step: hit.step.label, evidence }]
  },
  (source) =>
    ['Number', 'parseFloat', 'parseInt', 'Number.parseFloat', 'Number.parseInt']
      .flatMap((callee) => source.calls(callee))
      .filter(({ args }) => args.length > 0)
      .slice(0, 4)
      .map((node) => ({
        node,
        edit: source.editWith(READ_NUMBER, (name) => node.callee!.replace(name)),
        title: 'Read numbers with units and separators',
      })),
)

const READ_NUMBER = `
/**
 * The number in a text such as "1,299.00 EUR" or "2'500.50 CHF"; NaN if there is none, or if the text
 * can be read in several ways.
 */
function readNumber(text⟨: unknown⟩) {
  const [found, ...others] = String(text).match(/-?\\d(?:[\\d.,'’_\\u00a0\\u202f]|\\s(?=\\d{3}(?!\\d)))*/g) ?? []
  const digits = found?.replace(/['’_\\s]/g, '').replace(/[.,]+$/, '')
  if (digits === undefined || others.length > 0) return Number.NaN
  const plain = /^-?\\d{1,3}(?:,\\d{3})+(?:\\.\\d+)?$/.test(digits) ? digits.replace(/,/g, '') : digits
  return /^-?\\d+(?:\\.\\d+)?$/.test(plain) ? Number(plain) : Number.NaN
}`

export const codeOperators: readonly Operator[] = [
  missingValue,
  missingAwait,
  wrongComparison,
  normalizeLabel,
  readNumber,
  newestMatch,
]
