import { attempt } from '@retake/tape'
import type { ParsedSource, SyntaxNode } from '../source-text.js'
import { numbersOf, operator, type Operator, type Proposal } from './operator.js'
import { MAX_PER_FILE, methodCalls, pitfall } from './pitfalls.js'

/** Pitfalls of dates and amounts. */

const DATE_SETTER = /^set(UTC)?(?:Month|FullYear)$/

/** `setMonth` on the 31st overflows into the month after the next one. */
const lastDayOfMonth = pitfall(
  'last-day-of-month',
  'A day that the new month does not have overflows into the following month.',
  (source) =>
    methodCalls(source, DATE_SETTER).flatMap(({ node, object, method }) => {
      const statement = node.parent
      if (node.args.length !== 1) return []
      const utc = DATE_SETTER.exec(method)?.[1] ?? ''
      // `new Date(date.setMonth(…))`
      if (statement?.type !== 'ExpressionStatement' || object.type !== 'Identifier')
        return [
          {
            node,
            edit: source.editWith(inMonth(utc, method), (name) =>
              node.replace(`${name}(${object.text}, ${node.args[0]!.text})`),
            ),
            title: 'Stay in the intended month',
          },
        ]
      const date = object.text
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

const inMonth = (utc: string, method: string): string => `
/** Sets the month of a date, and the last day of the month if it has fewer days. */
function setWithinMonth(date⟨: Date⟩, value⟨: number⟩) {
  const day = date.get${utc}Date()
  date.${method}(value)
  if (date.get${utc}Date() !== day) date.set${utc}Date(0)
  return date.getTime()
}`

/** `new Date(year, month + 1, day)`, where the month may be shorter than the day. */
const shorterMonth = pitfall(
  'shorter-month',
  'A day that the new month does not have overflows into the following month.',
  (source) =>
    [...dateConstructors(source), ...source.calls('Date.UTC')].flatMap(({ args }) => {
      const [year, month, day] = args
      if (month === undefined || day === undefined) return []
      // `month - 1` only counts from 0.
      const isMoved =
        month.type === 'BinaryExpression' &&
        (/Month\(\)|\+/.test(month.text) || month.child('right')!.type !== 'NumericLiteral')
      const isDay =
        /^(?:Identifier|(?:Optional)?MemberExpression)$/.test(day.type) ||
        day.text.endsWith('Date()')
      if (day.type === 'NumericLiteral') return monthEnds(day, month)
      if (!isMoved || !isDay) return []
      const last = `new Date(${year!.text}, ${month.text} + 1, 0).getDate()`
      return [
        {
          node: day,
          edit: day.replace(`Math.min(${day.text}, ${last})`),
          title: 'Stay in the intended month',
        },
      ]
    }),
)

/** `new Date(year, month, 31)` and `new Date(year, month, 0)`, which is the end of the month before. */
const monthEnds = (day: SyntaxNode, month: SyntaxNode): Proposal[] => {
  const value = Number(day.raw['value'])
  const title = 'Take the last day of this month'
  const edit = month.source.edit().insert(month.end, ' + 1')
  // Another day, such as 30, may be meant in longer months.
  if (value === 31) return [{ node: day, edit: edit.replace(day, '0'), title }]
  return value === 0 && !month.text.endsWith('+ 1') ? [{ node: day, edit, title }] : []
}

/** Text of dates without a time, which `Date` takes for midnight in UTC. */
const dateOnly = pitfall(
  'date-only',
  'A date without a time is midnight in UTC, which is the day before in zones to the west.',
  (source, { sources }) => {
    const read = dateConstructors(source).filter(
      ({ args: [text, ...others] }) =>
        others.length === 0 &&
        /^(?:Identifier|(?:Optional)?MemberExpression|CallExpression)$/.test(text?.type ?? '') &&
        !/Date\.now|getTime|Number\(|\.now\(/.test(text!.text),
    )
    if (read.length === 0) return []
    const zones = sources.flatMap((each) =>
      each
        .ofType('ObjectProperty')
        .filter((property) => property.child('key')?.name === 'timeZone')
        .map((property) => property.child('value')!),
    )
    const shown = sources.some(({ text }) =>
      /DateTimeFormat|toLocale(?:Date|Time)?String|toDateString|get(?:Date|Day|Month|FullYear)\(/.test(
        text,
      ),
    )
    // Where the code names a zone, only those to the west show the day before.
    const isWest = (zone: SyntaxNode): boolean =>
      zone.type !== 'StringLiteral' || isBehindUtc(zone.name!)
    if (!shown || (zones.length > 0 && !zones.some(isWest))) return []
    // Another time of day would change what is compared and counted.
    const isCounted = source
      .ofType('BinaryExpression')
      .some(
        ({ raw, text }) =>
          /^(?:-|[<>]=?)$/.test(String(raw['operator'])) && /date|day|time|now/i.test(text),
      )
    if (isCounted || /toISOString|toJSON|getUTC|getTime|Date\.UTC/.test(source.text)) return []
    const edit = source.editWith(zones.length > 0 ? LATER_THAT_DAY : DAY_OF, (name) => {
      const all = source.edit()
      for (const node of read) all.replace(node, `${name}(${node.args[0]!.text})`)
      return all
    })
    return [{ node: read[0]!, edit, title: 'Read dates without a time as this day' }]
  },
)

/** True for a zone in which midnight in UTC is on the day before. */
const isBehindUtc = (timeZone: string): boolean =>
  attempt(() =>
    new Intl.DateTimeFormat('en-US', { timeZone, day: 'numeric' }).format(Date.UTC(2026, 0, 15)),
  ) === '14'

const DAY_OF = `
/** A date; one without a time is this day where the program runs. */
function dayOf(date⟨: any⟩) {
  const [, year, month, day] = /^(\\d{4})-(\\d\\d)-(\\d\\d)$/.exec(date) ?? []
  return year === undefined ? new Date(date) : new Date(Number(year), Number(month) - 1, Number(day))
}`

const LATER_THAT_DAY = `
/** A date; one without a time is at 10:00 in UTC, which is on this day from Hawaii to New Zealand. */
function laterThatDay(date⟨: any⟩) {
  return new Date(/^\\d{4}-\\d\\d-\\d\\d$/.test(date) ? \`\${date}T10:00:00Z\` : date)
}`

/** Parts of a date in the zone of the machine, where the text of the date is in UTC. */
const utcDates = pitfall(
  'utc-dates',
  'A date without a time is midnight in UTC, which is the day before in zones to the west.',
  (source) => {
    const getters = methodCalls(source, /^get(?:Date|Day|Month|FullYear|Hours)$/)
    const written = [
      ...methodCalls(source, /^toLocale(?:Date|Time)?String$/).map(({ node }) => node),
      ...source
        .ofType('NewExpression', 'CallExpression')
        .filter(({ callee }) => callee?.text === 'Intl.DateTimeFormat'),
    ].filter((node) => node.args.length <= 2 && !/timeZone/.test(node.text))
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
    for (const node of written) {
      const [locale, options] = node.args
      if (options?.type === 'ObjectExpression') edit.insert(options.start + 1, " timeZone: 'UTC',")
      else if (options === undefined)
        edit.insert(node.end - 1, `${locale === undefined ? 'undefined' : ''}, { timeZone: 'UTC' }`)
    }
    for (const { args } of made)
      edit.insert(args[0]!.start, 'Date.UTC(').insert(args.at(-1)!.end, ')')
    const [first] = [...getters.map(({ node }) => node), ...written, ...made]
    return first === undefined ? [] : [{ node: first, edit, title: 'Read and write dates in UTC' }]
  },
)

/** `getMonth()` and the second argument of `new Date(…)` count from 0. */
const monthFromOne = pitfall('month-from-one', 'Date counts months from 0.', (source) => [
  ...methodCalls(source, /^get(?:UTC)?Month$/)
    .filter(({ node }) => !isMonthIndex(node))
    .map(({ node }) => ({ node, edit: node.wrap('(', ' + 1)'), title: 'Count months from 1' })),
  ...writtenMonths(source)
    .filter((node) => !/Month\(/.test(node.text) && !/^(?:Numeric|Binary)/.test(node.type))
    .map((node) => ({
      node,
      edit: node.replace(`${node.type === 'LogicalExpression' ? `(${node.text})` : node.text} - 1`),
      title: 'Count months from 0',
    })),
  // `new Date(...parts)`
  ...dateConstructors(source)
    .filter(
      ({ args: [parts, ...others] }) => parts?.type === 'SpreadElement' && others.length === 0,
    )
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
          .filter(({ args: [days] }) => days !== undefined && divisorOf(days) === DAY_MS)
          .map((node) => ({
            node,
            edit: node.callee!.replace('Math.round'),
            title: 'Count days to the nearest midnight',
          })),
)

const DAY_MS = 86_400_000

/** The product of what an expression is divided by: `ms / 1000 / 60 / 60 / 24`. */
const divisorOf = (node: SyntaxNode): number => {
  if (node.raw['operator'] !== '/') return 1
  const [value = Number.NaN] = numbersOf(node.child('right'))
  return value * divisorOf(node.child('left')!)
}

/** `new Date(day.getTime() + count * DAY_MS)`, where a day may have 23 or 25 hours. */
const nextDays = pitfall(
  'next-days',
  'A day has 23 or 25 hours when the clock changes.',
  (source) =>
    dateConstructors(source).flatMap((node): Proposal[] => {
      const [sum] = node.args
      const [date, days] = [sum?.child('left'), sum?.child('right')]
      if (sum?.raw['operator'] !== '+' || date === undefined || days === undefined) return []
      const [, plain] =
        /^(?:\+|Number\()?\s*([\w$.]+?)(?:\.(?:getTime|valueOf)\(\))?\)?$/.exec(date.text) ?? []
      const factors = [days.child('left'), days.child('right')]
      const at = factors.findIndex((each) => numbersOf(each)[0] === DAY_MS)
      const isProduct = days.raw['operator'] === '*' && at >= 0
      const count = isProduct ? factors[1 - at]?.text : undefined
      const whole = numbersOf(days)[0] === DAY_MS ? '1' : count
      if (plain === undefined || whole === undefined || /^\d/.test(plain)) return []
      const edit = source.editWith(PLUS_DAYS, (name) => node.replace(`${name}(${plain}, ${whole})`))
      return [{ node, edit, title: 'Add days, not hours' }]
    }),
)

const PLUS_DAYS = `
/** The same time of day, some days later. */
function plusDays(date⟨: any⟩, count⟨: number⟩) {
  const later = new Date(date)
  later.setDate(later.getDate() + count)
  return later
}`

// ── Money ───────────────────────────────────────────────────────────────────

const MONEY =
  /cent|price|amount|total|tax|fee|net|gross|sum|cost|eur|dollar|usd|vat|discount|salary|interest/i

/** Cents that are cut off, or rounded in the wrong direction. */
const roundMoney = pitfall(
  'round-money',
  'Amounts are cut off or rounded as binary fractions: (1.005).toFixed(2) is 1.00.',
  (source) => [
    ...['Math.floor', 'Math.trunc', 'Math.ceil', 'parseInt', 'Number.parseInt']
      .flatMap((callee) => source.calls(callee))
      .filter(
        ({ text, parent, callee }) =>
          /\*\s*1e?00?\b/.test(text) ||
          (callee!.object !== undefined &&
            (/\/\s*100$/.test(parent?.text ?? '') || (/[*/]/.test(text) && MONEY.test(text)))),
      )
      .map((node) => ({
        node,
        edit: node.replace(`Math.round(${node.args[0]!.text})`),
        title: 'Round amounts to the nearest cent',
      })),
    // `(amount * 100) | 0` and `~~(amount * 100)`
    ...source
      .ofType('BinaryExpression', 'UnaryExpression')
      .flatMap((node) => {
        const isCut =
          node.raw['operator'] === '|'
            ? node.child('right')!.text === '0'
            : node.raw['operator'] === '~'
        const value = node.child('left') ?? node.child('argument')?.child('argument')
        return isCut && value !== undefined && /\*\s*100\b/.test(value.text)
          ? [{ node, value }]
          : []
      })
      .map(({ node, value }) => ({
        node,
        edit: node.replace(`Math.round(${value.text})`),
        title: 'Round amounts to the nearest cent',
      })),
    // `Math.round(amount * 100) / 100`
    ...source
      .calls('Math.round')
      .filter(
        ({ args: [cents], parent }) =>
          cents?.raw['operator'] === '*' &&
          cents.child('right')!.text === '100' &&
          /\/\s*100$/.test(parent?.text ?? ''),
      )
      .map((node) => ({
        node: node.parent!,
        edit: source.editWith(ROUNDED, (name) =>
          node.parent!.replace(`${name}(${node.args[0]!.child('left')!.text})`),
        ),
        title: 'Round halves of a cent up',
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
  const declared =
    item.parent?.type === 'VariableDeclarator' ? item.parent.child('id')?.name : undefined
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
      around.some(
        (each) =>
          /^console\.|\.write$/.test(each.callee?.text ?? '') ||
          /^(?:content|prompt|input|text)$/.test(each.child('key')?.name ?? ''),
      )
    const isText = (node: SyntaxNode): boolean => /['"`]/.test(node.text)
    const values = [...inserted, ...printed, ...joined].filter(
      (node) =>
        (/^(?:Identifier|(?:Optional)?MemberExpression)$/.test(node.type) ||
          (node.type === 'BinaryExpression' && /^[-+*/]$/.test(String(node.raw['operator'])))) &&
        !isText(node) &&
        (node.parent?.type !== 'BinaryExpression' || isText(node.parent)) &&
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

export const dateAndMoneyOperators: readonly Operator[] = [
  lastDayOfMonth,
  shorterMonth,
  wholeDays,
  nextDays,
  parseFraction,
  roundPrinted,
  dateOnly,
  utcDates,
  monthFromOne,
  roundMoney,
  sharesOfAll,
]
