import { pathProblem } from './argument-path.js'
import { closestName } from '@retake/engine/hook'
import { coversNames, nameTest } from './name-pattern.js'
import { EFFECTS, ruleVerdict } from './compiled-rule.js'
import { LOOK_BACK_LIMIT } from './call-history.js'
import { type DataCheck, type DataPath, eachOf, type PlainObject } from './data-check.js'
import { patternProblem } from './linear-pattern.js'
import type { Earlier, Names, Rule } from './policy.js'

const VERDICT_KEYS = ['allow', 'deny', 'ask']
const NARROWING = ['effect', 'declares', 'when', 'after', 'moreThan', 'tainted']
const RULE_KEYS = ['id', ...VERDICT_KEYS, ...NARROWING, 'within', 'because', 'instead', 'code']

export function checkRules(check: DataCheck, data: unknown): void {
  if (data === undefined || !check.list(['rules'], data, 'It')) return
  const usable: { readonly index: number; readonly rule: Rule }[] = []
  for (const [index, each] of data.entries()) {
    const before = check.problems.length
    checkRule(check, ['rules', index], each)
    if (check.problems.length === before) usable.push({ index, rule: each as Rule })
  }
  checkIds(check, data)
  checkReach(check, usable)
}

function checkRule(check: DataCheck, path: DataPath, data: unknown): void {
  const rule = check.object(path, data, 'A rule', RULE_KEYS)
  if (rule === undefined) return
  const verdicts = VERDICT_KEYS.filter((key) => rule[key] !== undefined)
  if (verdicts.length === 0)
    check.add(path, 'It decides nothing. Name tools with allow, deny or ask.')
  if (verdicts.length > 1)
    check.add(path, `It has both ${verdicts.join(' and ')}. Write two rules.`)
  for (const key of verdicts) {
    check.texts([...path, key], rule[key], 'A tool')
    checkNames(check, [...path, key], rule[key])
  }
  for (const key of ['id', 'because', 'instead'])
    if (rule[key] !== undefined) check.text([...path, key], rule[key], `"${key}"`)
  if (typeof rule['id'] === 'string' && /[\s/]/.test(rule['id']))
    check.add([...path, 'id'], 'An id has no spaces and no slash.')
  const { code } = rule
  if (code !== undefined && (typeof code !== 'string' || !/^[A-Z][A-Z0-9_]*$/.test(code)))
    check.add([...path, 'code'], 'A code is written like REFUND_TOO_HIGH.')
  checkEffect(check, [...path, 'effect'], rule['effect'])
  checkEffect(check, [...path, 'declares'], rule['declares'])
  checkWhen(check, [...path, 'when'], rule['when'])
  checkLookBack(check, path, rule)
}

/** Every tool that rules name, and where. */
export const namesInRules = (
  rules: readonly Rule[],
): { readonly name: string; readonly path: DataPath; readonly allows: boolean }[] =>
  rules.flatMap((rule, index) => {
    const { allow, deny, ask, after = [], tainted = [] } = rule
    const isTaint = typeof tainted === 'object' && 'from' in tainted
    const named: [DataPath, Names][] = [
      ...Object.entries({ allow, deny, ask }).flatMap(([key, names]): [DataPath, Names][] =>
        names === undefined ? [] : [[[key], names]],
      ),
      ...eachOf(['after'], after).map(([at, each]): [DataPath, Names] => [
        [...at, 'tool'],
        (each as Earlier).tool ?? [],
      ]),
      [isTaint ? ['tainted', 'from'] : ['tainted'], isTaint ? tainted.from : tainted],
    ]
    return named.flatMap(([path, names]) =>
      eachOf(path, names).map(([at, name]) => ({
        name: name as string,
        path: ['rules', index, ...at],
        allows: path[0] === 'allow',
      })),
    )
  })

/** Rules about tools that do not exist. They would not apply to any call. */
export function checkTools(
  rules: readonly Rule[],
  tools: readonly string[],
): { readonly path: DataPath; readonly message: string }[] {
  return namesInRules(rules).flatMap(({ name, path }) => {
    if (tools.some(nameTest(name))) return []
    const meant = closestName(name, tools)
    return { path, message: `There is no tool "${name}".${meant ? ` Is it "${meant}"?` : ''}` }
  })
}

/** A name that only looks like that of a tool would match no call. */
function checkNames(check: DataCheck, path: DataPath, data: unknown): void {
  for (const name of [data].flat()) {
    if (typeof name !== 'string') continue
    if (/[\p{Default_Ignorable_Code_Point}\p{C}]/u.test(name))
      check.add(path, `"${escapeHidden(name)}" has an invisible character.`)
    else if (/\p{Script=Latin}/u.test(name) && /[\p{Script=Cyrillic}\p{Script=Greek}]/u.test(name))
      check.add(path, `"${escapeForeign(name)}" mixes letters of alphabets that look alike.`)
  }
}

const codeOf = (char: string): string => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`
const escapeHidden = (name: string): string =>
  name.replaceAll(/[\p{Default_Ignorable_Code_Point}\p{C}]/gu, codeOf)
const escapeForeign = (name: string): string =>
  name.replaceAll(/[\p{Script=Cyrillic}\p{Script=Greek}]/gu, codeOf)

function checkEffect(check: DataCheck, path: DataPath, data: unknown): void {
  if (data === undefined) return
  const list = eachOf(path, data)
  if (list.length === 0) check.add(path, 'The list is empty.')
  for (const [at, each] of list) check.oneOf(at, each, EFFECTS)
}

function checkLookBack(check: DataCheck, path: DataPath, rule: PlainObject): void {
  const { after, moreThan, within, tainted } = rule
  if (moreThan !== undefined)
    check.whole([...path, 'moreThan'], moreThan, 0, within === undefined ? 1e9 : LOOK_BACK_LIMIT)
  if (moreThan !== undefined && rule['allow'] !== undefined)
    check.add([...path, 'moreThan'], 'It would allow a call only after many. Use deny or ask.')
  if (within !== undefined) {
    check.whole([...path, 'within'], within, 1, 1e9)
    if (after === undefined && moreThan === undefined)
      check.add([...path, 'within'], 'It needs `after` or `moreThan`.')
  }
  if (after !== undefined) checkAfter(check, [...path, 'after'], after)
  if (tainted !== undefined) checkTaint(check, [...path, 'tainted'], tainted)
  if (tainted !== undefined && rule['allow'] !== undefined)
    check.add(
      [...path, 'tainted'],
      'It would allow a call because of untrusted text. Use deny or ask.',
    )
}

function checkAfter(check: DataCheck, path: DataPath, data: unknown): void {
  const list = eachOf(path, data)
  if (list.length === 0) check.add(path, 'The list is empty.')
  for (const [at, each] of list) {
    const earlier = check.object(at, each, 'An earlier call', ['tool', 'effect', 'when'])
    if (earlier === undefined) continue
    if (Object.values(earlier).every((value) => value === undefined))
      check.add(at, 'It selects no calls. Use tool, effect or when.')
    check.texts([...at, 'tool'], earlier['tool'], 'A tool')
    checkEffect(check, [...at, 'effect'], earlier['effect'])
    checkWhen(check, [...at, 'when'], earlier['when'])
  }
}

function checkTaint(check: DataCheck, path: DataPath, data: unknown): void {
  if (typeof data === 'string' || Array.isArray(data)) {
    check.texts(path, data, 'A tool')
    return
  }
  const taint = check.object(path, data, 'Taint', ['from', 'minLength', 'in'])
  if (taint === undefined) return
  if (taint['from'] === undefined)
    check.add(path, 'It does not name the untrusted tools. Use from.')
  check.texts([...path, 'from'], taint['from'], 'A tool')
  if (taint['minLength'] !== undefined)
    check.whole([...path, 'minLength'], taint['minLength'], 4, 1000)
  check.texts([...path, 'in'], taint['in'], 'A path', (at, text) => {
    const problem = pathProblem(text)
    if (problem !== undefined) check.add(at, problem)
  })
}

function checkIds(check: DataCheck, rules: readonly unknown[]): void {
  const seen = new Map<string, number>()
  for (const [index, rule] of rules.entries()) {
    const id: unknown =
      typeof rule === 'object' && rule !== null && 'id' in rule ? rule.id : undefined
    const name = typeof id === 'string' ? id : String(index + 1)
    const first = seen.get(name)
    if (first !== undefined)
      check.add(
        ['rules', index, ...(typeof id === 'string' ? ['id'] : [])],
        `Rule ${first + 1} has the same id "${name}".`,
      )
    else seen.set(name, index)
  }
}

/** Reports rules that an earlier rule makes unreachable. */
function checkReach(
  check: DataCheck,
  rules: readonly { readonly index: number; readonly rule: Rule }[],
): void {
  const open: { readonly index: number; readonly names: Names }[] = []
  for (const { index, rule } of rules) {
    const names = rule[ruleVerdict(rule)] ?? []
    const before = open.find((each) => coversNames(each.names, names))
    if (before !== undefined)
      check.add(
        ['rules', index],
        `It is never reached: rule ${before.index + 1} decides every call of ${[before.names].flat().join(', ')}.`,
      )
    if (NARROWING.every((key) => rule[key as keyof Rule] === undefined)) open.push({ index, names })
  }
}

const NUMBERS = ['over', 'under', 'atLeast', 'atMost']
const SIZES = ['longerThan', 'shorterThan']
const TEXTS = ['startsWith', 'endsWith']
const SWITCHES = ['exists', 'ignoreCase']
const LISTS = ['anyOf', 'allOf', 'noneOf']
const TYPES = ['string', 'number', 'integer', 'boolean', 'null', 'array', 'object', 'date', 'bytes']
const CONDITIONS = [
  'equals',
  'not',
  'in',
  'matches',
  'contains',
  'type',
  ...TEXTS,
  ...NUMBERS,
  ...SIZES,
  ...SWITCHES,
  ...LISTS,
]

function checkWhen(check: DataCheck, path: DataPath, data: unknown): void {
  if (data === undefined) return
  const when = check.object(path, data, '`when`', undefined)
  if (when === undefined) return
  if (Object.keys(when).length === 0) check.add(path, 'It names no argument.')
  for (const [argument, predicate] of Object.entries(when)) {
    const problem = pathProblem(argument)
    if (problem !== undefined) check.add([...path, argument], problem)
    checkPredicate(check, [...path, argument], predicate)
  }
}

function checkPredicate(check: DataCheck, path: DataPath, data: unknown): void {
  if (data === null || ['string', 'number', 'boolean'].includes(typeof data)) return
  if (Array.isArray(data)) {
    check.add(
      path,
      'It is a list; write { in: [...] } for one of them, { equals: [...] } for the list.',
    )
    return
  }
  const conditions = check.object(path, data, 'A predicate', CONDITIONS)
  if (conditions === undefined) return
  const given = Object.entries(conditions).filter(([, operand]) => operand !== undefined)
  if (given.every(([name]) => name === 'ignoreCase')) check.add(path, 'It has no condition.')
  for (const [name, operand] of given) checkCondition(check, [...path, name], name, operand)
}

function checkCondition(check: DataCheck, path: DataPath, name: string, operand: unknown): void {
  if (NUMBERS.includes(name)) check.number(path, operand)
  else if (SIZES.includes(name)) check.count(path, operand)
  else if (TEXTS.includes(name)) {
    if (typeof operand !== 'string' || operand === '')
      check.add(path, 'It is a text that is not empty.')
  } else if (SWITCHES.includes(name)) {
    if (typeof operand !== 'boolean') check.add(path, 'It is true or false.')
  } else if (LISTS.includes(name)) {
    if (!check.list(path, operand, `"${name}"`)) return
    if (operand.length === 0) check.add(path, 'The list is empty.')
    for (const [at, each] of eachOf(path, operand)) checkPredicate(check, at, each)
  } else if (name === 'not') checkPredicate(check, path, operand)
  else if (name === 'in') {
    if (check.list(path, operand, '"in"') && operand.length === 0)
      check.add(path, 'The list is empty.')
  } else if (name === 'matches') {
    if (!check.text(path, operand, 'A regular expression')) return
    const problem = patternProblem(operand)
    if (problem !== undefined) check.add(path, `The regular expression cannot be used. ${problem}`)
  } else if (name === 'contains') {
    if (!['string', 'number', 'boolean'].includes(typeof operand) || operand === '')
      check.add(path, 'It is a text that is not empty, a number, or true or false.')
  } else if (name === 'type')
    for (const [at, each] of eachOf(path, operand)) check.oneOf(at, each, TYPES)
}
