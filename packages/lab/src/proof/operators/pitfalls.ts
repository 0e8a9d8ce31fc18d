import type { ParsedSource, SyntaxNode } from '../source-text.js'
import {
  numbersOf,
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

const SORTS = /^(?:sort|toSorted)$/

const compareNumbers = pitfall(
  'compare-numbers',
  'Without a comparator, lists are sorted as text: 100 comes before 25.',
  (source) => [
    ...methodCalls(source, SORTS)
      .filter(({ node }) => node.args.length === 0)
      .map(({ node }) => ({
        node,
        edit: source.editWith(BY_VALUE, (name) => source.edit().insert(node.end - 1, name)),
        title: 'Sort numbers by value',
      })),
    ...methodCalls(source, /^localeCompare$/)
      .filter(({ node }) => node.args.length === 1 && isInComparator(node))
      .map(({ node }) => ({
        node,
        edit: source.edit().insert(node.end - 1, ', undefined, { numeric: true }'),
        title: 'Compare the numbers in texts by value',
      })),
    // `a > b ? 1 : -1`, which compares texts by their characters.
    ...source
      .ofType('ConditionalExpression')
      .filter((node) => /^[<>]=?$/.test(String(node.child('test')!.raw['operator'])))
      .filter((node) => isInComparator(node) && /^-?1$/.test(node.child('consequent')!.text))
      .map((node) => {
        const test = node.child('test')!
        const [left, right] = [test.child('left')!, test.child('right')!].map(({ text }) => text)
        const isDown =
          String(test.raw['operator']).startsWith('<') === (node.child('consequent')!.text === '1')
        return {
          node,
          edit: source.editWith(BY_VALUE, (name) =>
            node.replace(`${name}(${isDown ? `${right}, ${left}` : `${left}, ${right}`})`),
          ),
          title: 'Sort numbers by value',
        }
      }),
  ],
)

/** True inside of the function that a list is sorted by. */
const isInComparator = ({ around }: SyntaxNode): boolean =>
  around.some(({ callee, type }) => type === 'CallExpression' && SORTS.test(callee?.name ?? ''))

const BY_VALUE = `
/** Compares numbers by value, and texts with numbers, such as versions, by these. */
function byValue(left⟨: any⟩, right⟨: any⟩) {
  return typeof left === 'number' && typeof right === 'number'
    ? left - right
    : String(left).localeCompare(String(right), undefined, { numeric: true })
}`

/** Swaps the sides of `a.x - b.x` and `a.x.localeCompare(b.x)`. */
const reverseOrder = pitfall(
  'reverse-order',
  'The list may be sorted in the wrong direction, and the code uses its first items.',
  (source) =>
    methodCalls(source, SORTS).flatMap(({ node }) => {
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

/** `getMonth()` and the second argument of `new Date(…)` count from 0. */
const monthFromOne = pitfall('month-from-one', 'Date counts months from 0.', (source) => [
  ...methodCalls(source, /^get(?:UTC)?Month$/)
    .filter(({ node }) => !isMonthIndex(node))
    .map(({ node }) => ({ node, edit: node.wrap('(', ' + 1)'), title: 'Count months from 1' })),
  ...writtenMonths(source)
    .filter((node) => !/Month\(|[-+]/.test(node.text) && node.type !== 'NumericLiteral')
    .map((node) => ({
      node,
      edit: node.replace(`${node.type === 'LogicalExpression' ? `(${node.text})` : node.text} - 1`),
      title: 'Count months from 0',
    })),
  // `new Date(...parts)`
  ...dateConstructors(source)
    .filter(({ args: [parts, ...others] }) => parts?.type === 'SpreadElement' && others.length === 0)
    .map((node) => ({
      node,
      edit: source.editWith(DATE_OF, (name) => {
        const { start, end } = node.args[0]!.child('argument')!
        return node.replace(`${name}(${source.text.slice(start, end)})`)
      }),
      title: 'Count months from 0',
    })),
])

const dateConstructors = (source: ParsedSource): SyntaxNode[] =>
  source.ofType('NewExpression').filter(({ callee }) => callee?.text === 'Date')

/** Expressions that are months as `Date` counts them. */
const writtenMonths = (source: ParsedSource): SyntaxNode[] => [
  ...[...dateConstructors(source), ...source.calls('Date.UTC')].flatMap(({ args }) =>
    args.length >= 2 && args[0]!.type !== 'SpreadElement' ? [args[1]!] : [],
  ),
  ...methodCalls(source, /^set(?:UTC)?Month$/).map(({ node }) => node.args[0]!),
  ...source
    .ofType('MemberExpression')
    .filter(({ raw, object }) => raw['computed'] === true && /month/i.test(object!.name ?? ''))
    .map((node) => node.child('property')!)
    .filter(({ name = '' }) => /^m$|month$/i.test(name)),
]

/** True for `getMonth()` where a month counts from 0: in a sum, a comparison, a date or as an index. */
const isMonthIndex = (node: SyntaxNode): boolean => {
  const { parent } = node
  const sides = [parent?.child('left'), parent?.child('right')]
  return (
    (parent?.raw['computed'] === true && parent.child('property') === node) ||
    /^(?:Date|Date\.UTC)$/.test(parent?.callee?.text ?? '') ||
    /^set(?:UTC)?Month$/.test(parent?.callee?.name ?? '') ||
    (parent?.type === 'BinaryExpression' && !sides.some((each) => /['"`]/.test(each?.text ?? '')))
  )
}

const DATE_OF = `
/** The date of a year, a month from 1 to 12, and a day. */
function dateOf([year, month, ...rest]⟨: any⟩) {
  return new Date(year, month - 1, ...rest)
}`

/** Days between two midnights, of which one has 23 or 25 hours when the clock changes. */
const wholeDays = pitfall(
  'whole-days',
  'A day has 23 or 25 hours when the clock changes.',
  (source) =>
    !/T00:00|setHours\(0|new Date\([^()]*,[^()]*,[^()]*\)/.test(source.text)
      ? []
      : ['floor', 'trunc', 'ceil']
          .flatMap((method) => source.calls(`Math.${method}`))
          .filter(
            ({ args: [days] }) =>
              days?.raw['operator'] === '/' && numbersOf(days.child('right')).includes(DAY_MS),
          )
          .map((node) => ({
            node,
            edit: node.callee!.replace('Math.round'),
            title: 'Count days to the nearest midnight',
          })),
)

const DAY_MS = 86_400_000

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

/** Shares of an amount that are rounded one by one, so that they do not add up to it. */
const sharesOfAll = pitfall(
  'shares-of-all',
  'Each share is rounded, so the shares may not add up to the amount.',
  (source) =>
    ['round', 'floor', 'ceil', 'trunc']
      .flatMap((method) => source.calls(`Math.${method}`))
      .flatMap((node): Proposal[] => {
        const [quotient] = node.args
        const [amount, count] = [quotient?.child('left'), quotient?.child('right')]
        if (quotient?.raw['operator'] !== '/' || amount === undefined || count === undefined)
          return []
        const list = repetitionOf(node, count.text)
        if (list === undefined) return []
        const title = 'Distribute what rounding leaves'
        return [
          {
            node: list,
            edit: source.editWith(SHARES_OF, (name) =>
              list.replace(`${name}(${amount.text}, ${count.text})`),
            ),
            title,
          },
        ]
      }),
)

/** The list that has an expression as every item, as many times as `count` says. */
const repetitionOf = (item: SyntaxNode, count: string): SyntaxNode | undefined => {
  const declared = item.parent?.type === 'VariableDeclarator' ? item.parent.child('id')?.name : undefined
  return item.source.ofType('CallExpression').find((node) => {
    const { callee, args } = node
    const made = args.find((each) =>
      each.isFunction
        ? [item.text, declared].includes(each.child('body')?.text)
        : [item.text, declared].includes(each.text),
    )
    if (made === undefined || (declared === undefined && !node.isAround(item.start))) return false
    const size = callee?.text === 'Array.from' ? args[0]!.text : (callee?.object?.text ?? '')
    const isSize = size.replaceAll(/\s/g, '') === `{length:${count.replaceAll(/\s/g, '')}}`
    return callee?.text === 'Array.from'
      ? isSize
      : callee?.name === 'fill'
        ? /^(?:new )?Array\(/.test(size) && size.includes(`(${count})`)
        : callee?.name === 'map' && `${size}.length` === count
  })
}

const SHARES_OF = `
/** Whole shares that add up to the amount. The first ones get what is left. */
function sharesOf(amount⟨: number⟩, count⟨: number⟩) {
  const share = Math.floor(amount / count)
  const rest = amount - share * count
  return Array.from({ length: count }, (_, index) => share + (index < rest ? 1 : 0))
}`

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
  wholeDays,
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
  sharesOfAll,
  reverseOrder,
]
