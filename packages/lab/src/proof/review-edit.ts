import { attempt } from '@retake/tape'
import type { FileEdit, FixCandidate, FixContext } from './candidates.js'
import type { Loss } from './losses.js'
import { ParsedSource, type SyntaxNode } from './source-text.js'

/** A reason to refuse a change without running it. `at`: `file:line`. */
export interface Refusal {
  readonly code:
    /** Tests, settings, policies and lock files decide what is right; a fix may not change them. */
    | 'PROTECTED_FILE'
    | 'EXIT_CODE_CHANGED'
    | 'EARLY_EXIT'
    /** A `throw`, an assertion or a nonzero exit code is gone. */
    | 'CHECK_REMOVED'
    /** Text that the oracle expects is written as it is. */
    | 'EXPECTED_TEXT_WRITTEN'
    | 'CODE_FROM_TEXT'
  readonly at: string
  readonly text: string
}

/** A value of this run that new code compares with. */
export interface RunLiteral {
  readonly at: string
  readonly value: string
}

export interface EditReview {
  readonly refusals: readonly Refusal[]
  readonly losses: readonly Loss[]
  readonly literals: readonly RunLiteral[]
}

/** Files that say what is right, or what may run. */
const PROTECTED =
  /(?:^|\/)(?:tests?|__tests__|spec)\/|\.(?:test|spec)\.[cm]?[jt]sx?$|(?:^|\/)(?:package(?:-lock)?\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|tsconfig[^/]*\.json|\.npmrc|\.env[^/]*|\.git[^/]*|retake\.config\.[^/]+|(?:vitest|jest|eslint)\.config\.[^/]+)$|(?:^|\/)\.(?:github|husky|retake|vscode)\//

/**
 * Reads a change without running it: what it drops, what it may not do, and which values of the
 * run it contains. A rule writes policies and knows its own literals, so these are judged only in
 * code that a model wrote.
 */
export function reviewEdit(candidate: FixCandidate, context: FixContext): EditReview {
  const isWritten = candidate.author === 'model'
  const found = candidate.edits.map((edit) => reviewFile(edit, isWritten, context))
  return {
    refusals: found.flatMap(({ refusals }) => refusals),
    losses: found.flatMap(({ losses }) => losses),
    literals: found.flatMap(({ literals }) => literals),
  }
}

function reviewFile(edit: FileEdit, isWritten: boolean, context: FixContext): EditReview {
  const { path, before = '', after } = edit
  if (isWritten && PROTECTED.test(path.replaceAll('\\', '/')))
    return {
      refusals: [{ code: 'PROTECTED_FILE', at: path, text: path }],
      losses: [],
      literals: [],
    }
  const [old, changed] = [before, after].map((text) => ParsedSource.tryParse({ path, text }))
  if (changed === undefined || !changed.isCode) return { refusals: [], losses: [], literals: [] }
  const known = old?.ofType('FunctionDeclaration').map((node) => node.child('id')?.name) ?? []
  // A rule has the defaults of its own helper functions under test.
  const isHelper = ({ around }: SyntaxNode): boolean =>
    !isWritten &&
    around.some(
      (node) =>
        node.type === 'FunctionDeclaration' &&
        node.parent?.type === 'Program' &&
        !known.includes(node.child('id')?.name),
    )
  const added = (pick: (source: ParsedSource) => readonly SyntaxNode[]): SyntaxNode[] =>
    newNodes(old === undefined ? [] : pick(old), pick(changed)).filter((node) => !isHelper(node))
  return {
    refusals: isWritten ? refusalsOf(old, changed, added, context) : [],
    losses: [...defaults(added), ...ignoredErrors(added), ...skippedItems(added)],
    literals: isWritten ? runLiterals(old, added, context) : [],
  }
}

type AddedNodes = (pick: (source: ParsedSource) => readonly SyntaxNode[]) => SyntaxNode[]

/** Nodes whose text occurs more often than before. */
function newNodes(before: readonly SyntaxNode[], now: readonly SyntaxNode[]): SyntaxNode[] {
  const known = new Map<string, number>()
  for (const { text } of before) known.set(text, (known.get(text) ?? 0) + 1)
  return now.filter(({ text }) => {
    const left = known.get(text) ?? 0
    known.set(text, left - 1)
    return left <= 0
  })
}

const located = ({ source, line }: SyntaxNode): string => `${source.path}:${line}`

const SHOWN_MAX = 80
const lineOf = (node: SyntaxNode): string =>
  node.source.text.split('\n')[node.line - 1]!.trim().slice(0, SHOWN_MAX)

const finding = <Code extends string>(code: Code, node: SyntaxNode) => ({
  code,
  at: located(node),
  text: lineOf(node),
})

// ── Losses ──────────────────────────────────────────────────────────────────

/** A value that contains no data of the run. */
function isConstant(node: SyntaxNode | undefined): boolean {
  if (node === undefined) return false
  if (node.type === 'ArrayExpression') return node.children('elements').every(isConstant)
  if (node.type === 'ObjectExpression')
    return node.children('properties').every((each) => isConstant(each.child('value')))
  if (node.type === 'TemplateLiteral') return node.children('expressions').length === 0
  return /Literal$/.test(node.type) || /^(?:undefined|NaN)$/.test(node.text)
}

/** `a ?? []`, `a || 0`, `a?.b` and `a ? a.b : ''` where `a` was read without a check. */
function defaults(added: AddedNodes): Loss[] {
  const fallbacks = added((source) =>
    source
      .ofType('LogicalExpression')
      .filter(
        (node) =>
          /^(?:\?\?|\|\|)$/.test(String(node.raw['operator'])) && isConstant(node.child('right')),
      ),
  )
  const chains = added((source) =>
    source
      .ofType('OptionalMemberExpression', 'OptionalCallExpression')
      .filter((node) => node.raw['optional'] === true && !hasOtherSource(node)),
  )
  const choices = added((source) =>
    source
      .ofType('ConditionalExpression')
      .filter((node) => isConstant(node.child('alternate')) || isConstant(node.child('consequent')))
      .filter((node) =>
        /\b(?:null|undefined|typeof|Array\.isArray)\b|^[\w.]+$/.test(node.child('test')!.text),
      ),
  )
  return [...fallbacks, ...chains, ...choices].map((node) => finding('DEFAULT_ADDED', node))
}

/** True if a missing value is then read from elsewhere, as in `a?.b ?? c.d`. */
const hasOtherSource = (node: SyntaxNode): boolean =>
  node.around.some(
    (each) =>
      each.type === 'LogicalExpression' &&
      /^(?:\?\?|\|\|)$/.test(String(each.raw['operator'])) &&
      each.child('left')?.isAround(node.start) === true &&
      !isConstant(each.child('right')),
  ) || isCondition(node)

/** True inside a condition, where a missing value decides, but is not used. */
const isCondition = (node: SyntaxNode): boolean =>
  node.around.some(
    (each) =>
      /^(?:If|While|DoWhile)Statement$|^ConditionalExpression$/.test(each.type) &&
      each.child('test')?.isAround(node.start) === true,
  )

/** A `catch` that neither throws nor uses its error, nor tries something else. */
function ignoredErrors(added: AddedNodes): Loss[] {
  const clauses = added((source) => source.ofType('CatchClause')).filter((node) => {
    const body = node.child('body')
    const text = body?.text ?? ''
    const name = node.child('param')?.name
    const usesError = name !== undefined && new RegExp(`\\b${name}\\b`).test(text)
    return !usesError && !/\bthrow\b|\bawait\b|\w\(/.test(text)
  })
  const handlers = added((source) =>
    source
      .ofType('CallExpression', 'OptionalCallExpression')
      .filter(({ callee }) => callee?.name === 'catch' && callee.type.endsWith('MemberExpression')),
  ).filter(({ args: [handler] }) => {
    const body = handler?.child('body')
    return body !== undefined && (isConstant(body) || /^\{\s*\}$/.test(body.text))
  })
  return [...clauses, ...handlers].map((node) => finding('EXCEPTION_IGNORED', node))
}

/** `if (!x) continue`, and early returns of nothing, for a value that is missing. */
function skippedItems(added: AddedNodes): Loss[] {
  return added((source) =>
    source.ofType('IfStatement').filter((node) => {
      const body = node.child('consequent')
      const only = body?.type === 'BlockStatement' ? body.children('body') : body ? [body] : []
      const [first] = only
      const isSkip =
        only.length === 1 &&
        (first?.type === 'ContinueStatement' ||
          (first?.type === 'ReturnStatement' &&
            (first.child('argument') === undefined || isConstant(first.child('argument')))))
      return isSkip && /^!|[=!]==?\s*(?:null|undefined)\b|\btypeof\b/.test(node.child('test')!.text)
    }),
  ).map((node) => finding('ITEMS_SKIPPED', node))
}

// ── Refusals ────────────────────────────────────────────────────────────────

const EXITS = /^(?:process|globalThis\.process)\.(?:exit|abort|kill|reallyExit)$/

function refusalsOf(
  old: ParsedSource | undefined,
  changed: ParsedSource,
  added: AddedNodes,
  { oracleText = '' }: FixContext,
): Refusal[] {
  const exitCodes = (source: ParsedSource): SyntaxNode[] =>
    source
      .ofType('AssignmentExpression')
      .filter((node) => /\bexitCode$/.test(node.child('left')?.text ?? ''))
  const exits = (source: ParsedSource): SyntaxNode[] =>
    source.ofType('CallExpression').filter(({ callee }) => EXITS.test(callee?.text ?? ''))
  const checks = (source: ParsedSource): SyntaxNode[] => [
    ...source.ofType('ThrowStatement'),
    ...source
      .ofType('CallExpression')
      .filter(({ callee }) => /^(?:assert|expect)\b/.test(callee?.text ?? '')),
    ...exitCodes(source),
    ...exits(source),
  ]
  const removed =
    old === undefined || checks(changed).length >= checks(old).length
      ? []
      : newNodes(checks(changed), checks(old))
  return [
    ...removed.map((node) => finding('CHECK_REMOVED', node)),
    ...added(exitCodes).map((node) => finding('EXIT_CODE_CHANGED', node)),
    ...added(exits).map((node) => finding('EARLY_EXIT', node)),
    ...added((source) =>
      source
        .ofType('CallExpression', 'NewExpression')
        .filter(({ callee }) =>
          /^(?:eval|Function|process\.binding|process\.dlopen)$|^(?:vm|module)\.\w*(?:run|compile|register|Script)/.test(
            callee?.text ?? '',
          ),
        ),
    ).map((node) => finding('CODE_FROM_TEXT', node)),
    ...added((source) => source.ofType('StringLiteral', 'TemplateElement'))
      .filter((node) => isOutput(node) && isExpected(literalText(node), oracleText))
      .filter((node) => old?.text.includes(literalText(node)) !== true)
      .map((node) => finding('EXPECTED_TEXT_WRITTEN', node)),
  ]
}

const literalText = (node: SyntaxNode): string => {
  const { value } = node.raw
  return node.type === 'StringLiteral' && typeof value === 'string' ? value : node.text
}

/** True for text that is printed or returned, rather than sent to a model. */
const isOutput = (node: SyntaxNode): boolean => {
  const inner = node.around.slice(node.around.findLastIndex((each) => each.isFunction) + 1)
  return inner.some(
    ({ type, callee }) =>
      type === 'ReturnStatement' || /^console\.|\bstd(?:out|err)\.write$/.test(callee?.text ?? ''),
  )
}

/** Shorter texts occur everywhere. */
const EXPECTED_LENGTH_MIN = 3

/** True if a text of the code is, or contains, a word that the oracle expects. */
const isExpected = (text: string, oracleText: string): boolean => {
  const [, expected = ''] = /^(?:not:)?(?:stdout|result|stderr):(.*)$/s.exec(oracleText) ?? []
  const words =
    expected.replaceAll(/^\/|\/[a-z]*$|\\[bdwsBDWS]|[\\^$]/g, ' ').match(/[\p{L}\p{N}.,€$-]+/gu) ??
    []
  return words.some((word) => word.length >= EXPECTED_LENGTH_MIN && text.includes(word))
}

// ── Literals of the run ─────────────────────────────────────────────────────

/** Comparisons, cases, and lists or tables in which a value is looked up. */
const isCompared = (node: SyntaxNode): boolean => {
  const { parent } = node
  if (parent === undefined) return false
  if (parent.type === 'BinaryExpression')
    return /^(?:[=!]==?|[<>]=?|in)$/.test(String(parent.raw['operator']))
  if (parent.type === 'SwitchCase') return true
  if (parent.type === 'ObjectProperty') return parent.child('key') === node
  if (parent.type === 'ArrayExpression')
    return parent.around.some(({ callee }) =>
      /\.(?:includes|indexOf|has)$|^Set$/.test(callee?.text ?? ''),
    )
  return (
    parent.type === 'CallExpression' &&
    /\.(?:includes|startsWith|endsWith|has|get|test|match|replace|replaceAll)$/.test(
      parent.callee?.text ?? '',
    )
  )
}

/** Numbers as small as these are counts and positions. */
const SMALL_NUMBER_MAX = 10

function runLiterals(
  old: ParsedSource | undefined,
  added: AddedNodes,
  { run, oracleText = '' }: FixContext,
): RunLiteral[] {
  const values = runText(run)
  return added((source) =>
    source.ofType('StringLiteral', 'NumericLiteral', 'TemplateElement'),
  ).flatMap((node) => {
    const value = literalText(node)
    const isNumber = node.type === 'NumericLiteral'
    const isPlain = isNumber ? Math.abs(Number(value)) <= SMALL_NUMBER_MAX : value.trim().length < 2
    // A word that the code already has, or that a key of an answer is, belongs to the interface.
    const isKnown = old?.text.includes(value) === true || values.includes(`"${value}":`)
    const occurs = new RegExp(`(?<![\\p{L}\\p{N}])${escaped(value)}(?![\\p{L}\\p{N}])`, 'u')
    return isPlain ||
      isKnown ||
      !isCompared(node) ||
      !(occurs.test(values) || occurs.test(oracleText))
      ? []
      : [{ at: located(node), value }]
  })
}

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')

/** Requests, answers and arguments of a run, as text. */
const runText = (run: FixContext['run']): string =>
  run.steps
    .map((step) => {
      const exchange = attempt(() => step.exchange())
      const call = attempt(() => step.call())
      return [
        exchange?.request.text,
        exchange?.response?.text,
        JSON.stringify(call?.args),
        JSON.stringify(call?.result),
      ].join('\n')
    })
    .join('\n')
