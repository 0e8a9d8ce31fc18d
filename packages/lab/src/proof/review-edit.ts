import { attempt, utf8 } from '@retake/tape'
import type { FileEdit, FixCandidate, FixContext } from './candidates.js'
import { type ConstantValue, constantValue } from './constant-values.js'
import { type AddedNodes, finding, located, newNodes } from './edit-findings.js'
import {
  addresses,
  computedModules,
  escapingModules,
  replacedParts,
  writesElsewhere,
} from './escapes.js'
import type { Loss } from './losses.js'
import { PROTOCOL } from './probes.js'
import { processMembers } from './process-members.js'
import { isProtected } from './protected-files.js'
import { fittedParts } from './fitted-edits.js'
import { ParsedSource, type SyntaxNode } from './source-text.js'
import { writtenLosses } from './written-losses.js'

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
    /** A module with which code leaves the process or the reach of the recorder. */
    | 'MODULE_ADDED'
    /** A function or class of JavaScript or Node is replaced for the whole program. */
    | 'GLOBAL_REPLACED'
    /** A write to a path that is not plainly in the project. It may wait until nobody watches. */
    | 'WRITE_ADDED'
    /** A host that neither the code nor the run names. */
    | 'ADDRESS_ADDED'
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

/**
 * Reads a change without running it: what it drops, what it may not do, and which values of the
 * run it contains. A rule writes policies and no hostile code, so what a change may not do is judged
 * only in code that a model wrote.
 */
export function reviewEdit(candidate: FixCandidate, context: FixContext): EditReview {
  const isWritten = candidate.author === 'model'
  const found = candidate.edits.map((edit) => reviewFile(edit, isWritten, context))
  return {
    refusals: found.flatMap(({ refusals }) => refusals),
    losses: found
      .flatMap(({ losses }) => losses)
      .concat(
        // A combination of changes brings the losses of each.
        candidate.operator
          .split('+')
          .flatMap((operator) => LOSSES_OF_RULES[operator] ?? [])
          .flatMap((code) =>
            candidate.edits.map(({ path }) => ({ code, at: path, text: candidate.title })),
          ),
      ),
    literals: found.flatMap(({ literals }) => literals),
  }
}

/** Losses that a rule brings whatever code it writes. */
const LOSSES_OF_RULES: Readonly<
  Record<
    string,
    readonly ('CALLS_DENIED' | 'MODEL_REPLACED' | 'TEXT_REMOVED' | 'VALUE_NAMED')[] | undefined
  >
> = {
  'alias-label': ['VALUE_NAMED'],
  'guard-rule': ['CALLS_DENIED'],
  'model-fallback': ['MODEL_REPLACED'],
  'strip-injected-text': ['TEXT_REMOVED'],
}

function reviewFile(edit: FileEdit, isWritten: boolean, context: FixContext): EditReview {
  const { path, before = '', after } = edit
  if (isWritten && isProtected(path))
    return {
      refusals: [{ code: 'PROTECTED_FILE', at: path, text: path }],
      losses: [],
      literals: [],
    }
  const [old, changed] = [before, after].map((text) => ParsedSource.tryParse({ path, text }))
  if (changed === undefined) return { refusals: [], losses: [], literals: [] }
  const added: AddedNodes = (pick, kindOf) =>
    newNodes(old === undefined ? [] : pick(old), pick(changed), kindOf)
  if (!changed.isCode) {
    const named = isWritten ? dataLiterals(added, context) : []
    return { refusals: [], losses: named.map(namedLoss), literals: named }
  }
  const literals = runLiterals(old, changed, added, context)
  return {
    refusals: isWritten ? refusalsOf(old, changed, added, context) : [],
    losses: [
      ...writtenLosses(old, added, isWritten ? 'model' : 'rule'),
      // Rules are tested with many runs.
      ...(isWritten
        ? [
            ...fittedParts(old, changed, added, () => otherSources(path, context)),
            ...literals.map(namedLoss),
            ...added((source) => zeroSkipped(source, context)).map((node) =>
              finding('ITEMS_SKIPPED', node),
            ),
            ...printedResults(old, added, context).map((node) => finding('RESULT_WRITTEN', node)),
            ...weakerModels(old, added),
          ]
        : []),
    ],
    literals,
  }
}

const namedLoss = ({ at, value }: RunLiteral): Loss => ({ code: 'VALUE_NAMED', at, text: value })

/** Texts in a data file or policy that the run has and no code, such as the name of a customer. */
const dataLiterals = (added: AddedNodes, { run, sources }: FixContext): RunLiteral[] => {
  const values = runText(run)
  return added((source) => source.ofType('StringLiteral'))
    .filter((node) => {
      const value = literalText(node)
      return (
        node.parent?.child('key') !== node &&
        value.length >= EXPECTED_LENGTH_MIN &&
        new RegExp(`(?<![\\p{L}\\p{N}])${escaped(value)}(?![\\p{L}\\p{N}])`, 'u').test(values) &&
        !sources.some(({ path, text }) => !path.endsWith('.json') && text.includes(value))
      )
    })
    .map((node) => ({ at: located(node), value: literalText(node) }))
}

/** `a.late_minutes || a.lateMinutes` with a number in the run: 0 counts as missing. */
const zeroSkipped = (source: ParsedSource, { run }: FixContext): SyntaxNode[] => {
  const candidates = source
    .ofType('LogicalExpression')
    .filter(
      (node) =>
        node.raw['operator'] === '||' &&
        [node.child('left'), node.child('right')].every((side) => side?.object !== undefined) &&
        !node.around.some((each) => each.child('test')?.isAround(node.start) === true),
    )
  if (candidates.length === 0) return []
  const values = runText(run)
  return candidates.filter((node) =>
    new RegExp(`"${escaped(node.child('right')?.name ?? '')}\\\\*":\\s*-?\\d`).test(values),
  )
}

const otherSources = (path: string, { sources }: FixContext): ParsedSource[] =>
  sources
    .filter((each) => each.path !== path && !isProtected(each.path))
    .flatMap((each) => ParsedSource.tryParse(each) ?? [])
    .filter(({ isCode }) => isCode)

const MODEL_NAME = /^(?:gpt|o\d|claude|gemini|llama|mistral|qwen|deepseek|command)[\w.:/-]*\d/i
const SMALL_MODEL = /mini|nano|haiku|flash|lite|small|tiny/i

/** A small model where the code names none. */
const weakerModels = (old: ParsedSource | undefined, added: AddedNodes): Loss[] =>
  added((source) => source.ofType('StringLiteral'))
    .filter((node) => {
      const { parent } = node
      const name = literalText(node)
      const before = old
        ?.ofType('StringLiteral')
        .find((each) => each.parent?.child('key')?.text === parent?.child('key')?.text)
      const replaced = before === undefined ? '' : literalText(before)
      return (
        parent?.type === 'ObjectProperty' &&
        MODEL_NAME.test(name) &&
        MODEL_NAME.test(replaced) &&
        SMALL_MODEL.test(name) &&
        !SMALL_MODEL.test(replaced)
      )
    })
    .map((node) => finding('MODEL_REPLACED', node))

// ── Refusals ────────────────────────────────────────────────────────────────

const EXITS = /^(?:exit|abort|kill|reallyExit)$/

/** Calls of functions with these names throw if something is not as it has to be. */
const CHECKS = /^(?:assert|expect|invariant|ensure|validate|verify)/

function refusalsOf(
  old: ParsedSource | undefined,
  changed: ParsedSource,
  added: AddedNodes,
  { oracleText = '', sources, run }: FixContext,
): Refusal[] {
  // Where the code writes already, it may write something else.
  const targetOf = ({ args: [target] }: SyntaxNode): string => target?.text ?? ''
  const known = new Set(old === undefined ? [] : writesElsewhere(old).map(targetOf))
  const hosts = run.recordedSteps.map((step) => attempt(() => step.exchange())?.request.url ?? '')
  const knownText = [...sources.map(({ text }) => text), old?.text ?? '', ...hosts].join('\n')
  const ends = (source: ParsedSource): SyntaxNode[] =>
    processMembers(source).flatMap(({ node, name }) => (EXITS.test(name ?? '') ? outer(node) : []))
  const exitCodes = (source: ParsedSource): SyntaxNode[] =>
    processMembers(source).flatMap(({ node, name, isChanged }) =>
      name === 'exitCode' && isChanged ? outer(node) : [],
    )
  const checks = (source: ParsedSource): SyntaxNode[] =>
    [
      ...source.ofType('ThrowStatement'),
      ...source
        .ofType('CallExpression')
        .filter(({ callee }) => CHECKS.test(rootName(callee)) || CHECKS.test(callee?.name ?? '')),
    ].filter((node) => !isIdle(node))
  // A check may change its text, but not go away.
  const [before, now] = [old === undefined ? [] : checks(old), checks(changed)]
  const returned = added((source) => source.ofType('ReturnStatement'))
  const removed = (now.length >= before.length ? [] : newNodes(now, before)).filter(
    (node) => !returned.some(({ text }) => messagesOf(node).some((each) => text.includes(each))),
  )
  const endsBefore = old === undefined ? [] : [...ends(old), ...exitCodes(old)]
  return [
    ...[...removed, ...newNodes([...ends(changed), ...exitCodes(changed)], endsBefore)].map(
      (node) => finding('CHECK_REMOVED', node),
    ),
    ...added(exitCodes).map((node) => finding('EXIT_CODE_CHANGED', node)),
    ...added(ends).map((node) => finding('EARLY_EXIT', node)),
    ...[...added(runsText), ...added(computedModules)].map((node) =>
      finding('CODE_FROM_TEXT', node),
    ),
    ...added(escapingModules).map((node) => finding('MODULE_ADDED', node)),
    ...added(replacedParts).map((node) => finding('GLOBAL_REPLACED', node)),
    ...added(writesElsewhere)
      .filter((node) => !known.has(targetOf(node)))
      .map((node) => finding('WRITE_ADDED', node)),
    ...added(addresses)
      .filter((node) => !knownText.includes(hostOf(node)))
      .map((node) => finding('ADDRESS_ADDED', node)),
    ...added((source) => writtenTexts(source, old, oracleText)).map((node) =>
      finding('EXPECTED_TEXT_WRITTEN', node),
    ),
  ]
}

/** `//host:port` of an address. */
const hostOf = (node: SyntaxNode): string => /\/\/[^/?#"'`$]+/.exec(node.text)?.[0] ?? node.text

/** The assignment, call or declaration around a member, whose text contains the value. */
const outer = (node: SyntaxNode): SyntaxNode => {
  const { parent } = node
  return parent !== undefined &&
    /^(?:Assignment|Update|Unary|(?:Optional)?Call)Expression$/.test(parent.type)
    ? parent
    : node
}

/** Texts of an error. Tools may return them to the model instead of throwing. */
const messagesOf = (node: SyntaxNode): string[] =>
  node.type !== 'ThrowStatement'
    ? []
    : node.source
        .ofType('StringLiteral', 'TemplateElement')
        .filter((each) => node.isAround(each.start))
        .map(literalText)
        .filter((text) => text.trim().length > EXPECTED_LENGTH_MIN)

const rootName = (node: SyntaxNode | undefined): string =>
  node?.object === undefined ? (node?.name ?? '') : rootName(node.object)

/** A check that cannot fail: of constants only, or after a condition that never holds. */
const isIdle = (node: SyntaxNode): boolean => {
  const { args } = node
  const isTrivial =
    args.length > 0 &&
    args.every((each) => each.type === 'BooleanLiteral' || constantValue(each) !== undefined)
  const isNeverTrue = (test: SyntaxNode | undefined): boolean =>
    /^(?:false|0|null|undefined|'')$/.test(test?.text ?? '') ||
    (test?.raw['operator'] === '&&' &&
      (isNeverTrue(test.child('left')) || isNeverTrue(test.child('right'))))
  return (
    (node.type === 'CallExpression' && isTrivial) ||
    node.around.some(
      (each) =>
        each.type === 'IfStatement' &&
        each.child('consequent')?.isAround(node.start) === true &&
        isNeverTrue(each.child('test')),
    )
  )
}

/** Code that is made of text, or a member of `process` that only the running program knows. */
const runsText = (source: ParsedSource): SyntaxNode[] => [
  ...source.filter(
    (node) =>
      node.type === 'Identifier' &&
      /^(?:eval|Function)$/.test(node.text) &&
      !/^(?:Object|Class)(?:Property|Method)$|^TS/.test(node.parent?.type ?? '') &&
      node.parent?.raw['operator'] !== 'instanceof',
  ),
  ...source.ofType('CallExpression', 'NewExpression').filter(({ callee }) => {
    const text = callee?.text ?? ''
    return (
      /^process\.(?:binding|dlopen)$|^(?:vm|module)\.\w*(?:run|compile|register|Script)/.test(
        text,
      ) || callee?.name === 'constructor'
    )
  }),
  ...processMembers(source).flatMap(({ node, name }) => (name === undefined ? [node] : [])),
]

/** Constants that are printed, returned or assigned, and contain the result that is expected. */
function writtenTexts(
  source: ParsedSource,
  old: ParsedSource | undefined,
  oracleText: string,
): SyntaxNode[] {
  const expected = wordsOf(expectedText(oracleText))
  const unknown = expected.filter((word) => old?.text.includes(word) !== true)
  if (unknown.length === 0) return []
  const hasChoice = oracleText.includes('|')
  const isExpected = (value: ConstantValue): boolean => {
    const text = String(value)
    const words = wordsOf(text)
    const isPart = words.length > 0 && words.every((word) => expected.includes(word))
    const isWhole = expected.every((word) => text.includes(word))
    // A figure, or one of several results, is enough.
    const isIn = (word: string): boolean => text.includes(word)
    return (
      (unknown.every(isIn) && (isWhole || isPart)) ||
      unknown.some((word) => (hasChoice || /\d/.test(word)) && isIn(word))
    )
  }
  return source.filter((node) => {
    const value = node.type === 'TemplateElement' ? node.text : constantValue(node)
    const isWhole = node.parent === undefined || constantValue(node.parent) === undefined
    return (
      value !== undefined &&
      isWhole &&
      isExpected(value) &&
      isResult(node, typeof value === 'number')
    )
  })
}

const PROMPTS = /^(?:content|prompt|system|instructions?|input|description)$/
const PRINTS = /^console\.|\bstd(?:out|err)\.write$|(?:^|\.)(?:print\w*|say|reply|send|write|end)$/

/** True for a value that is printed, returned or assigned, rather than compared or sent to a model. */
function isResult(node: SyntaxNode, isNumber: boolean): boolean {
  const { parent } = node
  if (parent === undefined || isCompared(node)) return false
  const isPrompt = node.around.some(
    (each) => each.type === 'ObjectProperty' && PROMPTS.test(each.child('key')?.name ?? ''),
  )
  if (isPrompt || /^(?:Import|Export)/.test(parent.type)) return false
  // A number in a calculation or of a setting is not a result.
  if (!isNumber)
    return !/^(?:Array|Object)Property$/.test(parent.type) || parent.child('value') === node
  return (
    parent.type === 'ReturnStatement' ||
    (parent.isFunction && parent.child('body') === node) ||
    parent.type === 'TemplateLiteral' ||
    (PRINTS.test(parent.callee?.text ?? '') && parent.callee !== node) ||
    (/^(?:VariableDeclarator|AssignmentExpression)$/.test(parent.type) &&
      !/^\d0+$/.test(node.text) &&
      node.text.length >= ASSIGNED_DIGITS_MIN)
  )
}

/** Shorter numbers that are assigned are usually limits. */
const ASSIGNED_DIGITS_MIN = 4

/** Characters of a text before data, such as `mails sent: `. */
const PREFIX_MIN = 4

/** Shorter texts occur everywhere. */
const EXPECTED_LENGTH_MIN = 3

/** Text of the result that an oracle expects. */
function expectedText(oracleText: string): string {
  const [, text = ''] = /^(?:(?:stdout|result|stderr):|json:[^=]*=)(.*)$/s.exec(oracleText) ?? []
  return text.replaceAll(/^\/|\/[a-z]*$|\\[bdwsBDWS]|[\\^$]/g, ' ')
}

const wordsOf = (text: string): string[] =>
  (text.match(/[\p{L}\p{N}.,€$-]+/gu) ?? []).filter((word) => word.length >= EXPECTED_LENGTH_MIN)

const literalText = (node: SyntaxNode): string => {
  const { value } = node.raw
  return node.type === 'StringLiteral' && typeof value === 'string' ? value : node.text
}

/** Constants that are printed and contain data of the run, or stand where data was printed. */
function printedResults(
  old: ParsedSource | undefined,
  added: AddedNodes,
  { run }: FixContext,
): SyntaxNode[] {
  const printed = added((source) => source.ofType('StringLiteral')).filter(({ parent }) =>
    PRINTS.test(parent?.callee?.text ?? ''),
  )
  if (printed.length === 0) return []
  const values = runText(run)
  const prefixes = (old?.ofType('BinaryExpression') ?? []).flatMap((node) => {
    const left = node.child('left')
    const text = left?.type === 'StringLiteral' ? literalText(left) : ''
    return text.length >= PREFIX_MIN ? text : []
  })
  const isOfRun = (token: string): boolean =>
    old?.text.includes(token) !== true &&
    !values.includes(`"${token}":`) &&
    new RegExp(`(?<![\\p{L}\\p{N}])${escaped(token)}(?![\\p{L}\\p{N}])`, 'u').test(values)
  return printed.filter((node) => {
    const text = literalText(node)
    return (
      prefixes.some((each) => text !== each && text.startsWith(each)) ||
      (text.match(/[\p{L}\p{N}]{3,}|\d{2,}/gu) ?? []).some(isOfRun)
    )
  })
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
      /\.(?:includes|indexOf|has)$|^(?:Set|Map)$/.test(callee?.text ?? ''),
    )
  return (
    parent.type === 'CallExpression' &&
    /\.(?:includes|startsWith|endsWith|has|get|test|match|replace|replaceAll|split|indexOf|lastIndexOf)$/.test(
      parent.callee?.text ?? '',
    )
  )
}

/** Numbers as small as these are counts and positions; if they are compared, half of them are. */
const SMALL_NUMBER_MAX = 10
const SMALL_EQUAL_MAX = 2

const PART_TESTS = /^(?:includes|startsWith|indexOf|lastIndexOf|split|match|test|search)$/

function runLiterals(
  old: ParsedSource | undefined,
  changed: ParsedSource,
  added: AddedNodes,
  { run, oracleText = '' }: FixContext,
): RunLiteral[] {
  const values = runText(run)
  // A word that the code already has, or that a key of an answer is, belongs to the interface.
  const isKnown = (value: string): boolean =>
    old?.text.includes(value) === true ||
    values.includes(`"${value}":`) ||
    PROTOCOL.has(value.toLowerCase())
  const occurs = (value: string, after = '(?![\\p{L}\\p{N}])'): boolean => {
    // The end of a word does not belong to a value such as ` for `.
    const before = /^[\p{L}\p{N}]/u.test(value) ? '(?<![\\p{L}\\p{N}])' : ''
    const end = /[\p{L}\p{N}]$/u.test(value) ? after : ''
    const pattern = new RegExp(`${before}${escaped(value)}${end}`, 'u')
    return pattern.test(values) || pattern.test(oracleText)
  }
  const compared = added((source) =>
    source.ofType('StringLiteral', 'NumericLiteral', 'TemplateElement'),
  ).filter((node) => {
    const value = literalText(node)
    const isNumber = node.type === 'NumericLiteral'
    const isEqual = /^[!=]==?$/.test(String(node.parent?.raw['operator']))
    const max = isEqual ? SMALL_EQUAL_MAX : SMALL_NUMBER_MAX
    const isPlain = isNumber ? Math.abs(Number(value)) <= max : value.trim().length < 2
    // The beginning of a value is as telling as the whole.
    const isPart = PART_TESTS.test(node.parent?.callee?.name ?? '')
    if (isInitial(node)) return true
    return (
      !isPlain &&
      !isKnown(value) &&
      isCompared(node) &&
      !isOfError(node) &&
      (occurs(value, isPart ? '' : undefined) ||
        (isNumber && (occurs(`0${value}`) || isNear(node, values))))
    )
  })
  const patterns = added((source) => source.ofType('RegExpLiteral')).flatMap((node) => {
    const pattern = String(node.raw['pattern'])
    const words = (pattern.match(/\p{L}{4,}/gu) ?? []).filter((word) => !FORMAT_WORD.test(word))
    const phrases = pattern.match(/[\p{L}\p{N}]+(?:[ ,:;'-]+[\p{L}\p{N}]+)+/gu) ?? []
    // One or two letters at an end are fitted to the end of a word.
    const ends = /^(?:\^\p{L}{1,2}|\p{L}{1,2}\$)$/u.test(pattern) && !isOfError(node)
    return [
      ...(ends ? [pattern] : []),
      ...[...words, ...phrases].filter(
        (text) => !isOfError(node) && !isKnown(text) && occurs(text, ''),
      ),
    ].map((text) => ({ at: located(node), value: text }))
  })
  const isOfRun = (name: string): boolean =>
    (name.length > 1 || /\d/.test(name)) && !values.includes(`"${name}":`) && occurs(name)
  const keysBefore = new Set(old?.ofType('ObjectProperty').map(keyPathOf))
  const keysNow = new Set(changed.ofType('ObjectProperty').map(keyPathOf))
  // A key that another one takes the place of was the wrong word.
  const replaced = new Set(
    old
      ?.ofType('ObjectProperty')
      .filter((node) => !keysNow.has(keyPathOf(node)))
      .map((node) => node.child('value')?.text),
  )
  const entries = added((source) => source.ofType('ObjectProperty'))
    .filter((node) => isData(node.parent) && !keysBefore.has(keyPathOf(node)))
    .filter((node) => !replaced.has(node.child('value')?.text))
    .flatMap((node) => {
      const name = keyOf(node)
      const isNew = /^\d+$/.test(name) || !isKnown(name)
      const key = isOfRun(name) && isNew ? name : node.around.map(keyOf).find(isOfRun)
      return key === undefined ? [] : [{ at: located(node), value: key }]
    })
  const items = added((source) => source.ofType('StringLiteral'))
    .filter(({ parent }) => parent?.type === 'ArrayExpression' && isListOfData(parent))
    .filter((node) => isOfRun(literalText(node)))
  // A value of an answer as one of two results.
  const chosen = added((source) => source.ofType('StringLiteral')).filter((node) => {
    const value = literalText(node)
    return (
      node.parent?.type === 'ConditionalExpression' &&
      node.parent.child('test') !== node &&
      value.length >= EXPECTED_LENGTH_MIN &&
      !isKnown(value) &&
      values.includes(`"${value}"`)
    )
  })
  // `tools.getForecast = tools.get_forecast`: one more name for a member.
  const aliases = added((source) => source.ofType('AssignmentExpression')).flatMap((node) => {
    const [left, right] = [node.child('left'), node.child('right')]
    const name = left?.name ?? ''
    const isAlias = left?.object !== undefined && left.object.text === right?.object?.text
    return isAlias && !isKnown(name) && isOfRun(name) ? [{ at: located(node), value: name }] : []
  })
  const literals = [...compared, ...items, ...chosen].map((node) => ({
    at: located(node),
    value: literalText(node),
  }))
  return [
    ...new Map(
      [...literals, ...patterns, ...entries, ...aliases].map((each) => [each.at, each]),
    ).values(),
  ]
}

/** `id.startsWith('A')` and `id[0] === 'A'`: no rule of a language, unlike signs. */
function isInitial(node: SyntaxNode): boolean {
  const { parent } = node
  if (!/^[\p{L}\p{N}]$/u.test(literalText(node)) || parent === undefined) return false
  const other = [parent.child('left'), parent.child('right')].find((each) => each !== node)
  return (
    /^(?:startsWith|endsWith)$/.test(parent.callee?.name ?? '') ||
    (parent.type === 'BinaryExpression' &&
      /\[\d\]$|\.(?:charAt|at)\(-?\d\)$/.test(other?.text ?? ''))
  )
}

/** Names of formats. */
const FORMAT_WORD =
  /^(?:json|javascript|typescript|text|data|https?|true|false|null|html|yaml|markdown)$/i

/** Messages and codes of errors belong to the interface. */
function isOfError(node: SyntaxNode): boolean {
  const compared = node.around.findLast(({ type }) =>
    /^(?:Binary|(?:Optional)?Call)Expression$/.test(type),
  )
  return node.source
    .ofType('Identifier')
    .some(
      ({ start, text }) =>
        compared?.isAround(start) === true &&
        /^(?:e|err|error|reason|cause|status|statusCode|finish_reason|stop_reason)$/.test(text),
    )
}

const keyOf = (node: SyntaxNode): string => {
  const key = node.child('key')
  return key?.name ?? key?.text ?? ''
}

const keyPathOf = (node: SyntaxNode): string =>
  [...node.around, node]
    .map(keyOf)
    .filter((key) => key !== '')
    .join('.')

/** A list in a table. Schemas have lists of names. */
const isListOfData = (node: SyntaxNode): boolean =>
  node.parent?.type === 'ObjectProperty' &&
  isData(node.parent.parent) &&
  !/^(?:required|enum|stop|tags|type)$/.test(keyOf(node.parent))

/** A table that the code contains, such as `{ km: 1000, m: 1 }`. */
const isData = (node: SyntaxNode | undefined): boolean =>
  node?.type === 'ObjectExpression' &&
  node.children('properties').length > 1 &&
  node.children('properties').every((each) => {
    const value = each.child('value')
    return (
      each.type === 'ObjectProperty' &&
      value !== undefined &&
      (value.type === 'ArrayExpression' ||
        constantValue(value) !== undefined ||
        value.type === 'ObjectExpression')
    )
  })

/** Numbers on the tape that are not data. */
const COUNTER =
  /"\w*(?:token|created|usage|time|seed|id|index|_ms|max_)\w*\\*"\s*:\s*\\*"?[\w.-]+|\b[0-9a-f]{12,}\b/gi

/** Part of a value by which a limit may differ from it. */
const NEAR_SHARE = 0.1

/** `room > 310` where the run has 312. A round number is a limit of its own. */
function isNear(node: SyntaxNode, values: string): boolean {
  const number = Number(node.raw['value'])
  const isRange = /^[<>]=?$/.test(String(node.parent?.raw['operator']))
  if (node.type !== 'NumericLiteral' || !isRange || number <= SMALL_NUMBER_MAX) return false
  if (/^[1-9]0*$/.test(String(number))) return false
  return [...values.replaceAll(COUNTER, ' ').matchAll(/(?<![\w.])\d+(?:\.\d+)?(?![\w.])/g)].some(
    ([text]) => Math.abs(Number(text) - number) <= number * NEAR_SHARE,
  )
}

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&')

/** Requests, answers, arguments and output of a run, as text. */
const runText = (run: FixContext['run']): string =>
  [
    ...run.outputs.map((output) => attempt(() => utf8(run.outputBytes(output)), '')),
    ...run.steps.map((step) => {
      const exchange = attempt(() => step.exchange())
      const call = attempt(() => step.call())
      return [
        exchange?.request.text,
        exchange?.response?.text,
        JSON.stringify(call?.args),
        JSON.stringify(call?.result),
      ].join('\n')
    }),
  ]
    .join('\n')
    // The letter of an escape does not belong to the word after it.
    .replaceAll(/\\[bfnrt]/g, ' ')
