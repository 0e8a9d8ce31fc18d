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
  /** A limit or window moved by a small factor. */
  'NUMBER_TUNED',
  'ENTRY_COPIED',
  /** Rounds to the other side, so that the values that were right become wrong. */
  'ROUNDED_OTHERWISE',
  /** One item or page, or a fixed number of them, instead of all. */
  'ITEMS_COUNTED',
  'SORT_REMOVED',
  /** The same code elsewhere in the project is as before. */
  'SITE_LEFT',
  /** A result of this run is printed as a constant. */
  'RESULT_WRITTEN',
  /** A decision by a number that the code did not have, such as `room % 2 === 0`. */
  'NUMBER_COMPARED',
  /** A fixed part of a value decides, or is computed with. */
  'PART_TAKEN',
  /** A method of texts on a value that was a number so far. */
  'KIND_ASSUMED',
  /** Values are looked up in a table that the change brings. */
  'TABLE_ADDED',
  /** Only the first of several signs is replaced. */
  'REPLACED_ONCE',
  /** The beginning or a part of a text counts, where it had to be the same. */
  'TEST_WEAKENED',
] as const
export type FitCode = (typeof FIT_CODES)[number]

/**
 * Finds what is written for one run rather than for all of its kind: where new code decides by data
 * of the run, and not by its kind, such as whether it is there or a list. Follows values through
 * constants and conversions only, so a formula that is right for one run by chance is not noticed.
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
    ...withCode('LENGTH_COMPARED', added(lengthsUsed)),
    ...withCode('NUMBER_COMPARED', [
      ...added(comparisons).filter((node) => decidesByNumber(node, known)),
      ...added(rests),
      ...added(capped).filter(
        (node) => !node.args.some((each) => known.has(numberOf(each) ?? NaN)),
      ),
    ]),
    ...withCode('PART_TAKEN', added(partsTaken)),
    ...withCode(
      'KIND_ASSUMED',
      added(textMethods).filter((node) => wasNumber(node, old)),
    ),
    ...withCode('TABLE_ADDED', tablesAdded(old, changed)),
    ...withCode('REPLACED_ONCE', added(replacedOnce)),
    ...withCode('TEST_WEAKENED', weakenedTests(old, changed, added)),
    ...withCode(
      'OLD_CODE_KEPT',
      added((source) => source.ofType('ConditionalExpression', 'IfStatement')).filter((node) =>
        retainsOldCode(node, old),
      ),
    ),
    ...withCode('OFFSET_ADDED', [
      ...added(sums).filter((node) => isOffset(node) || movesComparison(node, old)),
      ...added(entriesBeside),
    ]),
    ...withCode('NUMBER_TUNED', tunedNumbers(old, changed)),
    ...withCode('ENTRY_COPIED', [
      ...copiedEntries(old, changed),
      ...added(results).filter((node) => isCopiedResult(node, old)),
    ]),
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
      ...singleItems(old, changed, added),
      ...added(membersChosen),
      ...added(countsChosen),
      ...added((source) => source.ofType('ArrayExpression')).filter((node) => wrapsList(node, old)),
      ...added(comparisons).filter(comparesWithItem),
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
const isCountedCase = (number: number): boolean => number <= 2 || isLimitNumber(number)

const isLimitNumber = (number: number): boolean => number >= 100 && number % 100 === 0

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

/** A value, and what it is made of by constants and conversions. */
function reaches(node: SyntaxNode | undefined, isWanted: (each: SyntaxNode) => boolean): boolean {
  if (node === undefined) return false
  if (isWanted(node)) return true
  if (node.type === 'BinaryExpression' && operatorOf(node) === '+')
    return sidesOf(node).some((side) => reaches(side, isWanted))
  if (/^(?:Number|String|Math\.\w+|(?:Number\.)?parse(?:Int|Float))$/.test(node.callee?.text ?? ''))
    return node.args.some((each) => reaches(each, isWanted))
  if (node.type !== 'Identifier') return false
  const [declared] = declarationsOf(node.source, node.text)
  const init = declared?.child('init')
  return (
    declared?.parent?.raw['kind'] === 'const' &&
    init?.isAround(node.start) === false &&
    reaches(init, isWanted)
  )
}

const isLength = (node: SyntaxNode | undefined): boolean =>
  reaches(node, (each) => each.name === 'length' && each.object !== undefined)

/** Tokens have about so many letters. */
const LETTERS_PER_TOKEN = /^(?:3|3\.5|4)$/

/** `text.length * 90`, `all.length / 2`, `10 ** text.length`; dividing by a length is an average. */
const lengthsUsed = (source: ParsedSource): SyntaxNode[] =>
  source.ofType('BinaryExpression').filter((node) => {
    const [left, right] = sidesOf(node)
    const isNumber = (side: SyntaxNode): boolean => side.type === 'NumericLiteral'
    switch (operatorOf(node)) {
      case '**':
        return isLength(left) || isLength(right)
      case '*':
        return (isLength(left) && isNumber(right)) || (isLength(right) && isNumber(left))
      case '/':
        return isLength(left) && isNumber(right) && !LETTERS_PER_TOKEN.test(right.text)
      case '%':
        return isLength(left) && isNumber(right)
      case '-':
        return (
          isLength(left) && isLength(right) && node.functionAround !== undefined && isSorted(node)
        )
      default:
        return false
    }
  })

/** In a function that a call sorts by. */
const isSorted = (node: SyntaxNode): boolean =>
  SORTS.test(node.functionAround?.parent?.callee?.name ?? '')

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
  const hasBoth = branches.every((branch) => branch !== undefined)
  if (hasBoth && !isStructural(test) && branches.some((each) => isWholeChange(node, each, old)))
    return true
  return (
    isCase &&
    hasBoth &&
    branches.filter((branch) => {
      const text = withoutSpace(branch.text)
      return text.length >= OLD_CODE_MIN && oldText.includes(text)
    }).length === 1
  )
}

const plainText = (text: string): string => text.replaceAll(/[\s()]+/g, '')

/** True if the file is as before with this branch instead of the condition. */
function isWholeChange(node: SyntaxNode, branch: SyntaxNode, old: ParsedSource): boolean {
  const { text } = node.source
  const reverted = text.slice(0, node.start) + branch.text + text.slice(node.end)
  return plainText(reverted) === plainText(old.text)
}

const KIND_TESTS = /^(?:Array\.isArray|Object\.hasOwn|(?:Number\.)?is(?:NaN|Finite|Integer))$/

/** True for a test of the kind of a value, rather than of its content: `a === undefined`, `!a.b`. */
function isStructural(test: SyntaxNode): boolean {
  if (test.type === 'LogicalExpression') return sidesOf(test).every(isStructural)
  if (test.type === 'UnaryExpression') return isStructural(test.child('argument')!)
  if (test.type === 'BinaryExpression') {
    if (/^(?:in|instanceof)$/.test(operatorOf(test))) return true
    return sidesOf(test).some(
      (side) =>
        /^(?:undefined|null)$/.test(side.text) ||
        operatorOf(side) === 'typeof' ||
        (side.text === '0' && /^===?$/.test(operatorOf(test))) ||
        isLimitNumber(numberOf(side) ?? 0),
    )
  }
  if (/^(?:Optional)?CallExpression$/.test(test.type))
    return KIND_TESTS.test(test.callee?.text ?? '')
  return /^(?:Identifier|(?:Optional)?MemberExpression)$/.test(test.type) && test.name !== 'length'
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

/** `total + 1 > 100` for `total > 100`. */
function movesComparison(node: SyntaxNode, old: ParsedSource): boolean {
  const { parent } = node
  if (parent?.type !== 'BinaryExpression' || !/^[<>]=?$/.test(operatorOf(parent))) return false
  const text = (each: SyntaxNode): string =>
    sidesOf(each)
      .map((side) => (side.start === node.start ? sidesOf(node)[0].text : side.text))
      .join(' ')
  return comparisons(old).some((each) => text(each) === text(parent))
}

/** `table[key] ?? table[key * 2]` */
const entriesBeside = (source: ParsedSource): SyntaxNode[] =>
  source.ofType('LogicalExpression').filter((node) => {
    const [left, right] = sidesOf(node)
    const key = right.raw['computed'] === true ? right.child('property') : undefined
    return (
      /^(?:\?\?|\|\|)$/.test(operatorOf(node)) &&
      left.object !== undefined &&
      left.object.text === right.object?.text &&
      key !== undefined &&
      key.source
        .ofType('BinaryExpression')
        .some((each) => each.start >= key.start && each.end <= key.end)
    )
  })

/** Names of what counts turns of a loop or positions. */
const COUNTER_NAME = /^(?:[ijkn]|index|idx|turn|round|row|col|step|at|year)$|(?:Index|Count|Turn)$/
/** Names and members whose numbers are part of an interface. */
const INTERFACE_NAME = /status|code$|^size$/i
const TIME_NAME = /(?:ms|time(?:out)?|now|seconds|wait|delay|bytes)$/i

/** True for a variable that the code changes, or that a loop or callback counts with. */
const isCounter = (node: SyntaxNode): boolean =>
  COUNTER_NAME.test(node.name ?? '') ||
  (node.type === 'Identifier' &&
    node.source
      .ofType('UpdateExpression', 'AssignmentExpression')
      .some((each) => (each.child('argument') ?? each.child('left'))?.text === node.text))

/** `Number(id) < 10`, `price / 100 > limit`: constants that the code did not have. */
function decidesByNumber(node: SyntaxNode, known: ReadonlySet<number>): boolean {
  const sides = sidesOf(node)
  return sides.some((side, index) => {
    const other = sides[1 - index]!
    if (isCounter(other) || TECHNICAL_NAME.test(other.name ?? '')) return false
    if (INTERFACE_NAME.test(other.name ?? '') || operatorOf(other) === 'typeof') return false
    if (side.type === 'NumericLiteral') {
      const number = Number(side.raw['value'])
      const isCase = Number.isInteger(number) && isCountedCase(number)
      return numberOf(other) === undefined && !known.has(number) && !isCase
    }
    // A limit that is computed: `all.length > LIMIT / 2`.
    return (
      /^[<>]=?$/.test(operatorOf(node)) &&
      side.type === 'BinaryExpression' &&
      /^[*/]$/.test(operatorOf(side)) &&
      !sidesOf(side).some(isLength) &&
      sidesOf(side).some((each) => each.type === 'NumericLiteral') &&
      !sidesOf(side).some((each) => TIME_NAME.test(each.name ?? ''))
    )
  })
}

/** `room % 2 === 0` and `if (all.length % 2)`, unless it counts turns. */
const rests = (source: ParsedSource): SyntaxNode[] =>
  source.ofType('BinaryExpression').filter((node) => {
    const [left, right] = sidesOf(node)
    const { parent } = node
    const isTested =
      parent?.child('test')?.start === node.start ||
      (parent?.type === 'BinaryExpression' && /^[!=]==?$/.test(operatorOf(parent))) ||
      parent?.type === 'LogicalExpression'
    return (
      operatorOf(node) === '%' && isTested && right.type === 'NumericLiteral' && !isCounter(left)
    )
  })

/** `Math.min(day, 28)` */
const capped = (source: ParsedSource): SyntaxNode[] =>
  source
    .ofType('CallExpression')
    .filter(
      ({ callee, args }) =>
        /^Math\.(?:min|max)$/.test(callee?.text ?? '') &&
        args.length === 2 &&
        args.filter((each) => each.type === 'NumericLiteral' && !isCountedCase(numberOf(each)!))
          .length === 1 &&
        !args.some((each) => TECHNICAL_NAME.test(each.name ?? '')),
    )

/** The beginning of a date is a date of its own. */
const DATE_PART = /^(?:4|7|10)$/

const CONVERSIONS = /^(?:Number|BigInt|(?:Number\.)?parse(?:Int|Float))$/

/** `Number(id.slice(1))`, `guests[0] * 2`, `a.slice(5, 7) - b.slice(5, 7)`. */
const partsTaken = (source: ParsedSource): SyntaxNode[] =>
  source
    .ofType('CallExpression', 'MemberExpression')
    .filter((node) => {
      if (node.type === 'MemberExpression')
        return (
          node.raw['computed'] === true &&
          node.child('property')?.type === 'NumericLiteral' &&
          !hasParts(node.object)
        )
      const { callee, args } = node
      const isPart = /^(?:slice|substring|substr|charAt|at)$/.test(callee?.name ?? '')
      const areFixed = args.length > 0 && args.every((each) => numberOf(each) !== undefined)
      const isDate = args[0]?.text === '0' && DATE_PART.test(args[1]?.text ?? '')
      return isPart && areFixed && !isDate && !hasParts(callee?.object)
    })
    .filter((node) => {
      const { parent } = node
      if (parent === undefined || parent.callee === node) return false
      if (parent.type === 'BinaryExpression')
        return /^[-*/%<>]=?$/.test(operatorOf(parent)) && isText(node)
      if (parent.type === 'UnaryExpression') return /^[-+]$/.test(operatorOf(parent))
      if (CONVERSIONS.test(parent.callee?.text ?? '')) return true
      return parent.raw['computed'] === true && parent.child('property')?.start === node.start
    })

const textMethods = (source: ParsedSource): SyntaxNode[] =>
  source
    .ofType('CallExpression')
    .filter(({ callee }) =>
      /^(?:trim\w*|replace(?:All)?|split|slice|substring|to(?:Lower|Upper)Case|match|padStart)$/.test(
        callee?.name ?? '',
      ),
    )

/** `Number(guests.trim()) + 1` for `guests + 1`: an error for numbers, unless the kind is tested. */
function wasNumber({ callee, source, parent }: SyntaxNode, old: ParsedSource): boolean {
  if (!CONVERSIONS.test(parent?.callee?.text ?? '')) return false
  const value = callee?.object?.text ?? ''
  const isOperand = sums(old).some((each) => sidesOf(each).some((side) => side.text === value))
  return (
    isOperand && !new RegExp(`typeof\\s+${value.replaceAll(/\W/g, '\\$&')}\\b`).test(source.text)
  )
}

/** A list has numbers in it, too; `slice` and `charAt` of a list or text do not. */
const isText = (node: SyntaxNode): boolean => node.type === 'CallExpression'

/** Shorter ones are pairs. */
const TABLE_MIN = 2
const LIST_MIN = 3

const hasNumbers = (value: ConstantValue | undefined): boolean =>
  typeof value === 'object' ? value.some(hasNumbers) : typeof value === 'number'

/** Tables of numbers in which data is looked up: `new Map([['EUR', 1], ['USD', 2]])`. */
function tablesAdded(old: ParsedSource, changed: ParsedSource): SyntaxNode[] {
  const entriesOf = (node: SyntaxNode): SyntaxNode[] =>
    node.type === 'ObjectExpression' ? node.children('properties') : node.children('elements')
  const isTable = (node: SyntaxNode | undefined): boolean => {
    if (node === undefined) return false
    if (/^(?:Map|Object\.(?:freeze|fromEntries))$/.test(node.callee?.text ?? ''))
      return isTable(node.args[0])
    if (node.type === 'ObjectExpression')
      return (
        entriesOf(node).length >= TABLE_MIN &&
        entriesOf(node).every((each) => hasNumbers(constantValue(each.child('value'))))
      )
    const isMap = node.parent?.callee?.text === 'Map'
    return (
      node.type === 'ArrayExpression' &&
      entriesOf(node).length >= (isMap ? TABLE_MIN : LIST_MIN) &&
      hasNumbers(constantValue(node))
    )
  }
  const isLookup = (node: SyntaxNode): boolean => {
    const key =
      node.raw['computed'] === true
        ? node.child('property')
        : /^(?:get|has)$/.test(node.name ?? '') && node.parent?.callee === node
          ? node.parent.args[0]
          : undefined
    return key !== undefined && constantValue(key) === undefined
  }
  return changed
    .ofType('MemberExpression', 'OptionalMemberExpression')
    .filter(isLookup)
    .flatMap((node) => {
      const object = node.object!
      if (object.type !== 'Identifier') return isTable(object) ? [object] : []
      const isOld = declarationsOf(old, object.text).length > 0
      const init = declarationsOf(changed, object.text)[0]?.child('init')
      return !isOld && init !== undefined && isTable(init) ? [init] : []
    })
    .filter((node) => !plainText(old.text).includes(plainText(node.text)))
    .slice(0, 1)
}

/** `text.replace("'", '')`: a sign may occur more often. */
const replacedOnce = (source: ParsedSource): SyntaxNode[] =>
  source.ofType('CallExpression').filter(({ callee, args: [pattern] }) => {
    if (callee?.name !== 'replace') return false
    const text = constantValue(pattern)
    return typeof text === 'string' && /^[^\p{L}\p{N}\s]{1,2}$/u.test(text)
  })

/** `text.startsWith(user)` for `all.includes(user)` or `text === user`. */
function weakenedTests(
  old: ParsedSource,
  changed: ParsedSource,
  added: AddedNodes,
): readonly SyntaxNode[] {
  const exact = (source: ParsedSource): SyntaxNode[] => [
    ...comparisons(source).filter((node) => /^[!=]==?$/.test(operatorOf(node))),
    ...source
      .ofType('CallExpression')
      .filter(({ callee }) => /^(?:includes|has|indexOf)$/.test(callee?.name ?? '')),
  ]
  const gone = newNodes(exact(changed), exact(old))
  return added((source) =>
    source
      .ofType('CallExpression')
      .filter(({ callee }) =>
        /^(?:startsWith|endsWith|includes|indexOf)$/.test(callee?.name ?? ''),
      ),
  ).filter(({ callee, args: [first] }) =>
    gone.some((each) => {
      if (first === undefined || constantValue(first) !== undefined) return false
      const isSame = [...each.args, each.child('left'), each.child('right')].some(
        (side) => side?.text === first.text,
      )
      return isSame && callee?.object?.text !== each.callee?.object?.text
    }),
  )
}

const LIMITS =
  /max|limit|size|timeout|tokens|retries|attempts|tries|count|window|length|page|history|turns|batch|ms$/i
/** Limits of how much is used at a time, of which there may be any number. */
const COUNT_LIMITS = /size|count|window|length|page|history|batch/i

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
        Math.max(number / was, was / number) <= roomMin(node)
      )
    })
  })
}

/** A limit with less room than this fits the next run by luck. */
const ROOM_MIN = 4
const COUNT_ROOM_MIN = 9

const roomMin = ({ parent }: SyntaxNode): number =>
  COUNT_LIMITS.test(parent?.child('id')?.name ?? parent?.child('key')?.name ?? '')
    ? COUNT_ROOM_MIN
    : ROOM_MIN

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

const results = (source: ParsedSource): SyntaxNode[] =>
  source
    .ofType('ReturnStatement')
    .filter((node) => node.child('argument')?.type === 'StringLiteral')

/** `return 'a person'` in place of another text, in a function that returned it in another case. */
function isCopiedResult(node: SyntaxNode, old: ParsedSource): boolean {
  const own = results(node.source).filter(
    (each) => each.functionAround?.start === node.functionAround?.start,
  )
  return (
    own.some((each) => each !== node && each.text === node.text) &&
    results(old).length === results(node.source).length
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

/** `X` in `X.map(use)`, `X.join()` and `for (const each of X)`. */
const iterations = (source: ParsedSource): SyntaxNode[] => [
  ...source
    .ofType('CallExpression')
    .filter(({ callee }) => EACH.test(callee?.name ?? ''))
    .flatMap(({ callee }) => callee?.object ?? []),
  ...source.ofType('ForOfStatement').flatMap((node) => node.child('right') ?? []),
]

/** `all[0]` where a loop over all is gone, and `[all[0], all.at(-1)]`. */
function singleItems(
  old: ParsedSource,
  changed: ParsedSource,
  added: AddedNodes,
): readonly SyntaxNode[] {
  const gone = new Set(
    newNodes(iterations(changed), iterations(old)).map(({ text }) => plainText(text)),
  )
  const items = added((source) => [
    ...source
      .ofType('MemberExpression', 'OptionalMemberExpression')
      .filter((node) => node.raw['computed'] === true && isPosition(node.child('property'))),
    ...source
      .ofType('CallExpression')
      .filter(({ callee, args: [at] }) => callee?.name === 'at' && isPosition(at)),
  ]).map((node) => ({ node, object: node.object ?? node.callee!.object! }))
  const isGone = (text: string): boolean =>
    [...gone].some((each) => each === text || each.startsWith(`${text}.`))
  const first = old
    .ofType('MemberExpression')
    .filter((node) => node.raw['computed'] === true && node.child('property')?.text === '0')
  return items
    .filter(
      ({ node, object }) =>
        isGone(plainText(object.text)) ||
        (!hasParts(object) &&
          // The last instead of the first.
          ((node.type === 'CallExpression' &&
            first.some((each) => each.object?.text === object.text)) ||
            items.some(
              (each) => each.object.text === object.text && each.node.text !== node.text,
            ))),
    )
    .map(({ node }) => node)
}

const isPosition = (node: SyntaxNode | undefined): boolean =>
  node?.type === 'NumericLiteral' ||
  (node?.type === 'UnaryExpression' && node.child('argument')?.type === 'NumericLiteral')

/** `Object.values(all).find(isWanted)`: whichever member has such a value. */
const membersChosen = (source: ParsedSource): SyntaxNode[] =>
  source
    .ofType('CallExpression')
    .filter(
      ({ callee }) =>
        /^(?:find|findLast|at)$/.test(callee?.name ?? '') &&
        /^Object\.(?:values|keys)$/.test(callee?.object?.callee?.text ?? ''),
    )

const CONVERSATION = /^(?:messages|history|contents|conversation|turns|chat|thread|transcript)$/i

/** `all.slice(all[0].role === 'assistant' ? 1 : 0)`, and `messages.slice(1)`, which has no header. */
const countsChosen = (source: ParsedSource): SyntaxNode[] =>
  source.ofType('CallExpression').filter(
    ({ callee, args }) =>
      /^(?:slice|splice|at|toSpliced)$/.test(callee?.name ?? '') &&
      (args.some(isCorrection) ||
        (args[0]?.text === '1' &&
          CONVERSATION.test(callee?.object?.name ?? '') &&
          // The first may be used on its own.
          !source.text.includes(`${callee?.object?.text}[0]`))),
  )

/** `[hits].map(use)` for `hits.map(use)`, which may still be a list. */
function wrapsList(node: SyntaxNode, old: ParsedSource): boolean {
  const elements = node.children('elements')
  return (
    elements.length === 1 &&
    EACH.test(node.parent?.name ?? '') &&
    wasIterated(elements[0]!.text, old)
  )
}

/** `each.text !== all[0].text` */
function comparesWithItem(node: SyntaxNode): boolean {
  const sides = sidesOf(node)
  return sides.some((side, index) => {
    const other = sides[1 - index]!
    const isData = /^(?:Identifier|(?:Optional)?MemberExpression)$/.test(other.type)
    return (
      isData &&
      !/^(?:undefined|null|NaN)$/.test(other.text) &&
      constantValue(other) === undefined &&
      side.object?.raw['computed'] === true &&
      isPosition(side.object.child('property')) &&
      side.object.object?.text !== other.object?.object?.text
    )
  })
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

const SORTS = /^(?:sort|toSorted|sortBy|orderBy)$/

const sorts = (source: ParsedSource): SyntaxNode[] =>
  source.ofType('CallExpression').filter(({ callee }) => SORTS.test(callee?.name ?? ''))

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
