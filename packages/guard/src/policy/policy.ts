import { closestName } from '@retake/engine/hook'
import {
  atLeast,
  DataCheck,
  type DataPath,
  type DataProblem,
  eachOf,
  flag,
  number,
  objectOf,
  oneWord,
  oneOrMore,
  required,
  type DataSchema,
  nonEmptyText,
  type TypeOfFields,
  whole,
} from '@retake/engine/schema'
import type { Effect, GuardVerdict } from '@retake/tape/guards'
import { scopeSchemas } from '../bounds/scopes.js'
import { pathProblem } from '../data/argument-path.js'
import { coversNames, type Names, nameTest, toolNameProblem } from '../data/name-pattern.js'
import { limitsSchema } from '../limits/limits.js'
import { patternProblem } from './linear-pattern.js'

export const EFFECTS = ['read', 'write', 'network', 'shell', 'spend'] as const satisfies Effect[]

const VERDICTS = ['allow', 'deny', 'ask'] as const

/** Rules that look back see this many calls. */
export const LOOK_BACK_LIMIT = 10_000

/** A name that becomes part of `policy/rule`. */
const ruleName =
  (subject: string): DataSchema<string> =>
  (check, path, data) => {
    if (check.text(path, data, subject) && /[\s/]/.test(data))
      check.add(path, `${subject} has no spaces and no slash.`)
  }

const toolNames: DataSchema<Names> = oneOrMore<string>((check, path, data) => {
  const problem = check.text(path, data, 'A tool') ? toolNameProblem(data) : undefined
  if (problem !== undefined) check.add(path, problem)
}, 'A tool')

const effects: DataSchema<Effect | readonly Effect[]> = oneOrMore(oneWord(...EFFECTS))

/**
 * A predicate for each path into the arguments: `amount`, `items.0.sku` or `items[0].sku`. `*` is
 * every member, `**.url` every `url` at any depth, `**` every value that is not a list or object, and
 * `.` the arguments themselves. Write a dot in a name as `\.`.
 */
export type When = Readonly<Record<string, Predicate>>

/** A value that must be equal, or conditions that must all hold. */
export type Predicate = string | number | boolean | null | Conditions

/** A missing value matches only `exists: false`. */
export interface Conditions {
  /** Deep equality; the order of keys does not matter. */
  readonly equals?: unknown
  /** The predicate must not hold. */
  readonly not?: Predicate
  readonly in?: readonly unknown[]
  /** A regular expression that must match somewhere. Backreferences and lookaround are refused. */
  readonly matches?: string
  readonly startsWith?: string
  readonly endsWith?: string
  /** A substring of a string, or a member of a list. */
  readonly contains?: string | number | boolean
  /** Compares strings without case. */
  readonly ignoreCase?: boolean
  readonly over?: number
  readonly under?: number
  readonly atLeast?: number
  readonly atMost?: number
  /** Length of a string or byte array, or number of members. */
  readonly longerThan?: number
  readonly shorterThan?: number
  readonly exists?: boolean
  readonly type?: ValueType | readonly ValueType[]
  readonly anyOf?: readonly Predicate[]
  readonly allOf?: readonly Predicate[]
  readonly noneOf?: readonly Predicate[]
}

const VALUE_TYPES = [
  'string',
  'number',
  'integer',
  'boolean',
  'null',
  'array',
  'object',
  'date',
  'bytes',
] as const

export type ValueType = (typeof VALUE_TYPES)[number]

function checkWhen(check: DataCheck, path: DataPath, data: unknown): void {
  const when = check.object(path, data, '`when`')
  if (when === undefined) return
  if (Object.keys(when).length === 0) check.add(path, 'It names no argument.')
  for (const [argument, predicate] of Object.entries(when)) {
    checkPath(check, [...path, argument], argument)
    // YAML reads `{ to:eve }` as a name without a value.
    if (predicate === null && /^[^:]+:[^:]+$/.test(argument))
      check.add(
        [...path, argument],
        'It has no value. Write a blank after the colon, or { equals: null }.',
      )
    checkPredicate(check, [...path, argument], predicate)
  }
}

function checkPredicate(check: DataCheck, path: DataPath, data: unknown): void {
  if (data === null || ['string', 'number', 'boolean'].includes(typeof data)) return
  if (Array.isArray(data))
    return check.add(
      path,
      'It is a list; write { in: [...] } for one of them, { equals: [...] } for the list.',
    )
  objectOf(CONDITIONS, 'A predicate')(check, path, data)
  if (typeof data !== 'object') return
  const conditions = data as Conditions
  const given = Object.entries(conditions).filter(([, value]) => value !== undefined)
  if (given.every(([name]) => name === 'ignoreCase')) check.add(path, 'It has no condition.')
}

const listed =
  <T>(member: DataSchema<T>): DataSchema<readonly T[]> =>
  (check, path, data) => {
    if (!check.list(path, data, `"${path.at(-1)}"`)) return
    if (data.length === 0) check.add(path, 'The list is empty.')
    for (const [at, each] of eachOf(path, data)) member(check, at, each)
  }

const part: DataSchema<string> = (check, path, data) => {
  if (typeof data !== 'string' || data === '')
    check.add(path, 'It must be a string that is not empty.')
}

/** The type is declared, because a predicate contains others. */
const CONDITIONS: { readonly [Name in keyof Conditions]-?: DataSchema<Conditions[Name]> } = {
  equals: () => {},
  not: checkPredicate,
  in: listed(() => {}),
  matches: (check, path, data) => {
    const problem = check.text(path, data, 'A regular expression')
      ? patternProblem(data)
      : undefined
    if (problem !== undefined) check.add(path, `The regular expression cannot be used. ${problem}`)
  },
  contains: (check, path, data) => {
    if (!['string', 'number', 'boolean'].includes(typeof data) || data === '')
      check.add(path, 'It must be a string that is not empty, a number, or true or false.')
  },
  type: oneOrMore(oneWord(...VALUE_TYPES)),
  startsWith: part,
  endsWith: part,
  over: number,
  under: number,
  atLeast: number,
  atMost: number,
  longerThan: atLeast(0),
  shorterThan: atLeast(0),
  exists: flag,
  ignoreCase: flag,
  anyOf: listed(checkPredicate),
  allOf: listed(checkPredicate),
  noneOf: listed(checkPredicate),
}

const EARLIER = { tool: toolNames, effect: effects, when: checkWhen as DataSchema<When> }

/** Selects earlier calls. All keys must match. */
export type Earlier = TypeOfFields<typeof EARLIER>

const earlier = oneOrMore<Earlier>((check, path, data) => {
  objectOf(EARLIER, 'An earlier call')(check, path, data)
  if (typeof data === 'object' && Object.values(data ?? {}).every((value) => value === undefined))
    check.add(path, 'It selects no calls. Use tool, effect or when.')
})

const TAINT = {
  /** Tools whose results are untrusted. */
  from: required(toolNames, 'It does not name the untrusted tools. Use from.'),
  /** Shorter text is not tracked; default 12 characters, not counting white space. */
  minLength: whole(4, 1000),
  /** Paths of arguments; default all. */
  in: oneOrMore<string>((check, path, data) => {
    if (check.text(path, data, 'A path')) checkPath(check, path, data)
  }, 'A path'),
}

export type Taint = TypeOfFields<typeof TAINT>

const tainted: DataSchema<Names | Taint> = (check, path, data) =>
  (typeof data === 'string' || Array.isArray(data) ? toolNames : objectOf(TAINT, 'Taint'))(
    check,
    path,
    data,
  )

const codeName: DataSchema<string> = (check, path, data) => {
  if (typeof data !== 'string' || !/^[A-Z][A-Z0-9_]*$/.test(data))
    check.add(path, 'A code is written like REFUND_TOO_HIGH.')
}

const RULE = {
  /** Name in explanations; default its number in the list. */
  id: ruleName('An id'),
  /** Tools whose calls run. */
  allow: toolNames,
  /** Tools whose calls never start. */
  deny: toolNames,
  /** Tools whose calls wait for approval. */
  ask: toolNames,
  /** Deny and ask: tools that may have one of these effects. Allow: tools without other effects. */
  effect: effects,
  /** Like `effect`, but ignores tools that declare no effects. */
  declares: effects,
  /** A predicate for each path into the arguments. All must hold. */
  when: checkWhen as DataSchema<When>,
  /**
   * Only after such a call in this run; with a list, after any (deny, ask) or all (allow) of them.
   * Deny and ask count calls that are in progress, failed or in doubt; allow counts only done calls.
   */
  after: earlier,
  /** Applies from matching call n + 1 on: at most n calls. */
  moreThan: number,
  /** Limits `after` and `moreThan` to the last n calls. Denied calls do not count. */
  within: whole(1, 1e9),
  /** Only if an argument contains text that these tools returned. Not for `allow`. */
  tainted: tainted,
  /** Reason in the explanation. */
  because: nonEmptyText(),
  /** Alternative in the explanation; default: derived from the rules. */
  instead: nonEmptyText(),
  /** Error code such as `REFUND_TOO_HIGH`; default `POLICY_DENIED`. */
  code: codeName,
}

/** Has exactly one of `allow`, `deny` and `ask`. The other keys select calls. */
export type Rule = TypeOfFields<typeof RULE>

const POLICY = {
  name: required(ruleName('A name'), 'It has no name; explanations say `name/rule`.'),
  /** For calls that no rule matches; default `allow`. */
  default: oneWord(...VERDICTS),
  rules: checkRules as DataSchema<readonly Rule[]>,
  ...scopeSchemas,
  limits: limitsSchema,
}

/**
 * Plain data that decides which calls run. Scopes apply to every call; the first matching rule
 * decides.
 *
 *     name: refunds
 *     default: deny
 *     rules:
 *       - id: after-the-page
 *         deny: '*'
 *         effect: network
 *         after: { tool: read_secret }
 *       - allow: refund
 *         when: { amount: { atMost: 100 } }
 *       - ask: refund
 *         because: Refunds over 100 need a person.
 *
 * **When in doubt, a rule is strict.** With several values, effects or earlier calls, deny and ask
 * apply if any matches, allow only if all match. An unknown condition (is `"lots"` over 100?) is met
 * for deny and ask, and not for allow.
 */
export type Policy = TypeOfFields<typeof POLICY>

export interface CheckPolicyOptions {
  readonly isFile?: boolean
  /** All tools of the programs that use the policy. Without it, rules may name any tool. */
  readonly tools?: readonly string[] | undefined
}

/** All problems of a policy. Does not check whether folders exist. */
export function checkPolicy(
  data: unknown,
  { isFile = false, tools }: CheckPolicyOptions = {},
): DataProblem[] {
  const check = new DataCheck()
  const hint = mistakenFor(data, isFile)
  if (hint !== undefined) return [{ path: [], message: hint }]
  // Path of a value that contains itself, which YAML aliases can cause.
  const around = new Set<object>()
  const whole = new Set<object>()
  const look = (value: unknown, path: DataPath): DataPath | undefined => {
    if (typeof value !== 'object' || value === null || whole.has(value)) return undefined
    if (around.has(value)) return path
    around.add(value)
    for (const [key, member] of Object.entries(value)) {
      const found = look(member, [...path, Array.isArray(value) ? Number(key) : key])
      if (found !== undefined) return found
    }
    around.delete(value)
    whole.add(value)
    return undefined
  }
  const circle = look(data, [])
  if (circle !== undefined) return [{ path: circle, message: 'It contains itself.' }]
  // Only files have presets. The reader of the file replaces them by policies.
  objectOf(isFile ? { ...POLICY, presets: () => {} } : POLICY, 'A policy')(check, [], data)
  if (tools === undefined || check.problems.length > 0) return check.problems
  const { rules = [], limits = {} } = data as Policy
  return [
    ...checkTools(namesInRules(rules), tools),
    ...checkTools(
      Object.keys(limits.tools ?? {}).map((name) => ({ name, path: ['limits', 'tools', name] })),
      tools,
    ),
  ]
}

/** Recognizes common mistakes and says what was probably meant. */
function mistakenFor(data: unknown, isFile: boolean): string | undefined {
  if (typeof data === 'string') {
    const meant = isFile
      ? 'A file names presets under `presets`.'
      : 'Read a file with `await loadPolicy(file)`; presets are functions, such as `presets.readOnly()`.'
    return `A policy must be an object, not the string "${data.slice(0, 60)}". ${meant}`
  }
  if (typeof data === 'function')
    return 'A policy must be an object, not a function. Call the preset: `presets.readOnly()`.'
  if (data instanceof Promise)
    return 'A policy must be an object, not a promise. Wait for it: `policy: await loadPolicy(file)`.'
  return typeof data === 'object' && data !== null && 'presets' in data
    ? 'Only a file has `presets`. In a program, list them beside it: `policy: [presets.noShell(), { … }]`.'
    : undefined
}

export const ruleVerdict = (rule: Rule): GuardVerdict =>
  rule.deny !== undefined ? 'deny' : rule.ask !== undefined ? 'ask' : 'allow'

/** Keys that restrict a rule to some calls. */
const NARROWING = ['effect', 'declares', 'when', 'after', 'moreThan', 'tainted'] as const

function checkRules(check: DataCheck, path: DataPath, data: unknown): void {
  if (!check.list(path, data)) return
  const usable: { readonly index: number; readonly rule: Rule }[] = []
  for (const [index, each] of data.entries()) {
    const before = check.problems.length
    checkRule(check, [...path, index], each)
    if (check.problems.length === before) usable.push({ index, rule: each as Rule })
  }
  const seen = new Map<string, number>()
  for (const [index, rule] of data.entries()) {
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

  // Reports rules that an earlier rule makes unreachable.
  const open: { readonly index: number; readonly names: Names }[] = []
  for (const { index, rule } of usable) {
    const names = rule[ruleVerdict(rule)] ?? []
    const before = open.find((each) => coversNames(each.names, names))
    if (before !== undefined)
      check.add(
        ['rules', index],
        `It is never reached: rule ${before.index + 1} decides every call of ${[before.names].flat().join(', ')}.`,
      )
    if (NARROWING.every((key) => rule[key] === undefined)) open.push({ index, names })
  }
}

function checkRule(check: DataCheck, path: DataPath, data: unknown): void {
  objectOf(RULE, 'A rule')(check, path, data)
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return
  const rule = data as Rule
  const verdicts = VERDICTS.filter((verdict) => rule[verdict] !== undefined)
  if (verdicts.length === 0)
    check.add(path, 'It decides nothing. List tools with allow, deny or ask.')
  if (verdicts.length > 1)
    check.add(path, `It has both ${verdicts.join(' and ')}. Write two rules.`)
  const { allow, after, moreThan, within, tainted } = rule
  if (typeof moreThan === 'number')
    whole(0, within === undefined ? 1e9 : LOOK_BACK_LIMIT)(check, [...path, 'moreThan'], moreThan)
  if (moreThan !== undefined && allow !== undefined)
    check.add([...path, 'moreThan'], 'It would allow a call only after many. Use deny or ask.')
  if (within !== undefined && after === undefined && moreThan === undefined)
    check.add([...path, 'within'], 'It needs `after` or `moreThan`.')
  if (tainted !== undefined && allow !== undefined)
    check.add(
      [...path, 'tainted'],
      'It would allow a call because of untrusted text. Use deny or ask.',
    )
}

/** Every tool name in rules, with its path. */
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

/** Reports names of tools that do not exist. Their rules and limits would not apply to any call. */
function checkTools(
  names: readonly { readonly name: string; readonly path: DataPath }[],
  tools: readonly string[],
): { readonly path: DataPath; readonly message: string }[] {
  return names.flatMap(({ name, path }) => {
    if (tools.some(nameTest(name))) return []
    const meant = closestName(name, tools)
    return { path, message: `There is no tool "${name}".${meant ? ` Is it "${meant}"?` : ''}` }
  })
}

function checkPath(check: DataCheck, at: DataPath, text: string): void {
  const problem = pathProblem(text)
  if (problem !== undefined) check.add(at, problem)
}
