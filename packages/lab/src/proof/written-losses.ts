import type { FixCandidate } from './candidates.js'
import { declarationsOf } from './constant-values.js'
import type { Loss } from './losses.js'
import { type AddedNodes, finding } from './edit-findings.js'
import type { ParsedSource, SyntaxNode } from './source-text.js'

/**
 * Losses that a change writes down: defaults for missing data, ignored errors, skipped items. Decides
 * by the shape of the code, so a helper with a harmless name, or a missing value that a library
 * ignores, is not noticed; trials compare what such code prints and sends.
 */
export function writtenLosses(
  old: ParsedSource | undefined,
  added: AddedNodes,
  author: FixCandidate['author'],
): Loss[] {
  const isOurs = (node: SyntaxNode): boolean =>
    author === 'rule' && node.around.some((each) => isNewHelper(each, old))
  const found: AddedNodes = (pick, kindOf) => added(pick, kindOf).filter((node) => !isOurs(node))
  const withCode = (code: WrittenLoss, nodes: readonly SyntaxNode[]): Loss[] =>
    nodes.map((node) => finding(code, node))
  const losses = [
    ...withCode('DEFAULT_ADDED', [
      ...found(fallbacks, ({ text }) => /(?:\?\?|\|\|).*$/s.exec(text)?.[0] ?? text),
      ...found((source) => source.ofType('AssignmentPattern').filter(isDataDefault(old))),
      ...found(chains, ({ text }) => /\?\.[^?]*$/s.exec(text)?.[0] ?? text).filter(
        (node) => !isNewCase(node, old),
      ),
      ...found((source) => source.ofType('LogicalExpression').filter(guardsAccess)).filter((node) =>
        wasWritten(node.child('right')!, old),
      ),
      ...found(choices, caseOf),
      ...found(defaultProperties),
      ...found((source) => source.ofType('IfStatement').filter(assignsConstant)),
    ]),
    ...withCode('EXCEPTION_IGNORED', [
      ...found((source) => source.ofType('CatchClause').filter(ignoresError)),
      ...found(ignoringHandlers),
      ...found(unreadRejections),
      ...found((source) => source.ofType('TryStatement').flatMap(leavesFinally)),
    ]),
    ...withCode('ITEMS_SKIPPED', [
      ...found((source) => source.ofType('IfStatement').filter(skips)),
      ...found((source) => source.ofType('IfStatement').filter(isGuard)).filter((node) =>
        statementsOf(node.child('consequent')).some((each) => wasWritten(each, old)),
      ),
      ...found(droppingFilters),
    ]),
  ]
  // A line says enough once.
  return [...new Map(losses.map((loss) => [JSON.stringify(loss), loss])).values()]
}

type WrittenLoss = 'DEFAULT_ADDED' | 'EXCEPTION_IGNORED' | 'ITEMS_SKIPPED'

/** A function at the end of the file, which the rule brings with it. */
const isNewHelper = (node: SyntaxNode, old: ParsedSource | undefined): boolean =>
  node.type === 'FunctionDeclaration' &&
  node.parent?.type === 'Program' &&
  old?.text.includes(`function ${node.child('id')?.text}`) !== true

const compact = (text: string): string =>
  text
    .replaceAll(/\s+/g, '')
    .replaceAll(/\?\.(?=[[(])/g, '')
    .replaceAll('?.', '.')

/** True if the old code has the same text, without checks for missing values. */
const wasWritten = (node: SyntaxNode, old: ParsedSource | undefined): boolean =>
  old !== undefined && compact(old.text).includes(compact(node.text))

// ── Values ──────────────────────────────────────────────────────────────────

const NULLISH = /^(?:null|undefined|void 0)$/

/** A value that contains no data of the run. */
function isConstant(node: SyntaxNode | undefined): boolean {
  if (node === undefined) return false
  if (node.type === 'ArrayExpression') return node.children('elements').every(isConstant)
  if (node.type === 'ObjectExpression')
    return node
      .children('properties')
      .every((each) => each.type === 'ObjectProperty' && isConstant(each.child('value')))
  if (node.type === 'TemplateLiteral') return node.children('expressions').length === 0
  if (node.type === 'UnaryExpression') return isConstant(node.child('argument'))
  if (/^TS(?:As|Satisfies|NonNull)Expression$/.test(node.type))
    return isConstant(node.child('expression'))
  if (/^(?:New|Call)Expression$/.test(node.type))
    return (
      /^(?:Map|Set|WeakMap|Array|Object|String|Number|Object\.(?:create|freeze)|Promise\.resolve)$/.test(
        node.callee?.text ?? '',
      ) && node.args.every(isConstant)
    )
  if (node.type === 'Identifier' && !NULLISH.test(node.text) && node.text !== 'NaN') {
    const [declared] = declarationsOf(node.source, node.text)
    const init = declared?.child('init')
    return (
      declared?.parent?.raw['kind'] === 'const' &&
      init?.isAround(node.start) === false &&
      isConstant(init)
    )
  }
  return node.type.endsWith('Literal') || NULLISH.test(node.text) || node.text === 'NaN'
}

const isEmpty = (node: SyntaxNode): boolean =>
  /^(?:\[\]|\{\}|''|""|``|0|null|undefined|void 0)$/.test(node.text)

/** The node inside of `await`, `!` and types. */
const plain = (node: SyntaxNode): SyntaxNode =>
  /^(?:AwaitExpression|TS(?:As|Satisfies|NonNull)Expression|ParenthesizedExpression|ChainExpression)$/.test(
    node.type,
  )
    ? plain(node.child('argument') ?? node.child('expression')!)
    : node

const LOOKUPS = /^(?:get|find|findLast|exec|match|at)$/

/** Where a value comes from, as `a.b` or `prices.get(id)`; undefined for other expressions. */
function pathOf(given: SyntaxNode | undefined): string | undefined {
  if (given === undefined) return undefined
  const node = plain(given)
  const isLookup =
    /^(?:Optional)?CallExpression$/.test(node.type) && LOOKUPS.test(node.callee?.name ?? '')
  return isLookup || /^(?:Identifier|ThisExpression|(?:Optional)?MemberExpression)$/.test(node.type)
    ? compact(node.text)
    : undefined
}

const rootOf = (node: SyntaxNode): SyntaxNode => {
  const inner = plain(node)
  const object = inner.object ?? (LOOKUPS.test(inner.callee?.name ?? '') ? inner.callee : undefined)
  return object === undefined ? inner : rootOf(object)
}

const SETTINGS = /^(?:options|opts|config|configuration|settings|overrides|init)$/

/** Settings of the caller or the environment; a default for them is not in place of data. */
function isSetting(node: SyntaxNode, fallback?: SyntaxNode): boolean {
  const path = pathOf(node) ?? ''
  if (/^(?:process|import\.meta)\.env\b/.test(path))
    return fallback !== undefined && !isEmpty(fallback)
  const name = rootOf(node).text
  return (
    SETTINGS.test(name) &&
    declarationsOf(node.source, name).every(
      (each) => each.child('init')?.type === 'ObjectExpression',
    )
  )
}

/** A collection that the code itself fills, such as `const counts = {}`. */
function isOwnCollection(node: SyntaxNode): boolean {
  const root = rootOf(node)
  const isEmptyCollection = (init: SyntaxNode | undefined): boolean =>
    init !== undefined &&
    (/^(?:\{\}|\[\]|Object\.create\(null\))$/.test(plain(init).text) ||
      (init.type === 'NewExpression' && init.args.length === 0))
  if (root.type === 'Identifier')
    return declarationsOf(node.source, root.text).some((each) =>
      isEmptyCollection(each.child('init')),
    )
  const field = /^this\.(#?\w+)/.exec(pathOf(node) ?? '')?.[1]
  return node.source
    .ofType('ClassProperty', 'ClassPrivateProperty')
    .some((each) => each.child('key')?.text === field && isEmptyCollection(each.child('value')))
}

/** `totals[sku] = (totals[sku] ?? 0) + price`, and the same with a `Map`. */
function isAccumulator(node: SyntaxNode, left: SyntaxNode): boolean {
  const path = pathOf(left) ?? ''
  return node.around.some((each) => {
    if (each.type === 'AssignmentExpression')
      return (
        each.child('right') !== node &&
        plain(left).raw['computed'] === true &&
        pathOf(each.child('left')) === path
      )
    return (
      each.callee?.name === 'set' &&
      path.startsWith(`${compact(each.callee.object?.text ?? '')}.get(`)
    )
  })
}

/** Fields that model APIs leave out if there is nothing to say. */
const OPTIONAL_FIELDS =
  /(?:^|\.)(?:tool_?calls|function_?call|annotations|citations|usage|refusal|delta\.content|(?:part|block|chunk)\.text)$/i

/** A header that a server may leave out. */
const HEADER = /\bheaders(?:\.get\(|\[)/

/** True if a constant may replace the value without a loss. */
function isDispensable(node: SyntaxNode, fallback?: SyntaxNode): boolean {
  const path = pathOf(node) ?? ''
  return (
    isSetting(node, fallback) ||
    isOwnCollection(node) ||
    OPTIONAL_FIELDS.test(path) ||
    HEADER.test(path) ||
    // A message that calls tools has no content.
    (/\bmessage\.content$/.test(path) && /tool_?calls/i.test(node.source.text)) ||
    (MATCHES.test(plain(node).callee?.name ?? '') && fallback?.type === 'ArrayExpression')
  )
}

// ── Defaults ────────────────────────────────────────────────────────────────

/** `table[key] ?? table.usual`: the entry of another key. */
const isOtherEntry = (left: SyntaxNode, right: SyntaxNode): boolean => {
  const [from, other] = [plain(left), plain(right)]
  return (
    from.raw['computed'] === true &&
    from.child('property')?.type !== 'StringLiteral' &&
    other.object !== undefined &&
    other.object.text === from.object?.text &&
    (other.raw['computed'] !== true || other.child('property')?.type.endsWith('Literal') === true)
  )
}

const FALLBACKS = /^(?:\?\?|\|\|)=?$/

/** `a ?? []`, `a || 0`, `a ??= ''`, `a | 0` and `get(a, 'b', [])`. */
const fallbacks = (source: ParsedSource): SyntaxNode[] => [
  ...source.ofType('LogicalExpression', 'AssignmentExpression').filter((node) => {
    const [left, right] = [node.child('left')!, node.child('right')!]
    return (
      FALLBACKS.test(String(node.raw['operator'])) &&
      (isConstant(right) || isOtherEntry(left, right)) &&
      !isDispensable(left, right) &&
      !isAccumulator(node, left)
    )
  }),
  ...source
    .ofType('BinaryExpression')
    .filter((node) => node.raw['operator'] === '|' && node.child('right')?.text === '0')
    .filter((node) => node.child('left')?.type !== 'BinaryExpression'),
  ...source
    .ofType('CallExpression')
    .filter(
      ({ callee, args }) =>
        isConstant(args.at(-1)) &&
        (callee?.name === 'get' ? args.length === 3 : callee?.name === 'defaultTo'),
    ),
]

/** `a?.b` where a missing value has no other source and its absence is not handled. */
const chains = (source: ParsedSource): SyntaxNode[] =>
  source
    .ofType('OptionalMemberExpression', 'OptionalCallExpression')
    .filter((node) => node.raw['optional'] === true)
    .filter((node) => {
      const base = node.object ?? node.callee!
      return (
        !hasOtherSource(node) &&
        !isDispensable(base) &&
        !isCallback(node) &&
        !isErrorOrSignal(base) &&
        !isBeforeThrow(node)
      )
    })

/** True if a missing value is then read from elsewhere, as in `a?.b ?? c.d`. */
const hasOtherSource = (node: SyntaxNode): boolean =>
  node.around.some(
    (each) =>
      each.type === 'LogicalExpression' &&
      FALLBACKS.test(String(each.raw['operator'])) &&
      each.child('left')?.isAround(node.start) === true &&
      !isConstant(each.child('right')),
  )

const CALLBACKS =
  /^(?:on[A-Z]\w*|callback|cb|progress|log|debug|info|warn|trace|report|notify|unref|ref|abort|close|destroy|dispose|cancel|throwIfAborted)$/

/** `onProgress?.(done)`: nobody uses the result. */
function isCallback(node: SyntaxNode): boolean {
  const call = node.around.findLast(({ type }) => type === 'OptionalCallExpression') ?? node
  const around = call.parent?.type === 'AwaitExpression' ? call.parent.parent : call.parent
  return around?.type === 'ExpressionStatement' && CALLBACKS.test(call.callee?.name ?? '')
}

const isErrorOrSignal = (node: SyntaxNode): boolean => {
  const { text } = rootOf(node)
  return (
    /^(?:e|err|error|reason|cause|signal|controller|logger|console)$/.test(text) ||
    node.around.some((each) => each.type === 'CatchClause' && each.child('param')?.text === text)
  )
}

/** In the condition of a statement that throws. */
const isBeforeThrow = (node: SyntaxNode): boolean =>
  node.around.some(
    (each) =>
      each.type === 'IfStatement' &&
      each.child('test')?.isAround(node.start) === true &&
      statementsOf(each.child('consequent')).at(-1)?.type === 'ThrowStatement',
  )

/** Access that the old code did not have, to find out, as in `answer?.status === 'late'`. */
const isNewCase = (node: SyntaxNode, old: ParsedSource | undefined): boolean => {
  const { parent } = node
  const isComparison =
    parent?.type === 'BinaryExpression' &&
    /^[!=]==?$/.test(String(parent.raw['operator'])) &&
    ![parent.child('left'), parent.child('right')].some((each) => NULLISH.test(each?.text ?? ''))
  const isChoice = node.around.some(
    (each) =>
      each.type === 'ConditionalExpression' && each.child('test')?.isAround(node.start) === true,
  )
  const isFound = MATCHES.test(node.object?.callee?.name ?? '')
  return (isComparison || isChoice || isFound) && !wasWritten(node, old)
}

/** These give nothing if a text does not match. */
const MATCHES = /^(?:match|exec)$/

/** `a && a.b` */
const guardsAccess = (node: SyntaxNode): boolean => {
  const path = pathOf(node.child('left'))
  const right = node.child('right')!
  return (
    node.raw['operator'] === '&&' &&
    path !== undefined &&
    compact(right.text).includes(`${path}.`) &&
    !isBeforeThrow(node) &&
    !isDispensable(node.child('left')!)
  )
}

/** `a ? a.b : ''`: one of two values is a constant, the other uses what was checked. */
const choices = (source: ParsedSource): SyntaxNode[] =>
  source.ofType('ConditionalExpression').filter((node) => {
    const { missing, present } = testedBy(node.child('test')!)
    const [consequent, alternate] = [node.child('consequent')!, node.child('alternate')!]
    return (
      (isConstant(alternate) && uses(consequent, present)) ||
      (isConstant(consequent) && uses(alternate, missing))
    )
  })

/** The condition of a choice and its constant, which the old code may have with another value. */
const caseOf = (node: SyntaxNode): string => {
  const [consequent, alternate] = [node.child('consequent')!, node.child('alternate')!]
  const constant = isConstant(consequent) ? consequent : alternate
  return `${node.child('test')!.text} ${constant.text}`
}

const uses = (node: SyntaxNode, paths: readonly string[]): boolean =>
  paths.some((path) => compact(node.text).includes(path))

/** `{ items: [], ...answer }` and `Object.assign({ items: [] }, answer)` */
const defaultProperties = (source: ParsedSource): SyntaxNode[] =>
  source.ofType('ObjectProperty').filter((node) => {
    const { parent } = node
    const value = node.child('value')
    if (parent?.type !== 'ObjectExpression' || value === undefined || !isEmpty(value)) return false
    const call = parent.parent
    const later =
      call?.callee?.text === 'Object.assign' && call.args[0] === parent
        ? call.args.slice(1)
        : parent
            .children('properties')
            .filter((each) => each.type === 'SpreadElement' && each.start > node.start)
            .flatMap((each) => each.child('argument') ?? [])
    return later.some((each) => pathOf(each) !== undefined && !isDispensable(each))
  })

/** `if (!a) a = []` */
const assignsConstant = (node: SyntaxNode): boolean => {
  const assigned = (body: SyntaxNode | undefined): SyntaxNode | undefined => {
    const [only, ...more] = statementsOf(body)
    const expression = more.length === 0 ? only?.child('expression') : undefined
    return expression?.type === 'AssignmentExpression' && isConstant(expression.child('right'))
      ? expression.child('left')
      : undefined
  }
  const { missing, present } = testedBy(node.child('test')!)
  const left =
    (missing.length > 0 ? assigned(node.child('consequent')) : undefined) ??
    (present.length > 0 ? assigned(node.child('alternate')) : undefined)
  return left !== undefined && !isDispensable(left)
}

/** Default of a parameter or pattern that data, rather than an option, is given to. */
const isDataDefault =
  (old: ParsedSource | undefined) =>
  (node: SyntaxNode): boolean => {
    if (!isConstant(node.child('right'))) return false
    const name = node.child('left')!
    if (name.type === 'ObjectPattern') return false
    const inner = node.functionAround
    const index = inner?.children('params').findIndex((each) => each.isAround(node.start)) ?? -1
    if (inner === undefined || index < 0) {
      const declared = node.around.find((each) => /^Variable|Assignment/.test(each.type))
      const from = declared?.child('init') ?? declared?.child('right')
      return from === undefined || !isSetting(from, node.child('right'))
    }
    const called = inner.child('id')?.text ?? inner.parent?.child('id')?.text
    // Array methods give data to a function without a name.
    if (called === undefined) return /^(?:Optional)?CallExpression$/.test(inner.parent?.type ?? '')
    const before = old
      ?.filter((each) => each.isFunction)
      .find((each) => (each.child('id') ?? each.parent?.child('id'))?.text === called)
    // The function has had this default before; a new call only gives it a value.
    if (before?.children('params').some((each) => each.text.includes(node.text)) === true)
      return false
    const wasParameter = before
      ?.children('params')
      .some((each) => new RegExp(`\\b${name.text}\\b`).test(each.text))
    const key = node.parent?.type === 'ObjectProperty' ? node.parent.child('key')?.text : undefined
    const given = node.source.calls(called).map(({ args }) => valueFor(args[index], key))
    return given.length === 0
      ? wasParameter === true
      : given.some((value) => value !== undefined && !isConstant(value)) &&
          (wasParameter === true || given.every((value) => value !== undefined))
  }

/** The value that a call gives to a parameter or to a property of it; undefined if it gives none. */
function valueFor(
  argument: SyntaxNode | undefined,
  key: string | undefined,
): SyntaxNode | undefined {
  if (argument === undefined || key === undefined) return argument
  if (argument.type !== 'ObjectExpression') return isSetting(argument) ? undefined : argument
  return argument
    .children('properties')
    .find((each) => each.child('key')?.text === key)
    ?.child('value')
}

// ── Conditions ──────────────────────────────────────────────────────────────

/** Values of which a condition says that they are missing, or that they are there. */
interface Tested {
  readonly missing: readonly string[]
  readonly present: readonly string[]
}

const UNTESTED: Tested = { missing: [], present: [] }

const opposite = ({ missing, present }: Tested): Tested => ({ missing: present, present: missing })

/** A word for a decision, rather than for data. */
const DECISION = /(?:^|\.|#)(?:is|has|can|should|needs?|may|must|was|were|will|did|does)[A-Z]\w*$/

const thereIf = (node: SyntaxNode | undefined): Tested => {
  const path = pathOf(node)
  return node === undefined || path === undefined || DECISION.test(path) || isDispensable(node)
    ? UNTESTED
    : { missing: [], present: [path] }
}

function testedBy(given: SyntaxNode): Tested {
  const node = plain(given)
  const [left, right] = [node.child('left'), node.child('right')]
  const operator = String(node.raw['operator'])
  if (node.type === 'UnaryExpression')
    return operator === '!' ? opposite(testedBy(node.child('argument')!)) : UNTESTED
  if (node.type === 'LogicalExpression') {
    const [one, other] = [testedBy(left!), testedBy(right!)]
    return {
      missing: [...one.missing, ...other.missing],
      present: [...one.present, ...other.present],
    }
  }
  if (node.type === 'BinaryExpression') {
    if (operator === 'in' || operator === 'instanceof')
      return thereIf(operator === 'in' ? right : left)
    if (!/^[!=]==?$/.test(operator)) return UNTESTED
    const isEqual = operator.startsWith('=')
    if (left?.type === 'UnaryExpression' && left.raw['operator'] === 'typeof') {
      const there = thereIf(left.child('argument'))
      return isEqual === (right?.name === 'undefined') ? opposite(there) : there
    }
    const value = NULLISH.test(right?.text ?? '')
      ? left
      : NULLISH.test(left?.text ?? '')
        ? right
        : undefined
    return isEqual ? opposite(thereIf(value)) : thereIf(value)
  }
  const { callee, args } = node
  if (
    /^(?:Array\.isArray|(?:Number\.)?is(?:Finite|Integer)|Boolean|Object\.hasOwn)$/.test(
      callee?.text ?? '',
    )
  )
    return thereIf(args[0])
  if (/^(?:Number\.)?isNaN$/.test(callee?.text ?? '')) return opposite(thereIf(args[0]))
  if (callee?.name === 'hasOwnProperty') return thereIf(callee.object)
  return thereIf(node)
}

// ── Errors ──────────────────────────────────────────────────────────────────

const LOGS = /^(?:console|logger|log)(?:\.|$)|^(?:debug|warn)$/

/** Statements of a body, without those that only log. */
const statementsOf = (body: SyntaxNode | undefined): SyntaxNode[] =>
  (body === undefined
    ? []
    : body.type === 'BlockStatement'
      ? body.children('body')
      : [body]
  ).filter((each) => {
    const expression = each.child('expression')
    return expression === undefined || !isLog(plain(expression))
  })

const isLog = (node: SyntaxNode): boolean => LOGS.test(compact(node.callee?.text ?? ''))

/** A `catch` that neither throws nor uses its error, nor tries something else. */
const ignoresError = (node: SyntaxNode): boolean =>
  isIgnoring(node.child('body'), node.child('param')?.name) && !isExpected(node)

function isIgnoring(body: SyntaxNode | undefined, name: string | undefined): boolean {
  if (body === undefined) return false
  return !body.source
    .filter((each) => each !== body && body.isAround(each.start) && each.end <= body.end)
    .some((each) => {
      if ([...each.around, each].some((around) => around.start >= body.start && isLog(around)))
        return false
      if (/^(?:ThrowStatement|AwaitExpression)$/.test(each.type)) return true
      if (/^(?:Call|New)Expression$/.test(each.type)) return !isConstant(each)
      return each.type === 'Identifier' && each.text === name && isRead(each)
    })
}

/** False for `void error` and for a name alone. */
const isRead = ({ parent }: SyntaxNode): boolean =>
  parent?.type !== 'ExpressionStatement' &&
  !(parent?.type === 'UnaryExpression' && parent.raw['operator'] === 'void')

/** Tests such as `isJson`, and attempts in a loop with an error after the last. */
function isExpected(clause: SyntaxNode): boolean {
  const [block, body] = [clause.parent?.child('block'), clause.child('body')]
  const returned = (node: SyntaxNode | undefined): string | undefined =>
    statementsOf(node).at(-1)?.child('argument')?.text
  if (returned(block) === 'true' && returned(body) === 'false') return true
  const loop = clause.around.findLast((each) => each.isLoop)
  const inner = clause.functionAround
  if (loop === undefined || (inner !== undefined && loop.start < inner.start)) return false
  return statementsOf(loop.parent).some(
    (each) => each.type === 'ThrowStatement' && each.start > loop.end,
  )
}

/** `.catch(() => {})`, `.catch(console.error)`, and the same for errors of the whole process. */
const ignoringHandlers = (source: ParsedSource): SyntaxNode[] =>
  source
    .ofType('CallExpression', 'OptionalCallExpression')
    .filter(({ callee, args: [event] }) =>
      callee?.name === 'catch'
        ? callee.type.endsWith('MemberExpression')
        : /^(?:on|once|addListener)$/.test(callee?.name ?? '') &&
          /^(?:uncaughtException|unhandledRejection)$/.test(event?.name ?? ''),
    )
    .filter(({ args }) => {
      const handler = args.at(-1)
      if (handler === undefined) return false
      if (handler.isFunction) {
        const body = handler.child('body')
        const isValue = body?.type !== 'BlockStatement'
        const name = handler.children('params')[0]?.name
        return isValue
          ? isConstant(body) || isLog(plain(body!)) || body!.type === 'UnaryExpression'
          : isIgnoring(body, name)
      }
      return LOGS.test(handler.text) || /^(?:noop|Boolean)$/.test(handler.name ?? '')
    })

/** `Promise.allSettled` in code that looks at no rejection. */
const unreadRejections = (source: ParsedSource): SyntaxNode[] =>
  source.calls('Promise.allSettled').filter(() => !/\breason\b|\brejected\b/.test(source.text))

/** A `return` in `finally` drops the error. */
const leavesFinally = (node: SyntaxNode): SyntaxNode[] =>
  statementsOf(node.child('finalizer')).filter(({ type }) =>
    /^(?:Return|Break|Continue)Statement$/.test(type),
  )

// ── Items ───────────────────────────────────────────────────────────────────

/** `if (!x) continue`, and early returns of a constant, for a value that is missing. */
const skips = (node: SyntaxNode): boolean => {
  const [first, ...more] = statementsOf(node.child('consequent'))
  const isSkip =
    more.length === 0 &&
    (/^(?:Continue|Break)Statement$/.test(first?.type ?? '') ||
      (first?.type === 'ReturnStatement' &&
        (first.child('argument') === undefined || isConstant(first.child('argument')))))
  return isSkip && testedBy(node.child('test')!).missing.length > 0
}

/** `if (order) use(order.total)` */
const isGuard = (node: SyntaxNode): boolean => {
  const consequent = node.child('consequent')!
  return (
    statementsOf(node.child('alternate')).length === 0 &&
    uses(consequent, testedBy(node.child('test')!).present)
  )
}

/** `all.filter(Boolean)` and `all.filter((each) => each.price)`; parts of a text are not data. */
const droppingFilters = (source: ParsedSource): SyntaxNode[] =>
  source
    .ofType('CallExpression', 'OptionalCallExpression')
    .filter(({ callee }) => callee?.name === 'filter' && !isTextParts(callee.object))
    .flatMap(({ args: [test] }) => test ?? [])
    .filter((test) => {
      if (test.text === 'Boolean') return true
      const [parameter] = test.children('params')
      const body = test.child('body')
      const returned =
        body?.type === 'BlockStatement' ? statementsOf(body).at(-1)?.child('argument') : body
      const root = parameter?.text.split(':')[0]?.trim() ?? ''
      return (
        test.isFunction &&
        returned !== undefined &&
        testedBy(returned).present.some((path) => path.split('.')[0] === root)
      )
    })

const isTextParts = (node: SyntaxNode | undefined): boolean =>
  node !== undefined &&
  (/^(?:split|match|matchAll|entries|keys)$/.test(node.callee?.name ?? '') ||
    (node.callee?.object !== undefined && isTextParts(node.callee.object)))
