import { containsSecret, SecretMask } from '@retake/engine/hook'
import { clipText } from '@retake/tape/format'
import type { GuardVerdict } from '@retake/tape/guards'
import { type Denial, notStarted } from '../denials/guard-error.js'
import { argumentText, UNREADABLE } from '../data/argument-path.js'
import type { CallHistory } from './call-history.js'
import { type ConditionName, conditionsOf } from './compile-predicate.js'
import { NO, UNKNOWN } from './fit.js'
import {
  type ArgumentTest,
  type CompiledRule,
  earlierOf,
  type JudgedCall,
  namesOf,
  taintOf,
} from './compiled-rule.js'
import type { PolicyRules } from './compiled-policy.js'
import type { Earlier, Predicate } from './policy.js'

const LONGEST = 60

const LOOKED_AT = 500

/** Matches tokens and keys: long words of letters and digits, or words with a known prefix. */
const TOKEN =
  /(?:^|[^\w-])(?:[a-z]{2,10}[-_](?=[\w-]*\d)[\w-]{12,}|eyJ[\w-]{8,}\.|(?=[\w+/=-]*\d)(?=[\w+/=-]*[a-z])[\w+/=-]{24,})|-----BEGIN|\bbearer\s+\S{8,}|\bbasic\s+[\w+/=]{8,}/i

/** Matches paths and URLs, whose parts are checked separately. */
const PATH_OR_URL = /^(?:\.{0,2}\/|~\/|[a-z]:[\\/]|[a-z][a-z+.-]*:\/\/)/i

function isSecretValue(name: string, text: string): boolean {
  const start = text.slice(0, LOOKED_AT)
  const words = PATH_OR_URL.test(start) ? start.split(/[/\\?&=]/) : [start]
  if (containsSecret(name, start) || words.some((word) => TOKEN.test(word))) return true
  const mask = new SecretMask()
  mask.addEnvironment(process.env)
  return mask.text(start) !== start
}

/** A value for explanations: on one line, shortened, and hidden if it or its name looks secret. */
export function shownValue(value: unknown, name = ''): string {
  if (value === undefined) return 'missing'
  if (value === UNREADABLE) return 'too long or too deeply nested to be read'
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean')
    return containsSecret(name, '') ? 'a hidden value' : String(value)
  if (value === null) return 'null'
  const text = typeof value === 'string' ? value : jsonOf(value)
  if (isSecretValue(name, text)) return `a hidden text of ${text.length} characters`
  const clipped = clipText(text, LONGEST)
  return typeof value === 'string' ? JSON.stringify(clipped) : clipped
}

function jsonOf(value: unknown): string {
  if (value instanceof Uint8Array) return `${value.byteLength} bytes`
  if (value instanceof Date) return String(value)
  if (value instanceof Map) return `a map of ${value.size}`
  if (value instanceof Set) return `a set of ${value.size}`
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'bigint' ? String(each) : each,
  )
}

/** A predicate in words: `over 100`, `not one of "a", "b"`. */
export const predicateWords = (predicate: Predicate, path: string): string =>
  conditionsOf(predicate)
    .map(([name, operand]) => WORDS[name][0](operand, path))
    .join(' and ')

/** The opposite of a predicate in words: `up to 100`. */
export const oppositeWords = (predicate: Predicate, path: string): string =>
  conditionsOf(predicate)
    .map(([name, operand]) => {
      const [words, opposite] = WORDS[name]
      return opposite?.(operand, path) ?? `not ${words(operand, path)}`
    })
    .join(' or ')

type Words = (operand: unknown, path: string) => string

const after =
  (words: string): Words =>
  (operand) =>
    `${words} ${String(operand)}`

const quoted =
  (words: string): Words =>
  (operand, path) =>
    `${words} ${shownValue(operand, path)}`

const each =
  (wordsOf: (predicate: Predicate, path: string) => string, between: string): Words =>
  (operand, path) =>
    (operand as readonly Predicate[]).map((one) => wordsOf(one, path)).join(between)

/** Each condition in words, and its opposite unless that is the same with `not`. */
const WORDS: Readonly<Record<ConditionName, readonly [words: Words, opposite?: Words]>> = {
  equals: [shownValue],
  not: [
    (operand, path) => oppositeWords(operand as Predicate, path),
    (operand, path) => predicateWords(operand as Predicate, path),
  ],
  in: [(operand, path) => `one of ${listOf(operand as readonly unknown[], path)}`],
  matches: [(operand) => `matching /${String(operand)}/`],
  startsWith: [quoted('starting with')],
  endsWith: [quoted('ending with')],
  contains: [quoted('containing')],
  over: [after('over'), after('up to')],
  under: [after('under'), after('at least')],
  atLeast: [after('at least'), after('under')],
  atMost: [after('up to'), after('over')],
  longerThan: [after('longer than'), after('no longer than')],
  shorterThan: [after('shorter than'), after('no shorter than')],
  exists: [
    (operand) => (operand === true ? 'given' : 'not given'),
    (operand) => (operand === true ? 'not given' : 'given'),
  ],
  type: [(operand) => `of type ${[operand].flat().join(' or ')}`],
  anyOf: [each(predicateWords, ' or '), each(oppositeWords, ' and ')],
  allOf: [each(predicateWords, ' and '), each(oppositeWords, ' or ')],
  noneOf: [each(oppositeWords, ' and '), each(predicateWords, ' or ')],
}

const SHOWN = 6

function listOf(list: readonly unknown[], path: string): string {
  const rest = list.length - SHOWN
  const shown = list.slice(0, SHOWN).map((one) => shownValue(one, path))
  return shown.join(', ') + (rest > 0 ? ` and ${rest} more` : '')
}

/** All reasons why a rule matches a call, without values that look secret. */
function reasonsFor(rule: CompiledRule, call: JudgedCall, history: CallHistory): string[] {
  const { effect, declares, moreThan, within, after, tainted } = rule.rule
  const reasons: string[] = []
  if (effect !== undefined || declares !== undefined)
    reasons.push(
      call.effects === undefined
        ? `${call.tool} declares no effects, so it may have any effect`
        : `${call.tool} declares the effects ${call.effects.join(', ') || 'none'}`,
    )
  reasons.push(...rule.filter.tests.map((test) => fitting(test, call.args)))
  const window = within === undefined ? '' : ` among the last ${within} calls`
  if (moreThan !== undefined) {
    const calls = moreThan === 1 ? 'call' : 'calls'
    reasons.push(`It would be more than ${moreThan} ${calls} of ${nameList(rule.names)}${window}`)
  }
  if (after !== undefined)
    reasons.push(
      `A call of ${earlierOf(after).map(earlierWords).join(' or ')} came before${window}`,
    )
  const found = tainted && rule.taintFound(call.args, history)
  if (found) {
    const { at, text, source } = found
    const by = source?.by === undefined ? '' : `, passed on by ${source.by}`
    reasons.push(
      source === undefined
        ? `More text came from ${nameList(taintOf(tainted).from)} than can be tracked, so ${at} may contain some of it`
        : `${at} contains text that ${source.tool} returned${by}: ${shownValue(text, at)}`,
    )
  }
  return reasons
}

/** The first value that matches, or may match, with its path. */
function fitting({ path, predicate, test }: ArgumentTest, args: unknown): string {
  const words = predicateWords(predicate, path.text)
  const found = path.each(args, (value, at) => {
    const fit = value === UNREADABLE ? UNKNOWN : test(value)
    if (fit === NO) return undefined
    const where = argumentText(at)
    const shown = shownValue(value, where)
    if (fit === UNKNOWN) return `${where} is ${shown}, which may be ${words}`
    return `${where} is ${shown}${shown === words ? '' : `, ${words}`}`
  })
  return found ?? `${path.text} is not given`
}

const nameList = (names: string | readonly string[]): string => {
  const list = namesOf(names)
  return list.includes('*') ? 'any tool' : list.join(', ')
}

/** Earlier calls, as part of a sentence. */
function earlierWords({ tool = '*', effect, when = {} }: Earlier): string {
  const effects = effect === undefined ? '' : ` (effect ${[effect].flat().join(' or ')})`
  const conditions = Object.entries(when).map(
    ([path, predicate]) => `${path} ${predicateWords(predicate, path)}`,
  )
  return `${nameList(tool)}${effects}${conditions.length === 0 ? '' : ` with ${conditions.join(' and ')}`}`
}

/** Why a rule stops a call or asks about it, and an alternative. Without a rule, the default decided. */
export function describeDenial(
  policy: PolicyRules,
  rule: CompiledRule | undefined,
  call: JudgedCall,
  history: CallHistory,
): Denial {
  const { because, code = 'POLICY_DENIED' } = rule?.rule ?? {}
  const reasons = rule ? reasonsFor(rule, call, history) : []
  const why = [...(because === undefined ? [] : [because]), ...reasons].map(sentence)
  const otherwise = rule
    ? `Rule ${rule.name} ${VERBS[rule.verdict]} it.`
    : `No rule of policy ${policy.name} allows it.`
  return {
    code,
    rule: rule?.name ?? `${policy.name}/default`,
    what: whatOf(call, rule?.verdict ?? policy.default),
    why: why.join(' ') || otherwise,
    allowed: allowedInstead(policy, rule, call),
  }
}

const VERBS = { allow: 'allows', deny: 'denies', ask: 'asks about' }

const whatOf = ({ tool }: JudgedCall, verdict: GuardVerdict): string =>
  verdict === 'ask' ? `Tool "${tool}" needs approval before it starts.` : notStarted(tool)

function allowedInstead(
  policy: PolicyRules,
  rule: CompiledRule | undefined,
  { tool }: JudgedCall,
): string {
  if (rule?.rule.instead !== undefined) return sentence(rule.rule.instead)
  const others = policy.rules.filter((each) => each !== rule && each.filter.fitsName(tool))
  const allowing = others.filter(({ verdict }) => verdict === 'allow')
  const prompting = others.filter(({ verdict }) => verdict === 'ask')
  const mayRun =
    policy.default === 'allow' ||
    [...allowing, ...prompting].some((each) => conditionsOfRule(each).length === 0)
  const ways = [
    ...(rule !== undefined && mayRun ? otherwise(rule) : []),
    ...allowing.flatMap(conditionsOfRule),
    ...(rule === undefined || rule.verdict === 'deny' ? prompting.flatMap(promptWords) : []),
  ]
  if (rule?.verdict === 'ask' || (rule === undefined && policy.default === 'ask'))
    return sentence(['Ask for approval', ...ways].join(', or '))
  if (ways.length > 0) return sentence(`Allowed: ${[...new Set(ways)].join(', or ')}`)
  const names = policy.rules
    .filter(({ verdict }) => verdict === 'allow')
    .flatMap((each) => namesOf(each.names))
  if (names.length > 0) return sentence(`Allowed: tools ${[...new Set(names)].join(', ')}`)
  return policy.default === 'allow' && rule !== undefined && !namesOf(rule.names).includes('*')
    ? 'Allowed: any other tool.'
    : 'Nothing similar is allowed. Change the policy to allow it.'
}

const ifSet = <T>(value: T | undefined, words: (value: T) => string): string[] =>
  value === undefined ? [] : [words(value)]

const earlierList = (after: Earlier | readonly Earlier[]): string =>
  earlierOf(after).map(earlierWords).join(' and ')

/** Conditions under which the rule does not apply. */
function otherwise({ rule, names, filter }: CompiledRule): string[] {
  const { effect, declares, moreThan, within, after, tainted } = rule
  const window = within === undefined ? '' : ` among ${within}`
  return [
    ...filter.tests.map(
      ({ path, predicate }) => `${path.text} ${oppositeWords(predicate, path.text)}`,
    ),
    ...ifSet(
      effect,
      (each) => `tools that declare their effects, none of them ${[each].flat().join(' or ')}`,
    ),
    ...ifSet(declares, (each) => `tools that do not declare ${[each].flat().join(' or ')}`),
    ...ifSet(
      moreThan,
      (most) => `at most ${most} ${most === 1 ? 'call' : 'calls'} of ${nameList(names)}${window}`,
    ),
    ...ifSet(after, (each) =>
      within === undefined
        ? `such a call before ${earlierList(each)}`
        : `such a call later than ${within} calls after ${earlierList(each)}`,
    ),
    ...ifSet(
      tainted,
      (each) => `arguments that are not copied from what ${nameList(taintOf(each).from)} returned`,
    ),
  ]
}

/** Conditions of a rule that allows this tool. */
function conditionsOfRule({ rule, filter }: CompiledRule): string[] {
  const parts = [
    ...filter.tests.map(
      ({ path, predicate }) => `${path.text} ${predicateWords(predicate, path.text)}`,
    ),
    ...ifSet(rule.effect, (effect) => `effects ${[effect].flat().join(', ')} only`),
    ...ifSet(rule.after, (after) => `a call after ${earlierList(after)}`),
  ]
  return parts.length === 0 ? [] : [parts.join(' and ')]
}

const promptWords = (rule: CompiledRule): string[] => {
  const [conditions] = conditionsOfRule(rule)
  return [conditions === undefined ? 'ask for approval' : `${conditions} with approval`]
}

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`)
