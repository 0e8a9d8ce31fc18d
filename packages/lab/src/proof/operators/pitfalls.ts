import type { ParsedSource, SyntaxNode } from '../source-text.js'
import {
  objectKey,
  operator,
  type Operator,
  type OperatorContext,
  oracleSymptom,
  type Proposal,
  thrown,
  thrownOrWrong,
} from './operator.js'

/**
 * Standard library traps that type checkers accept and that give a wrong result instead of an
 * error. These operators find code by its shape, not by the failure, so their candidates come after
 * those that a symptom points to. The trials decide.
 */

/** Candidates of one operator in a file are similar, so a few are enough. */
const MAX_PER_FILE = 3

const pitfall = (
  name: string,
  why: string,
  find: (source: ParsedSource, context: OperatorContext) => readonly Proposal[],
): Operator =>
  operator(name, 'code', thrownOrWrong, (source, _symptom, context) =>
    (source.isCode ? find(source, context) : [])
      .slice(0, MAX_PER_FILE)
      .map((each) => ({ ...each, why })),
  )

/** Calls of methods by name: `….sort(…)`. */
const methodCalls = (source: ParsedSource, pattern: RegExp) =>
  source.ofType('CallExpression', 'OptionalCallExpression').flatMap((node) => {
    const { object, name: method = '' } = node.callee ?? {}
    return object === undefined || !pattern.test(method) ? [] : [{ node, object, method }]
  })

// ── Lists ───────────────────────────────────────────────────────────────────

const compareNumbers = pitfall(
  'compare-numbers',
  'Without a comparator, lists are sorted as text: 100 comes before 25.',
  (source) =>
    methodCalls(source, /^(?:sort|toSorted)$/)
      .filter(({ node }) => node.args.length === 0)
      .map(({ node }) => ({
        node,
        edit: source
          .edit()
          .insert(
            node.end - 1,
            source.isTyped
              ? '(left, right) => Number(left) - Number(right)'
              : '(left, right) => left - right',
          ),
        title: 'Sort numbers by value',
      })),
)

/** Swaps the sides of `a.x - b.x` and `a.x.localeCompare(b.x)`. */
const reverseOrder = pitfall(
  'reverse-order',
  'The list may be sorted in the wrong direction, and the code uses its first items.',
  (source) =>
    methodCalls(source, /^(?:sort|toSorted)$/).flatMap(({ node }) => {
      const [comparator] = node.args
      const [left, right] = comparator?.children('params').map(({ name }) => name) ?? []
      const body = comparator?.child('body')
      const returned =
        body?.type === 'BlockStatement' ? body.children('body')[0]?.child('argument') : body
      if (returned === undefined || left === undefined || right === undefined) return []
      const swapped = returned.text.replaceAll(
        /[\p{L}_$][\p{L}\p{N}_$]*/gu,
        (word, at: number, text: string) =>
          text[at - 1] === '.' ? word : word === left ? right : word === right ? left : word,
      )
      return [{ node, edit: returned.replace(swapped), title: 'Sort the other way round' }]
    }),
)

/** A mutating method on the caller's list that is called for its result. */
const copyBeforeChange = pitfall(
  'copy-before-change',
  'The method modifies a list of the caller, which is used later.',
  (source) =>
    methodCalls(source, /^(?:reverse|sort|splice|shift|pop|fill)$/)
      .filter(
        ({ node, object }) =>
          object.type === 'Identifier' &&
          node.parent?.type !== 'ExpressionStatement' &&
          isShared(node, object.name!),
      )
      .map(({ node, object, method }) => ({
        node,
        edit: object.wrap('[...', ']'),
        title: `Copy \`${object.text}\` before ${method}()`,
      })),
)

/** True if a name is a parameter of the enclosing function or declared outside of it. */
const isShared = ({ functionAround: inner }: SyntaxNode, name: string): boolean => {
  if (inner === undefined || paramNames(inner).includes(name)) return true
  const statements = inner.child('body')?.children('body') ?? []
  return !statements
    .filter(({ type }) => type === 'VariableDeclaration')
    .flatMap((each) => each.children('declarations'))
    .some((each) => each.child('id')?.name === name)
}

const paramNames = (node: SyntaxNode): string[] =>
  node.children('params').flatMap((param) => {
    const plain = param.type === 'AssignmentPattern' ? param.child('left') : param
    return plain?.type === 'ObjectPattern' ? plain.propertyNames : [plain?.name ?? '']
  })

/** A loop that pushes full chunks but never pushes the last one. */
const flushLast = pitfall(
  'flush-last',
  'The loop starts a new chunk whenever one is full, but never adds the last one.',
  (source) =>
    source.ofType('ForStatement', 'ForOfStatement', 'WhileStatement').flatMap((loop) => {
      const block = loop.parent
      const statements = block?.children('body') ?? []
      const next = statements[statements.indexOf(loop) + 1]
      if (block === undefined || next === undefined) return []
      const after = source.text.slice(next.start, block.end)
      return methodCalls(source, /^push$/).flatMap(({ node, object }) => {
        const conditions = node.around.slice(node.around.indexOf(loop) + 1)
        const isInCondition =
          loop.isAround(node.start) &&
          conditions.some(({ type }) => type === 'IfStatement') &&
          !conditions.some((each) => each.isFunction || each.isLoop)
        const [piece] = node.args
        if (!isInCondition || piece?.type !== 'Identifier') return []
        const name = piece.name!
        // Whether a loop appends to a variable and also resets it.
        const assigned = loop.source
          .ofType('AssignmentExpression')
          .filter((node) => loop.isAround(node.start) && node.child('left')?.name === name)
        const isReset = assigned.some(
          (node) =>
            node.raw['operator'] === '=' && /^(?:''|""|``|\[\])$/.test(node.child('right')!.text),
        )
        const isExtended =
          assigned.some(({ raw }) => raw['operator'] === '+=') ||
          methodCalls(loop.source, /^push$/).some(
            ({ node, object }) => loop.isAround(node.start) && object.name === name,
          )
        if (!(isReset && isExtended) || new RegExp(`\\b${name}\\b`).test(after)) return []
        const push = `if (${name}.length > 0) ${object.text}.push(${name})`
        return [
          {
            node,
            edit: next.insertBefore(`${push}\n${next.indent}`),
            title: `Add the last \`${name}\` after the loop`,
          },
        ]
      })
    }),
)

// ── Text and files ──────────────────────────────────────────────────────────

const READERS =
  /^(?:readFile|readFileSync|createReadStream|toString|setEncoding|decode|TextDecoder|text)$/

const readAsUtf8 = pitfall(
  'read-as-utf8',
  'The text is not read as UTF-8, so characters outside of ASCII are lost or wrong.',
  (source) =>
    source
      .ofType('StringLiteral')
      .filter(
        ({ name, around }) =>
          /^(?:latin1|binary|ascii|iso-8859-1|windows-1252)$/i.test(name!) &&
          around.some(
            ({ type, callee }) =>
              /^(?:Call|New)Expression$/.test(type) && READERS.test(callee?.name ?? ''),
          ),
      )
      .map((node) => ({
        node,
        edit: node.replace(`${node.text[0]}utf8${node.text[0]}`),
        title: 'Read the text as UTF-8',
      })),
)

const splitQuoted = pitfall(
  'split-quoted',
  'Quoted CSV cells may contain commas.',
  (source, { sources }) =>
    methodCalls(source, /^split$/)
      .filter(
        ({ node }) =>
          node.args[0]?.raw['value'] === ',' && sources.some(({ text }) => /csv/i.test(text)),
      )
      .map(({ node, object }) => ({
        node,
        edit: source.editWith(SPLIT_CSV_LINE, (name) => node.replace(`${name}(${object.text})`)),
        title: 'Respect quotes when splitting a CSV line',
      })),
)

const SPLIT_CSV_LINE = `
/** Splits a line of CSV. Quoted cells may contain commas and doubled quotes. */
function splitCsvLine(line⟨: string⟩) {
  const cells = line.match(/(?<=^|,)(?:"(?:[^"]|"")*"|[^,]*)/g) ?? []
  return cells.map((cell) => (cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell))
}`

/** A pattern for identifiers that have become longer. */
const openQuantifier = pitfall(
  'open-quantifier',
  'The pattern matches a fixed number of digits and truncates longer numbers.',
  (source) =>
    source
      .ofType('RegExpLiteral')
      .filter(({ raw }) => !/[-/:.]\\d|\\d\{\d\}[-/:.]/.test(String(raw['pattern'])))
      .flatMap((node) => {
        const open = node.text.replace(/(\\d|\[0-9\])\{(\d+)\}/, '$1{$2,}')
        if (open === node.text) return []
        return [{ node, edit: node.replace(open), title: 'Accept longer numbers' }]
      }),
)

/** A file that does not exist with this capitalisation. */
const lowerCasePath = operator(
  'lower-case-path',
  'code',
  thrown,
  (source, { evidence }, { error, thrownAt: [at] }) => {
    const missing = /ENOENT[^']*'([^']+)'/.exec(error?.message ?? '')?.[1]
    if (at?.source !== source || missing === undefined) return []
    if (!/[A-Z]/.test(missing.slice(missing.search(/[^/\\]*[/\\]?[^/\\]*$/)))) return []
    const [path] =
      source
        .ofType('CallExpression')
        .findLast(
          (node) =>
            node.isAround(at.offset) &&
            /^(?:readFile|readFileSync|open|openSync|import)$/.test(node.callee?.name ?? ''),
        )?.args ?? []
    return source
      .ofType('Identifier')
      .filter((node) => {
        const { parent } = node
        const isMember = parent?.type === 'MemberExpression' && parent.raw['computed'] !== true
        const isCallee = parent?.type === 'CallExpression' && parent.callee === node
        return path?.isAround(node.start) === true && !isMember && !isCallee
      })
      .slice(0, MAX_PER_FILE)
      .map((node) => ({
        node,
        edit: source.edit().insert(node.end, '.toLowerCase()'),
        title: `Look up \`${node.text}\` in lower case`,
        why: `${evidence} File names are case-sensitive.`,
      }))
  },
)

// ── Values ──────────────────────────────────────────────────────────────────

const mapsInJson = pitfall(
  'maps-in-json',
  'JSON.stringify writes {} for a Map or a Set.',
  (source, { sources }) =>
    !sources.some(({ text }) => /new (?:Map|Set)\b/.test(text))
      ? []
      : source
          .calls('JSON.stringify')
          .filter(({ args }) => args.length === 1)
          .map((node) => ({
            node,
            edit: source.editWith(WITH_PLAIN_MAPS, (name) =>
              source.edit().insert(node.end - 1, `, ${name}`),
            ),
            title: 'Write maps and sets as JSON',
          })),
)

const WITH_PLAIN_MAPS = `
/** Replacer for JSON.stringify, which writes {} for maps and sets. */
function withPlainMaps(_key⟨: string⟩, value⟨: unknown⟩) {
  if (value instanceof Map) return Object.fromEntries(value)
  return value instanceof Set ? [...value] : value
}`

const DATE_SETTER = /^set(UTC)?(?:Month|FullYear)$/

/** `setMonth` on the 31st overflows into the month after the next one. */
const lastDayOfMonth = pitfall(
  'last-day-of-month',
  'A day that the new month does not have overflows into the following month.',
  (source) =>
    methodCalls(source, DATE_SETTER).flatMap(({ node, object, method }) => {
      const statement = node.parent
      if (object.type !== 'Identifier' || node.args.length !== 1) return []
      if (statement?.type !== 'ExpressionStatement') return []
      const date = object.text
      const utc = DATE_SETTER.exec(method)?.[1] ?? ''
      const day = source.freeName('dayBefore')
      const { indent } = statement
      const check = `if (${date}.get${utc}Date() !== ${day}) ${date}.set${utc}Date(0)`
      return [
        {
          node,
          edit: statement.wrap(
            `const ${day} = ${date}.get${utc}Date()\n${indent}`,
            `\n${indent}${check}`,
          ),
          title: 'Stay in the intended month',
        },
      ]
    }),
)

/** Parts of a date in the zone of the machine, where the text of the date is in UTC. */
const utcDates = pitfall(
  'utc-dates',
  'A date without a time is midnight in UTC, which is the day before in zones to the west.',
  (source) => {
    const getters = methodCalls(source, /^get(?:Date|Day|Month|FullYear|Hours)$/)
    const written = methodCalls(source, /^toLocale(?:Date|Time)?String$/).filter(
      ({ node }) => node.args.length <= 2 && !/timeZone/.test(node.text),
    )
    // Parts that are joined to a text again must be in UTC as well.
    const made = source
      .ofType('NewExpression')
      .filter(
        ({ callee, args }) =>
          callee?.name === 'Date' && args.length >= 2 && /toISOString|toJSON/.test(source.text),
      )
    const edit = source.edit()
    for (const { node, method } of getters)
      edit.replace(node.callee!.child('property')!, method.replace('get', 'getUTC'))
    for (const { node } of written) {
      const [locale, options] = node.args
      if (options?.type === 'ObjectExpression') edit.insert(options.start + 1, " timeZone: 'UTC',")
      else if (options === undefined)
        edit.insert(node.end - 1, `${locale === undefined ? 'undefined' : ''}, { timeZone: 'UTC' }`)
    }
    for (const { args } of made)
      edit.insert(args[0]!.start, 'Date.UTC(').insert(args.at(-1)!.end, ')')
    const [first] = [...[...getters, ...written].map(({ node }) => node), ...made]
    return first === undefined ? [] : [{ node: first, edit, title: 'Read and write dates in UTC' }]
  },
)

/** `getMonth()` counts from 0. */
const monthFromOne = pitfall('month-from-one', 'getMonth() counts from 0.', (source) =>
  methodCalls(source, /^get(?:UTC)?Month$/)
    .filter(
      ({ node: { parent } }) =>
        parent?.type === 'TemplateLiteral' ||
        parent?.callee?.text === 'String' ||
        (parent?.raw['operator'] === '+' &&
          [parent.child('left'), parent.child('right')].some(
            (each) => each?.type === 'StringLiteral',
          )),
    )
    .map(({ node }) => ({ node, edit: node.wrap('(', ' + 1)'), title: 'Count months from 1' })),
)

// ── Money ───────────────────────────────────────────────────────────────────

/** Cents that are cut off, or rounded in the wrong direction. */
const roundMoney = pitfall(
  'round-money',
  'Amounts are cut off or rounded as binary fractions: (1.005).toFixed(2) is 1.00.',
  (source) => [
    ...['floor', 'trunc', 'ceil']
      .flatMap((method) => source.calls(`Math.${method}`))
      .filter(
        ({ text, parent }) => /\*\s*1e?00?\b/.test(text) || /\/\s*100$/.test(parent?.text ?? ''),
      )
      .map((node) => ({
        node,
        edit: node.callee!.replace('Math.round'),
        title: 'Round amounts to the nearest cent',
      })),
    ...methodCalls(source, /^toFixed$/)
      .filter(({ node }) => node.args[0]?.text === '2')
      .map(({ node, object }) => ({
        node,
        edit: source.editWith(ROUNDED, (name) => object.wrap(`${name}(`, ')')),
        title: 'Round halves of a cent up',
      })),
  ],
)

/** Amounts that are printed with the error of binary fractions: 0.30000000000000004. */
const roundPrinted = operator(
  'round-printed',
  'code',
  ({ symptoms }) => symptoms.filter(({ facts }) => facts['kind'] === 'decimals').slice(0, 1),
  (source) => {
    const joined = source
      .ofType('BinaryExpression')
      .filter(({ raw }) => raw['operator'] === '+')
      .flatMap((node) => [node.child('left')!, node.child('right')!])
    const inserted = source
      .ofType('TemplateLiteral')
      .flatMap((node) => node.children('expressions'))
    const printed = source.calls('console.log').flatMap(({ args }) => args)
    const isPrinted = ({ around }: SyntaxNode): boolean =>
      around.some(({ callee }) => /^console\.|\.write$/.test(callee?.text ?? ''))
    const values = [...inserted, ...printed, ...joined].filter(
      (node) =>
        /^(?:Identifier|(?:Optional)?MemberExpression)$/.test(node.type) &&
        (node.parent?.type !== 'BinaryExpression' || /['"`]/.test(node.parent.text)) &&
        isPrinted(node),
    )
    const propose = (nodes: readonly SyntaxNode[]): Proposal[] =>
      nodes.slice(0, 1).map((node) => ({
        node,
        edit: source.editWith(ROUNDED, (name) => {
          const edit = source.edit()
          for (const each of nodes) edit.replace(each, `${name}(${each.text})`)
          return edit
        }),
        title: `Round ${nodes.map(({ text }) => `\`${text}\``).join(' and ')} to cents`,
      }))
    return [
      ...(values.length > 1 ? propose(values) : []),
      ...values.flatMap((node) => propose([node])),
    ].slice(0, MAX_PER_FILE)
  },
)

const ROUNDED = `
/** An amount in whole cents. Halves are rounded up, although binary fractions may be below them. */
function roundedToCents(amount⟨: any⟩)⟨: any⟩ {
  if (typeof amount !== 'number') return amount
  return Math.round((amount + Math.sign(amount) * Number.EPSILON) * 100) / 100
}`

/** `parseInt` of an amount with cents. */
const parseFraction = pitfall(
  'parse-fraction',
  'parseInt reads only the whole part of a number.',
  (source, { steps }) =>
    steps.some(({ responseText, result, answerText }) =>
      /\d\.\d/.test(`${responseText} ${JSON.stringify(result) ?? ''} ${answerText}`),
    )
      ? [...source.calls('parseInt'), ...source.calls('Number.parseInt')]
          .filter(({ args }) => args.length > 0)
          .map((node) => ({
            node,
            edit: node.replace(`Number.parseFloat(${node.args[0]!.text})`),
            title: 'Keep the fraction of the number',
          }))
      : [],
)

/** A cache key that leaves out arguments on which the value depends. */
const wholeCacheKey = pitfall(
  'whole-cache-key',
  'The cache key leaves out arguments of the function, so different calls share a value.',
  (source) =>
    methodCalls(source, /^(?:get|has)$/).flatMap(({ node, object }): Proposal[] => {
      const inner = node.functionAround
      const [key] = node.args
      if (inner === undefined || key?.type !== 'Identifier') return []
      const params = paramNames(inner)
      const name = key.name!
      const uses = methodCalls(source, /^(?:get|has|set)$/).filter(
        (use) =>
          inner.isAround(use.node.start) &&
          use.object.text === object.text &&
          use.node.args[0]?.name === name,
      )
      if (!uses.some(({ method }) => method === 'set') || params.length < 2) return []
      const whole = `JSON.stringify([${params.join(', ')}])`
      const title = 'Use all arguments as the cache key'
      const init = source
        .ofType('VariableDeclarator')
        .find((each) => inner.isAround(each.start) && each.child('id')?.name === name)
        ?.child('init')
      if (init !== undefined) return [{ node: init, edit: init.replace(whole), title }]
      if (!params.includes(name)) return []
      const edit = source.edit()
      for (const use of uses) edit.replace(use.node.args[0]!, whole)
      return [{ node, edit, title }]
    }),
)

/** A word from the model that almost matches a label in the code. */
const aliasLabel = operator(
  'alias-label',
  'code',
  (context) => [oracleSymptom(context)],
  (source, symptom, { steps }) =>
    steps
      // A label, and not one with the reason of this run.
      .filter(
        ({ step, answerText }) =>
          step.kind === 'model' && /^\w[\w-]{2,30}(?: \w{1,20})?$/.test(answerText.trim()),
      )
      .flatMap(({ step, answerText }) => {
        const word = answerText.trim()
        const evidence = `The model answered “${word}”; the code has no such label.`
        return aliases(source, word)
          .slice(0, MAX_PER_FILE)
          .map(({ node, label, text }) => ({
            node,
            edit: node.insertBefore(text),
            title: `Accept “${word}” for “${label}”`,
            symptom: { ...symptom, step: step.label, evidence },
          }))
      }),
)

/** Labels similar to the word that are keys or cases, with the text to insert before each. */
const aliases = (source: ParsedSource, word: string) => {
  const isNear = (label: string): boolean => {
    const [short, long] = [label, word].toSorted((a, b) => a.length - b.length) as [string, string]
    return short.length >= 3 && label !== word && long.toLowerCase().startsWith(short.toLowerCase())
  }
  const keys = source.ofType('ObjectExpression').flatMap((object) => {
    const named = object.propertyNames
    const at = named.findIndex(isNear)
    const node = object.children('properties')[at]
    const value = node?.child('value')
    if (node === undefined || value === undefined || named.includes(word)) return []
    if (named.length < 2 || node.raw['shorthand'] === true) return []
    return [{ node, label: named[at]!, text: `${objectKey(word)}: ${value.text}, ` }]
  })
  const cases = source.ofType('SwitchCase').flatMap((node) => {
    const test = node.child('test')
    const label = test?.type === 'StringLiteral' ? test.name! : ''
    return isNear(label) ? [{ node, label, text: `case ${JSON.stringify(word)}: ` }] : []
  })
  return [...keys, ...cases]
}

export const pitfallOperators: readonly Operator[] = [
  aliasLabel,
  lowerCasePath,
  compareNumbers,
  copyBeforeChange,
  mapsInJson,
  lastDayOfMonth,
  readAsUtf8,
  splitQuoted,
  flushLast,
  wholeCacheKey,
  openQuantifier,
  parseFraction,
  roundPrinted,
  utcDates,
  monthFromOne,
  roundMoney,
  reverseOrder,
]
