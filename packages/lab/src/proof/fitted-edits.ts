import { type ConstantValue, constantValue, declarationsOf } from './constant-values.js'
import { type AddedNodes, finding, newNodes } from './edit-findings.js'
import type { Loss } from './losses.js'
import type { ParsedSource, SyntaxNode } from './source-text.js'

/** Signs that a change was fitted to one run: it may do the wrong thing for any other. */
export const FIT_CODES = [
  /** A value of this run in a comparison, a pattern or a new entry of a table. */
  'VALUE_NAMED',
  'LENGTH_COMPARED',
  /** The old code stays for other values than that of a comparison. */
  'OLD_CODE_KEPT',
  'OFFSET_ADDED',
  /** A limit or window moved by less than a factor of two. */
  'NUMBER_TUNED',
  'ENTRY_COPIED',
  /** Rounds to the other side, so that the values that were right become wrong. */
  'ROUNDED_OTHERWISE',
  /** One item or page, or a fixed number of them, instead of all. */
  'ITEMS_COUNTED',
  'SORT_REMOVED',
  /** The same code elsewhere in the project is as before. */
  'SITE_LEFT',
] as const
export type FitCode = (typeof FIT_CODES)[number]

/**
 * Finds what is written for one run rather than for all of its kind. Decides by the shape of the
 * code: a condition that is computed from several values, or a table with all values of a test, is
 * not noticed.
 */
export function fittedParts(
  old: ParsedSource | undefined,
  changed: ParsedSource,
  added: AddedNodes,
  others: () => readonly ParsedSource[],
): Loss[] {
  if (old === undefined) return []
  const known = new Set(numbersIn(old))
  const withCode = (code: FitCode, nodes: readonly SyntaxNode[]): Loss[] =>
    nodes.map((node) => finding(code, node))
  return [
    ...withCode(
      'LENGTH_COMPARED',
      added(comparisons).filter(
        (node) => comparesLength(node, known) || comparesRest(node) || hasNumberForName(node, old),
      ),
    ),
    ...withCode(
      'OLD_CODE_KEPT',
      added((source) => source.ofType('ConditionalExpression', 'IfStatement')).filter((node) =>
        retainsOldCode(node, old),
      ),
    ),
    ...withCode('OFFSET_ADDED', added(sums).filter(isOffset)),
    ...withCode('NUMBER_TUNED', tunedNumbers(old, changed)),
    ...withCode('ENTRY_COPIED', copiedEntries(old, changed)),
    ...withCode(
      'ROUNDED_OTHERWISE',
      added(roundings).filter((node) => isOtherSide(node, old)),
    ),
    ...withCode('ITEMS_COUNTED', [
      ...added(countedItems).filter(
        (node) => !hasParts(node.object) || wasIterated(node.object?.text, old),
      ),
      ...added(taken).filter((node) => wasIterated(node.callee?.object?.text, old)),
      ...added((source) => source.ofType('ArrayPattern')).filter((node) => takesSome(node, old)),
      ...added(pages).filter((node) => old.calls(node.callee!.text).length > 0),
    ]),
    ...withCode('SORT_REMOVED', sorts(changed).length === 0 ? sorts(old) : []),
    ...withCode('SITE_LEFT', sitesLeft(old, changed, others)),
  ]
}

const numbersIn = (source: ParsedSource): number[] =>
  source.ofType('NumericLiteral').map((node) => Number(node.raw['value']))

const sidesOf = (node: SyntaxNode): [SyntaxNode, SyntaxNode] => [
  node.child('left')!,
  node.child('right')!,
]

const operatorOf = (node: SyntaxNode): string => String(node.raw['operator'])

const comparisons = (source: ParsedSource): SyntaxNode[] =>
  source.ofType('BinaryExpression').filter((node) => /^(?:[!=]==?|[<>]=?)$/.test(operatorOf(node)))

const numberOf = (node: SyntaxNode): number | undefined => {
  const value = constantValue(node)
  return typeof value === 'number' ? value : undefined
}

// ── Lengths ─────────────────────────────────────────────────────────────────

/** Zero, one and a pair are cases of their own, and multiples of 100 are limits. */
const isCountedCase = (number: number): boolean =>
  number <= 2 || (number >= 100 && number % 100 === 0)

/** `text.length > 12` and `text.codePointAt(0) === 65`, with a number that the code did not have. */
function comparesLength(node: SyntaxNode, known: ReadonlySet<number>): boolean {
  const sides = sidesOf(node)
  return sides.some((side, index) => {
    const number = numberOf(sides[1 - index]!)
    if (number === undefined || known.has(number)) return false
    if (/^(?:codePointAt|charCodeAt)$/.test(side.callee?.name ?? '')) return true
    return side.name === 'length' && !isCountedCase(number)
  })
}

/** `words.length % 3 === 1`; a rest of zero is a case of its own. */
const comparesRest = (node: SyntaxNode): boolean =>
  sidesOf(node).some(
    (side, index) => operatorOf(side) === '%' && (numberOf(sidesOf(node)[1 - index]!) ?? 0) !== 0,
  )

/** `hits.length > 2` for `hits.length === LIMIT` */
function hasNumberForName(node: SyntaxNode, old: ParsedSource): boolean {
  const [left, right] = sidesOf(node)
  return (
    right.type === 'NumericLiteral' &&
    Number(right.raw['value']) > 1 &&
    comparisons(old).some((each) => {
      const [was, name] = sidesOf(each)
      return was.text === left.text && name.type === 'Identifier' && name.text !== 'undefined'
    })
  )
}

// ── Cases ───────────────────────────────────────────────────────────────────

/** Names and constants are in any code. */
const OLD_CODE_MIN = 8

const withoutSpace = (text: string): string => text.replaceAll(/\s+/g, '')

/** `goods.length === 2 ? await send(goods) : send(goods)`, where the code had the latter. */
function retainsOldCode(node: SyntaxNode, old: ParsedSource): boolean {
  const oldText = withoutSpace(old.text)
  const test = node.child('test')!
  const isCase = [...comparisons(node.source), ...textTests(node.source)].some(
    (each) =>
      test.isAround(each.start) &&
      each.end <= test.end &&
      (each.callee !== undefined || comparesConstant(each)) &&
      !oldText.includes(withoutSpace(each.text)),
  )
  const branches = [node.child('consequent'), node.child('alternate')]
  return (
    isCase &&
    branches.every((branch) => branch !== undefined) &&
    branches.filter((branch) => {
      const text = withoutSpace(branch.text)
      return text.length >= OLD_CODE_MIN && oldText.includes(text)
    }).length === 1
  )
}

/** `id.includes('-')` */
const textTests = (source: ParsedSource): SyntaxNode[] =>
  source
    .ofType('CallExpression')
    .filter(
      ({ callee, args: [first] }) =>
        /^(?:includes|startsWith|endsWith)$/.test(callee?.name ?? '') &&
        constantValue(first) !== undefined,
    )

/** A comparison with a text or a number other than zero. Names of types do not count. */
const comparesConstant = (node: SyntaxNode): boolean =>
  node.type === 'BinaryExpression' &&
  sidesOf(node).some((side, index) => {
    const value = constantValue(side)
    const other = sidesOf(node)[1 - index]!
    const isType = other.type === 'UnaryExpression' && operatorOf(other) === 'typeof'
    return value !== undefined && value !== '' && value !== 0 && !isType
  })

// ── Numbers ─────────────────────────────────────────────────────────────────

const sums = (source: ParsedSource): SyntaxNode[] =>
  source.ofType('BinaryExpression').filter((node) => /^[+-]$/.test(operatorOf(node)))

/** Positions in a text, pauses and capacities do not count as results. */
const TECHNICAL =
  /(?:^|\.)(?:slice|substring|substr|at|padStart|padEnd|repeat|charAt|setTimeout|setInterval|timeout|sleep|delay|wait|pause|UTC)$/i
const TECHNICAL_NAME =
  /(?:ms|delay|timeout|time|retr(?:y|ies)|attempts?|tries|wait|backoff|max|limit|tokens|index|start|end|at|offset|position|now|seconds)$/i

/** `index === 0 ? 1 : 0`: a constant for one case. */
const isCorrection = (given: SyntaxNode): boolean => {
  const test = given.type === 'ConditionalExpression' ? given.child('test')! : undefined
  return (
    test?.type === 'BinaryExpression' &&
    sidesOf(test).some((side) => constantValue(side) !== undefined) &&
    [given.child('consequent')!, given.child('alternate')!].every(
      (each) => numberOf(each) !== undefined,
    )
  )
}

/** `priceCents + 1200`, `(day + 4) % 7`, `share + (index === 0 ? 1 : 0)`, and `LIMIT - 1` in a comparison. */
function isOffset(node: SyntaxNode): boolean {
  const sides = sidesOf(node)
  if (sides.some(isCorrection)) return true
  return sides.some((side, index) => {
    const other = sides[1 - index]!
    if (side.type !== 'NumericLiteral' || other.type.endsWith('Literal')) return false
    const number = Number(side.raw['value'])
    if (/^Math\.(?:floor|ceil|trunc|round)$/.test(other.callee?.text ?? '')) return true
    if (other.name === 'length') return false
    // A constant of the code that is made one smaller for a comparison is another constant.
    if (number === 1)
      return (
        numberOf(other) !== undefined &&
        node.parent !== undefined &&
        /^[<>]=?$|^[!=]==?$/.test(operatorOf(node.parent))
      )
    const isTechnical =
      TECHNICAL_NAME.test(other.name ?? '') ||
      node.around.some(({ callee }) => TECHNICAL.test(callee?.text ?? ''))
    return number !== 0 && !isTechnical && constantValue(other) === undefined
  })
}

const LIMITS = /max|limit|size|timeout|tokens|retries|attempts|tries|count|window|length|ms$/i

/** The text around a number, in which nothing else changed. */
function contextOf(node: SyntaxNode): string {
  const { parent } = node
  const around = parent?.type === 'UnaryExpression' ? (parent.parent ?? parent) : (parent ?? node)
  const { text } = node.source
  return `${text.slice(around.start, node.start)}#${text.slice(node.end, around.end)}`
}

function isLimit(node: SyntaxNode): boolean {
  const { parent } = node
  if (parent === undefined) return false
  if (parent.type === 'BinaryExpression')
    return /^(?:[!=]==?|[<>]=?)$/.test(operatorOf(parent)) && numberOf(parent) === undefined
  if (parent.type === 'ObjectProperty' || parent.type === 'VariableDeclarator')
    return LIMITS.test(parent.child('key')?.name ?? parent.child('id')?.name ?? '')
  return parent.type === 'UnaryExpression' && parent.parent?.callee?.name === 'slice'
}

/** `batch.length === 2` for `=== 3`, `max_tokens: 42` for `30`, `slice(-5)` for `slice(-4)`. */
function tunedNumbers(old: ParsedSource, changed: ParsedSource): SyntaxNode[] {
  const literals = (source: ParsedSource): SyntaxNode[] =>
    source.ofType('NumericLiteral').filter(isLimit)
  const inContext = (node: SyntaxNode): string => `${contextOf(node)} ${node.text}`
  const [before, now] = [literals(old), literals(changed)]
  const unchanged = new Set(now.map(inContext))
  const gone = before.filter((node) => !unchanged.has(inContext(node)))
  return now.filter((node) => {
    const number = Number(node.raw['value'])
    return gone.some((each) => {
      const was = Number(each.raw['value'])
      return (
        contextOf(each) === contextOf(node) &&
        number !== was &&
        Math.min(number, was) > 1 &&
        Math.max(number / was, was / number) < TUNED_MAX
      )
    })
  })
}

/** A limit with less room than this fits the next run by luck. */
const TUNED_MAX = 2

const roundings = (source: ParsedSource): SyntaxNode[] =>
  source
    .ofType('CallExpression')
    .filter(({ callee }) => /^Math\.(?:floor|ceil|trunc)$/.test(callee?.text ?? ''))

/** `Math.ceil(euros * 100)` for `Math.floor(euros * 100)`: both are wrong for inexact numbers. */
function isOtherSide(node: SyntaxNode, old: ParsedSource): boolean {
  const [argument] = node.args
  const factor = argument?.child('right')
  const isInexact =
    argument?.type === 'BinaryExpression' &&
    ((operatorOf(argument) === '*' && /^10+(?:_000)*$/.test(factor?.text ?? '')) ||
      (operatorOf(argument) === '/' && (numberOf(factor!) ?? 0) >= A_SECOND_MS))
  return (
    isInexact &&
    roundings(old).some(
      (each) => each.args[0]?.text === argument.text && each.callee?.text !== node.callee?.text,
    )
  )
}

const A_SECOND_MS = 1000

// ── Entries and items ───────────────────────────────────────────────────────

/** Entries of a table that now have the text of another entry. */
function copiedEntries(old: ParsedSource, changed: ParsedSource): SyntaxNode[] {
  const entries = (source: ParsedSource): SyntaxNode[] =>
    source.ofType('ObjectProperty').filter((node) => node.child('value')?.type === 'StringLiteral')
  const textOf = (node: SyntaxNode): ConstantValue | undefined => constantValue(node.child('value'))
  const before = entries(old)
  return newNodes(before, entries(changed)).filter(
    (node) =>
      before.some((each) => each.child('key')?.text === node.child('key')?.text) &&
      node.parent
        ?.children('properties')
        .some((each) => each !== node && textOf(each) === textOf(node)),
  )
}

/** Their results have parts with a meaning, so `[1]` is one of them. */
const PARTED = /(?:^|\.)(?:split|match|exec|matchAll|entries)$/
const PARTED_NAME = /^(?:m|match(?:es)?|matched|parts?|groups?|argv|args|words|cells|fields)$/i

const hasParts = (node: SyntaxNode | undefined): boolean => {
  if (node === undefined) return false
  const init = declarationsOf(node.source, node.text)[0]?.child('init')
  return (
    PARTED.test(node.callee?.text ?? '') ||
    PARTED_NAME.test(node.name ?? '') ||
    (init !== undefined && PARTED.test(init.callee?.text ?? ''))
  )
}

const EACH = /^(?:map|filter|flatMap|forEach|reduce|join|some|every|find)$/

/** `content[1]`, `Object.values(all)[0]`, and `all.slice(0, 3).map(use)`. */
const countedItems = (source: ParsedSource): SyntaxNode[] => [
  ...source.ofType('MemberExpression', 'OptionalMemberExpression').filter((node) => {
    const index = node.raw['computed'] === true ? node.child('property') : undefined
    if (index?.type !== 'NumericLiteral') return false
    const object = node.object!
    const isOfAll = /^Object\.(?:values|keys|entries)$/.test(object.callee?.text ?? '')
    return isOfAll || Number(index.raw['value']) > 0
  }),
  ...source.ofType('CallExpression').filter(({ callee, args: [from, to], parent }) => {
    const isUsedWhole = parent?.object !== undefined && EACH.test(parent.name ?? '')
    const number = Number((to ?? from)?.text)
    // Multiples of ten are limits, and a list may begin with a header.
    const isSome = from?.text === '0' ? number % 10 !== 0 : number < -1 && to === undefined
    return callee?.name === 'slice' && isSome && (isUsedWhole || parent?.type === 'ForOfStatement')
  }),
]

/** `all.shift()`; in a loop, it takes all. */
const taken = (source: ParsedSource): SyntaxNode[] =>
  source
    .ofType('CallExpression')
    .filter(
      ({ callee, around }) =>
        /^(?:shift|pop)$/.test(callee?.name ?? '') && !around.some((each) => each.isLoop),
    )

/** `const [first, second] = all` where the code used all items. */
function takesSome(node: SyntaxNode, old: ParsedSource): boolean {
  const elements = node.children('elements')
  const isSome = elements.length > 1 && elements.at(-1)?.type !== 'RestElement'
  return isSome && node.parent !== undefined && wasIterated(node.parent.child('init')?.text, old)
}

/** True if the code used all items, as in `all.forEach(use)` and `for (const each of all)`. */
function wasIterated(text: string | undefined, old: ParsedSource): boolean {
  const isCalled = old
    .ofType('CallExpression')
    .some(({ callee }) => callee?.object?.text === text && EACH.test(callee?.name ?? ''))
  return isCalled || old.ofType('ForOfStatement').some((each) => each.child('right')?.text === text)
}

const PAGE_NAMES =
  /^(?:cursor|page(?:Token|Number)?|next(?:Page|Token|Cursor)?|after|offset|token)$/i

/** A call for another page that is not in a loop, and does not call itself. */
const pages = (source: ParsedSource): SyntaxNode[] =>
  source.ofType('CallExpression').filter((node) => {
    const isPage = node.args.some((each) =>
      each.type === 'ObjectExpression'
        ? each.propertyNames.some((name) => PAGE_NAMES.test(name))
        : PAGE_NAMES.test(each.name ?? ''),
    )
    const name =
      node.functionAround?.child('id')?.name ?? node.functionAround?.parent?.child('id')?.name
    const isRepeated = node.around.some((each) => each.isLoop && !isCounted(each))
    return isPage && !isRepeated && node.callee?.text !== name
  })

/** `for (let page = 0; page < 2; page++)` */
const isCounted = (loop: SyntaxNode): boolean => {
  const test = loop.type === 'ForStatement' ? loop.child('test') : undefined
  return test?.type === 'BinaryExpression' && numberOf(sidesOf(test)[1]) !== undefined
}

const sorts = (source: ParsedSource): SyntaxNode[] =>
  source
    .ofType('CallExpression')
    .filter(({ callee }) => /^(?:sort|toSorted|sortBy|orderBy)$/.test(callee?.name ?? ''))

// ── Other sites ─────────────────────────────────────────────────────────────

/** A call or calculation without the names of its values. */
const skeletonOf = (node: SyntaxNode): string =>
  node.text
    .replaceAll(/(?<![.\w$'"`])[a-z_$][\w$]*(?![\w$]|\s*[(:'"`])/g, '_')
    .replaceAll(/\s+/g, ' ')

/** Shorter skeletons, such as `f(_)`, are the same in different code. */
const SKELETON_MIN = 12

/** The code that a change replaces, where it is left as it was. */
function sitesLeft(
  old: ParsedSource,
  changed: ParsedSource,
  others: () => readonly ParsedSource[],
): SyntaxNode[] {
  const calls = (source: ParsedSource): SyntaxNode[] =>
    source
      .ofType('CallExpression', 'NewExpression', 'OptionalCallExpression')
      .filter(({ text, args }) => !text.includes('\n') && !args.some((each) => each.isFunction))
  const gone = newNodes(calls(changed), calls(old))
  const innermost = gone.filter(
    (node) => !gone.some((each) => each !== node && node.isAround(each.start)),
  )
  const skeletons = new Set(
    innermost.map(skeletonOf).filter((text) => text.length >= SKELETON_MIN && text.includes('_')),
  )
  if (skeletons.size === 0) return []
  const added = new Set(newNodes(calls(old), calls(changed)))
  return [...calls(changed).filter((node) => !added.has(node)), ...others().flatMap(calls)]
    .filter((node) => skeletons.has(skeletonOf(node)) && !isLog(node))
    .slice(0, 1)
}

const isLog = ({ callee }: SyntaxNode): boolean => callee?.text.startsWith('console.') === true
