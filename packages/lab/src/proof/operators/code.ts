import { isRecord, parseJson } from '@retake/tape'
import { objectsIn } from '../answer-values.js'
import type { ParsedSource, SourceEdit, SourceOffset, SyntaxNode } from '../source-text.js'
import type { Symptom } from '../symptoms.js'
import { isNumericSource } from './fields.js'
import {
  accessText,
  LIST_METHODS,
  operator,
  type Operator,
  type OperatorContext,
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
    // Without a sign of a promise, requests that nobody waits for may be meant.
    const isSeen = facts['kind'] === 'promise' || /TypeError/.test(String(facts['error']))
    const calls = source
      .ofType('CallExpression')
      .filter((node) => node.canAwait && isPromise(node, names) && isValueUsed(node))
      .filter((node) => isSeen || !PROMISE_FUNCTIONS.test(node.callee!.text))
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

/** Waits for functions that `forEach`, `filter` and the like call and do not wait for. */
const awaitInLists = operator(
  'await-in-lists',
  'code',
  thrownOrWrong,
  (source, _symptom, { sources }) => {
    const names = promiseFunctions(sources)
    return source.ofType('CallExpression').flatMap((node): Proposal[] => {
      const { object, name: method = '' } = node.callee ?? {}
      const [callback] = node.args
      if (object === undefined || callback === undefined || !node.canAwait) return []
      if (!isAsync(callback, names) || node.parent?.type === 'AwaitExpression') return []
      const title = `Wait for what \`${method}\` calls`
      if (method === 'forEach' && node.parent?.type === 'ExpressionStatement') {
        const [item, index] = ['item', 'index'].map((name) => source.freeName(name))
        const called = callback.isFunction ? `(${callback.text})` : callback.text
        const loop =
          callback.isFunction && callback.children('params').length <= 1
            ? `for (const ${item} of ${object.text}) await ${called}(${item})`
            : `for (const [${index}, ${item}] of [...${object.text}].entries()) await ${called}(${item}, ${index}, ${object.text})`
        return [{ node, edit: node.parent.replace(loop), title }]
      }
      const [sum] = callback.children('params')
      if (method === 'reduce' && sum?.type === 'Identifier') {
        const edit = node.insertBefore('await ')
        for (const use of source.ofType('Identifier'))
          if (use.name === sum.name && callback.child('body')!.isAround(use.start))
            edit.replace(use, `(await ${sum.name})`)
        return [{ node, edit, title }]
      }
      const wrapper = WAITING_LISTS[method]
      if (wrapper === undefined) return []
      const edit = source.editWith(FILTER_AFTER, (name) =>
        node.replace(wrapper(`await ${name}(${object.text}, ${callback.text})`)),
      )
      return [{ node, edit, title }]
    })
  },
)

/** Methods by a filter that waits. */
const WAITING_LISTS: Readonly<Record<string, (filter: string) => string>> = {
  filter: (filter) => `(${filter})`,
  find: (filter) => `(${filter})[0]`,
  some: (filter) => `((${filter}).length > 0)`,
}

const FILTER_AFTER = `
/** Items for which a condition becomes true that has to be awaited. */
async function filterAfter⟨<Item>⟩(items⟨: readonly Item[]⟩, condition⟨: (item: Item, index: number, items: any) => any⟩) {
  const isWanted = await Promise.all(items.map(condition))
  return items.filter((_, index) => isWanted[index])
}`

const addAwait = (edit: SourceEdit, node: SyntaxNode): void => {
  const isMember = /^(?:Optional)?MemberExpression$/.test(node.parent?.type ?? '')
  const isAll = node.callee?.name === 'map'
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
  const isMarked = (node: SyntaxNode): boolean => node.isFunction && node.raw['async'] === true
  const named = (node: SyntaxNode): string[] => {
    // Also `const load = tool('load', async () => …)`.
    const { parent } = node
    const outer = parent?.type === 'CallExpression' ? parent.parent : parent
    const id = node.child('id') ?? node.child('key') ?? outer?.child('id') ?? outer?.child('key')
    return id?.name === undefined ? [] : [id.name]
  }
  const names = new Set(sources.flatMap((source) => source.filter(isMarked)).flatMap(named))
  for (const source of sources) {
    for (const node of source.ofType('ImportDeclaration'))
      if (/^(?:node:)?(?:fs\/promises|timers\/promises)$/.test(node.child('source')?.name ?? ''))
        for (const each of node.children('specifiers')) names.add(each.child('local')?.name ?? '')
    for (const node of source.filter((each) => each.isFunction)) {
      const returned = returnedBy(node)
      const isReturned =
        (returned?.type === 'CallExpression' && isPromise(returned, names)) ||
        (returned?.type === 'NewExpression' && returned.callee?.text === 'Promise')
      if (isReturned) for (const name of named(node)) names.add(name)
    }
  }
  for (const node of sources.flatMap((source) => source.ofType('ImportSpecifier')))
    if (names.has(node.child('imported')?.name ?? '')) names.add(node.child('local')!.name!)
  return names
}

/** The value of a function: its body, or what its last statement returns. */
const returnedBy = (node: SyntaxNode): SyntaxNode | undefined => {
  const body = node.child('body')
  return body?.type === 'BlockStatement' ? body.children('body').at(-1)?.child('argument') : body
}

const isPromise = (node: SyntaxNode, names: ReadonlySet<string>): boolean => {
  const { callee } = node
  if (callee === undefined) return false
  if (names.has(callee.name ?? '') || PROMISE_FUNCTIONS.test(callee.text)) return true
  if (callee.name === 'then' && callee.object?.type === 'CallExpression') return true
  // `items.map(async …)`: a list of promises.
  return (callee.name === 'map' && isAsync(node.args[0], names)) || isBodyRead(callee)
}

/** True for a function whose value is a promise. */
const isAsync = (node: SyntaxNode | undefined, names: ReadonlySet<string>): boolean => {
  if (node === undefined) return false
  if (!node.isFunction) return node.type === 'Identifier' && names.has(node.name!)
  const returned = returnedBy(node)
  return (
    node.raw['async'] === true ||
    (returned?.type === 'CallExpression' && isPromise(returned, names))
  )
}

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
  // An error after `return` in `try` is not caught.
  if (parent.type === 'ReturnStatement')
    return node.around.some(
      (each) =>
        each.type === 'TryStatement' &&
        each.functionAround === node.functionAround &&
        each.child('handler') !== undefined &&
        each.child('block')!.isAround(node.start),
    )
  if (
    /^(?:AwaitExpression|ArrayExpression|ArrowFunctionExpression)$/.test(parent.type) ||
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

/** Finds the label in an answer that has another case, punctuation, or words around it. */
const normalizeLabel = operator(
  'normalize-label',
  'code',
  (context) => [oracleSymptom(context)],
  (source, symptom, context) => {
    const written = context.steps.flatMap(({ step, answerText, toolCalls }) =>
      step.kind === 'model'
        ? [
            answerText,
            ...[parseJson(answerText), ...toolCalls.map(({ args }) => args)]
              .flatMap((root) => objectsIn(root))
              .flatMap(({ value }) => Object.values(value))
              .filter((value) => typeof value === 'string'),
          ].map((text) => ({ step, text: text.trim() }))
        : [],
    )
    return labelled(source, context).flatMap(({ nodes, labels, list }): Proposal[] => {
      const hit = written.find(
        ({ text }) =>
          text.length <= LABELLED_MAX &&
          !labels.includes(text) &&
          labels.some((label) => inWords(text).includes(inWords(label))),
      )
      if (hit === undefined) return []
      const [node] = nodes as [SyntaxNode]
      const evidence = `The model answered “${hit.text}”; the code expects ${labels.slice(0, 3).join(', ')}.`
      return [
        {
          node,
          edit: source.editWith(LABEL_IN, (name) => {
            const edit = source.edit()
            for (const each of nodes) edit.replace(each, `${name}(${each.text}, ${list})`)
            return edit
          }),
          title: `Find the label in \`${node.text}\``,
          symptom: { ...symptom, step: hit.step.label, evidence },
        },
      ]
    })
  },
)

/** Longer texts are not labels. */
const LABELLED_MAX = 300

/** The words of a text, as \`LABEL_IN\` compares them. */
const inWords = (text: string): string =>
  ` ${text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()} `

/** Expressions that are compared with labels, or looked up by them. */
const labelled = (
  source: ParsedSource,
  { sources }: OperatorContext,
): { nodes: SyntaxNode[]; labels: string[]; list: string }[] => {
  const groups = new Map<string, { nodes: SyntaxNode[]; labels: string[]; lists: string[] }>()
  const add = (node: SyntaxNode | undefined, labels: readonly string[], list?: string): void => {
    const isVariable = node !== undefined && !/Literal$|^(?:Binary|Unary)/.test(node.type)
    if (!isVariable || labels.length === 0) return
    const key = `${node.text} ${node.functionAround?.start ?? 0}`
    const group = groups.get(key) ?? { nodes: [], labels: [], lists: [] }
    groups.set(key, group)
    group.nodes.push(node)
    group.labels.push(...labels)
    if (list !== undefined) group.lists.push(list)
  }
  const textsOf = (nodes: readonly SyntaxNode[]): string[] =>
    nodes.flatMap((each) => (each.type === 'StringLiteral' ? each.name! : []))
  for (const node of source.ofType('BinaryExpression')) {
    const [left, right] = [node.child('left')!, node.child('right')!]
    const { operator: sign } = node.raw
    if (sign === 'in') add(left, keysOf(right, sources), `Object.keys(${right.text})`)
    if (!/^[!=]==?$/.test(String(sign))) continue
    add(left, textsOf([right]))
    add(right, textsOf([left]))
    // A search among objects that have the label in a field.
    for (const [field, other] of [
      [left, right],
      [right, left],
    ] as const)
      if (node.functionAround?.parent?.callee?.name?.startsWith('find') === true)
        add(other, fieldTexts(field, sources))
  }
  for (const node of source.ofType('MemberExpression'))
    if (node.raw['computed'] === true)
      add(
        node.child('property'),
        keysOf(node.object!, sources),
        `Object.keys(${node.object!.text})`,
      )
  for (const { callee, args } of source.ofType('CallExpression')) {
    const list = callee?.object
    if (list === undefined) continue
    if (/^(?:includes|indexOf)$/.test(callee?.name ?? ''))
      add(args[0], textsOf(elementsOf(list, sources)))
    if (callee?.name === 'startsWith') add(list, textsOf(args.slice(0, 1)))
    if (/^(?:get|has|hasOwn)$/.test(callee?.name ?? ''))
      add(args.at(-1), keysOf(args.length === 2 ? args[0]! : list, sources))
  }
  for (const node of source.ofType('SwitchStatement'))
    add(
      node.child('discriminant'),
      textsOf(node.children('cases').flatMap((each) => each.child('test') ?? [])),
    )
  return [...groups.values()].map(({ nodes, labels, lists }) => {
    const unique = [...new Set(labels)]
    const isLookup = new Set(lists).size === 1 && lists.length === nodes.length
    const list = isLookup ? lists[0]! : `[${unique.map((each) => JSON.stringify(each)).join(', ')}]`
    return { nodes: [...new Set(nodes)], labels: unique, list }
  })
}

const declaredAs = (node: SyntaxNode, sources: readonly ParsedSource[]): SyntaxNode | undefined => {
  if (/^(?:TSAs|TSSatisfies)Expression$/.test(node.type) || node.callee?.text === 'Object.freeze')
    return declaredAs(node.child('expression') ?? node.args[0] ?? node, sources)
  if (node.type !== 'Identifier') return node
  const init = sources
    .flatMap((source) => source.ofType('VariableDeclarator'))
    .find((each) => each.child('id')?.name === node.name)
    ?.child('init')
  if (init === undefined) return importedJson(node, sources)
  // `JSON.parse(readFileSync('prices.json', 'utf8'))`
  const [, file] =
    /^JSON\.parse\([^]*?['"`](?:[^'"`]*\/)?([^'"`/]+\.json)['"`]/.exec(init.text) ?? []
  return file === undefined ? declaredAs(init, []) : jsonOf(file, sources)
}

/** The content of a file that a default import names: `import prices from './prices.json'`. */
const importedJson = (
  { source, name }: SyntaxNode,
  sources: readonly ParsedSource[],
): SyntaxNode | undefined => {
  const imported = source
    .ofType('ImportDeclaration')
    .find((each) => each.children('specifiers').some((one) => one.child('local')?.name === name))
  const file = /[^/]+\.json$/.exec(imported?.child('source')?.name ?? '')?.[0]
  return file === undefined ? undefined : jsonOf(file, sources)
}

const jsonOf = (file: string, sources: readonly ParsedSource[]): SyntaxNode | undefined =>
  sources.find(({ path }) => path === file || path.endsWith(`/${file}`))?.program

const elementsOf = (list: SyntaxNode, sources: readonly ParsedSource[]): SyntaxNode[] =>
  declaredAs(list, sources)?.children('elements') ?? []

/** Keys of an object literal or a `Map` of pairs. */
const keysOf = (object: SyntaxNode, sources: readonly ParsedSource[]): string[] => {
  const init = declaredAs(object, sources)
  if (init?.type === 'ObjectExpression') return init.propertyNames.filter((name) => name !== '')
  if (!/^(?:Map|Set)$/.test(init?.callee?.text ?? '')) return []
  return init!.args
    .flatMap((each) => elementsOf(each, sources))
    .flatMap((each) => {
      const [key = each] = each.children('elements')
      return key.type === 'StringLiteral' ? [key.name!] : []
    })
}

/** Texts that objects of the project have in a field of this name. */
const fieldTexts = (field: SyntaxNode, sources: readonly ParsedSource[]): string[] =>
  sources.flatMap((source) =>
    source.ofType('ObjectProperty').flatMap((each) => {
      const value = each.child('value')
      return each.child('key')?.name === field.name && value?.type === 'StringLiteral'
        ? [value.name!]
        : []
    }),
  )

const LABEL_IN = `
/** The label at the start of an answer, or the only one in it; otherwise the answer itself. */
function labelIn(answer⟨: any⟩, labels⟨: string[]⟩)⟨: any⟩ {
  if (typeof answer !== 'string' || labels.includes(answer)) return answer
  const inWords = (text⟨: string⟩) => \` \${text.toLowerCase().replace(/[^\\p{L}\\p{N}]+/gu, ' ').trim()} \`
  const words = inWords(answer)
  const found = labels.filter((label) => words.includes(inWords(label)))
  const first = found.filter((label) => words.startsWith(inWords(label)))
  if (first.length > 0) return first.reduce((a, b) => (b.length > a.length ? b : a))
  // A label inside of another one, or one of two, decides nothing.
  const isClear = found.length === 1 && labels.length > 1 && !/ (?:not?|never|neither|cannot|t) /.test(words)
  return isClear ? found[0] : answer
}`

/** Reads a number that a model wrote with a unit or separators. */
const readNumber = operator(
  'read-number',
  'code',
  (context): Symptom[] => {
    const [hit] = context.steps.flatMap(({ step, answerText }) =>
      step.kind !== 'model'
        ? []
        : [
            answerText,
            ...objectsIn(parseJson(answerText)).flatMap(({ value }) => Object.values(value)),
          ]
            .filter(
              (text) =>
                typeof text === 'string' &&
                /\d/.test(text) &&
                text.trim().length < 60 &&
                Number.isNaN(Number(text)),
            )
            .map((text) => ({ step, text: String(text).trim() })),
    )
    if (hit === undefined) return []
    const evidence = `The model wrote “${hit.text}”, which is not a plain number.`
    return [{ ...oracleSymptom(context), step: hit.step.label, evidence }]
  },
  (source, _symptom, context) => {
    const title = 'Read numbers with units and separators'
    const read = ['Number', 'parseFloat', 'parseInt', 'Number.parseFloat', 'Number.parseInt']
      .flatMap((callee) => source.calls(callee))
      .filter(({ args }) => args.length > 0)
      .map((node) => ({
        node,
        edit: source.editWith(READ_NUMBER, (name) =>
          node.replace(`${name}(${node.args[0]!.text})`),
        ),
        title,
      }))
    // `+text`, and fields that are used as numbers.
    const names = new Set(
      context.steps
        .flatMap(({ answerText }) => objectsIn(parseJson(answerText)))
        .flatMap(({ value }) => Object.entries(value))
        .filter(
          ([, value]) =>
            typeof value === 'string' && /\d/.test(value) && Number.isNaN(Number(value)),
        )
        .map(([name]) => name),
    )
    const operands = source
      .ofType('BinaryExpression')
      .filter(({ raw }) => /^[-*/]$/.test(String(raw['operator'])))
      .flatMap((node) => [node.child('left')!, node.child('right')!])
      .filter((node) => isNumericSource(node, names))
    const signed = source
      .ofType('UnaryExpression')
      .filter(({ raw }) => raw['operator'] === '+')
      .map((node) => node.child('argument')!)
    const used = [...signed.map((node) => [node]), ...(operands.length > 0 ? [operands] : [])].map(
      (nodes) => ({
        node: nodes[0]!,
        edit: source.editWith(READ_NUMBER, (name) => {
          const edit = source.edit()
          for (const node of nodes) edit.replace(node, `${name}(${node.text})`)
          return edit
        }),
        title,
      }),
    )
    return [...read, ...used].slice(0, 4)
  },
)

const READ_NUMBER = `
/**
 * The number in a text such as "1,299.00 EUR", "1.299,00" or "2'500.50 CHF"; NaN if there is none,
 * or if the text can be read in several ways.
 */
function readNumber(text⟨: unknown⟩) {
  const [found, ...others] = String(text).match(/-?\\d(?:[\\d.,'’_\\u00a0\\u202f]|\\s(?=\\d{3}(?!\\d)))*/g) ?? []
  const digits = found?.replace(/['’_\\s]/g, '').replace(/[.,]+$/, '')
  if (digits === undefined || others.length > 0) return Number.NaN
  const hasDecimalComma = /^-?(?:\\d{1,3}(?:\\.\\d{3})+,\\d+|\\d+,\\d{1,2})$/.test(digits)
  const hasCommas = /^-?\\d{1,3}(?:,\\d{3})+(?:\\.\\d+)?$/.test(digits)
  const plain = hasDecimalComma ? digits.replace(/\\./g, '').replace(',', '.') : hasCommas ? digits.replace(/,/g, '') : digits
  const [, scale = ''] = /\\d\\s*(k|thousand|million|billion)\\b/i.exec(String(text)) ?? []
  const factors⟨: Record<string, number>⟩ = { k: 1e3, thousand: 1e3, million: 1e6, billion: 1e9 }
  return /^-?\\d+(?:\\.\\d+)?$/.test(plain) ? Number(plain) * (factors[scale.toLowerCase()] ?? 1) : Number.NaN
}`

export const codeOperators: readonly Operator[] = [
  missingValue,
  missingAwait,
  awaitInLists,
  wrongComparison,
  normalizeLabel,
  readNumber,
  newestMatch,
]
