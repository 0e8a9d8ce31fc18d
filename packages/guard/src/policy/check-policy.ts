import { closestName } from '@retake/engine/hook'
import { ArgumentVector } from '../bounds/shell-bounds.js'
import { hostPattern, ListedAddresses } from '../bounds/network-bounds.js'
import { checkLimits, type Limits } from '../limits/limits.js'
import {
  DataCheck,
  type DataPath,
  eachOf,
  type FieldRule,
  type FieldRules,
  type PolicyProblem,
} from '../data/data-check.js'
import type { Conditions, Earlier, Rule } from './policy.js'
import { pathProblem } from '../data/argument-path.js'
import { coversNames, type Names, nameTest, toolNameProblem } from '../data/name-pattern.js'
import { EFFECTS, ruleVerdict } from './compiled-rule.js'
import { LOOK_BACK_LIMIT } from './call-history.js'
import { patternProblem } from './linear-pattern.js'

export interface CheckPolicyOptions {
  readonly isFile?: boolean
  /** All tools of the programs that use the policy. Without it, rules may name any tool. */
  readonly tools?: readonly string[] | undefined
}

/** All problems of a policy. Does not check whether folders exist. */
export function checkPolicy(
  data: unknown,
  { isFile = false, tools }: CheckPolicyOptions = {},
): PolicyProblem[] {
  const check = new DataCheck()
  const hint = mistakenFor(data, isFile)
  if (hint !== undefined) return [{ path: [], message: hint }]
  const circle = findCircle(data)
  if (circle !== undefined) return [{ path: circle, message: 'It contains itself.' }]
  const policy = check.fields([], data, 'A policy', isFile ? POLICY_FILE : POLICY)
  if (policy === undefined) return check.problems
  if (policy['name'] === undefined) check.add([], 'It has no name; explanations say `name/rule`.')
  if (tools === undefined || check.problems.length > 0) return check.problems
  const { tools: limited = {} } = (policy['limits'] ?? {}) as Limits
  return [
    ...checkTools(namesInRules((policy['rules'] ?? []) as Rule[]), tools),
    ...checkTools(
      Object.keys(limited).map((name) => ({ name, path: ['limits', 'tools', name] })),
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

/** Path of a value that contains itself, which YAML aliases can cause. */
function findCircle(data: unknown): DataPath | undefined {
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
  return look(data, [])
}

function hostProblem(text: string): string | undefined {
  if (text.includes('://'))
    return `"${text}" is an address with a scheme; write the host, such as ${hostOf(text)}.`
  if (/[/?#@\s]/.test(text)) return `"${text}" is more than a host; leave out path and user.`
  return canBeRead(() => hostPattern(text))
    ? undefined
    : `"${text}" is not a host such as api.example.com, *.example.com or example.com:8443.`
}

const hostOf = (text: string): string => (URL.canParse(text) ? new URL(text).host : 'example.com')

const addressProblem = (text: string): string | undefined =>
  canBeRead(() => new ListedAddresses([text]))
    ? undefined
    : `"${text}" is not an address such as 127.0.0.1:5432, 10.1.0.0/16, [::1]:8080 or unix:/run/db.sock. Names belong under allow.`

function canBeRead(read: () => unknown): boolean {
  try {
    read()
    return true
  } catch {
    return false
  }
}

function checkCommands(check: DataCheck, path: DataPath, data: unknown): void {
  if (!check.list(path, data, 'What may be started')) return
  for (const [at, vector] of eachOf(path, data))
    if (typeof vector === 'string') {
      const words = vector.split(/\s+/).join(', ')
      check.add(at, `Write the program and its arguments as a list: [${words}].`)
    } else if (check.list(at, vector, 'A command')) checkVector(check, at, vector)
}

function checkVector(check: DataCheck, path: DataPath, vector: readonly unknown[]): void {
  const wrong = vector.findIndex((part) => typeof part !== 'string' || part.includes('\0'))
  if (wrong >= 0) return check.add([...path, wrong], 'It must be a string without null bytes.')
  const { mistake } = new ArgumentVector(vector as readonly string[])
  if (mistake !== undefined) check.add(path, `It cannot be used: ${mistake}.`)
}

const scope =
  (what: string, rules: FieldRules): FieldRule =>
  (check, path, data) =>
    void check.fields(path, data, what, rules)

/** Accepts a list of strings without problems. */
const texts =
  (what: string, problemOf: (text: string) => string | undefined): FieldRule =>
  (check, path, data) => {
    if (!check.list(path, data, `"${path.at(-1)}"`)) return
    for (const [at, each] of eachOf(path, data)) {
      const problem = check.text(at, each, what) ? problemOf(each) : undefined
      if (problem !== undefined) check.add(at, problem)
    }
  }

const folders = texts('A folder', (text) =>
  text.includes('\0') ? 'A folder has no null byte.' : undefined,
)

/** Keys that restrict a rule to some calls. */
const NARROWING = ['effect', 'declares', 'when', 'after', 'moreThan', 'tainted'] as const

function checkRules(check: DataCheck, path: DataPath, data: unknown): void {
  if (!check.list(path, data, 'It')) return
  const usable: { readonly index: number; readonly rule: Rule }[] = []
  for (const [index, each] of data.entries()) {
    const before = check.problems.length
    checkRule(check, [...path, index], each)
    if (check.problems.length === before) usable.push({ index, rule: each as Rule })
  }
  checkIds(check, data)
  checkReach(check, usable)
}

function checkRule(check: DataCheck, path: DataPath, data: unknown): void {
  const rule = check.fields(path, data, 'A rule', RULE)
  if (rule === undefined) return
  const verdicts = ['allow', 'deny', 'ask'].filter((key) => rule[key] !== undefined)
  if (verdicts.length === 0)
    check.add(path, 'It decides nothing. List tools with allow, deny or ask.')
  if (verdicts.length > 1)
    check.add(path, `It has both ${verdicts.join(' and ')}. Write two rules.`)
  const { allow, after, moreThan, within, tainted } = rule
  if (moreThan !== undefined)
    check.whole([...path, 'moreThan'], moreThan, 0, within === undefined ? 1e9 : LOOK_BACK_LIMIT)
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

/** Checks a name that becomes part of `policy/rule`. */
const checkName =
  (what: string): FieldRule =>
  (check, path, data) => {
    if (check.text(path, data, what) && /[\s/]/.test(data))
      check.add(path, `${what} has no spaces and no slash.`)
  }

/** Checks tool names. */
const checkTool = (check: DataCheck, path: DataPath, data: unknown): void =>
  check.texts(path, data, 'A tool', (at, name) => {
    const problem = toolNameProblem(name)
    if (problem !== undefined) check.add(at, problem)
  })

const someOf =
  (words: readonly string[]): FieldRule =>
  (check, path, data) => {
    const list = eachOf(path, data)
    if (list.length === 0) check.add(path, 'The list is empty.')
    for (const [at, each] of list) check.oneOf(at, each, words)
  }

const whole =
  (least: number, most: number): FieldRule =>
  (check, path, data) =>
    check.whole(path, data, least, most)

function checkAfter(check: DataCheck, path: DataPath, data: unknown): void {
  const list = eachOf(path, data)
  if (list.length === 0) check.add(path, 'The list is empty.')
  const rules = { tool: checkTool, effect: someOf(EFFECTS), when: checkWhen }
  for (const [at, each] of list) {
    const earlier = check.fields(at, each, 'An earlier call', rules)
    if (earlier !== undefined && Object.values(earlier).every((value) => value === undefined))
      check.add(at, 'It selects no calls. Use tool, effect or when.')
  }
}

function checkTaint(check: DataCheck, path: DataPath, data: unknown): void {
  if (typeof data === 'string' || Array.isArray(data)) return checkTool(check, path, data)
  const taint = check.fields(path, data, 'Taint', {
    from: checkTool,
    minLength: whole(4, 1000),
    in: (_, list, paths) =>
      check.texts(list, paths, 'A path', (at, text) => checkPath(check, at, text)),
  })
  if (taint !== undefined && taint['from'] === undefined)
    check.add(path, 'It does not name the untrusted tools. Use from.')
}

function checkPath(check: DataCheck, at: DataPath, text: string): void {
  const problem = pathProblem(text)
  if (problem !== undefined) check.add(at, problem)
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
    if (NARROWING.every((key) => rule[key] === undefined)) open.push({ index, names })
  }
}

function checkWhen(check: DataCheck, path: DataPath, data: unknown): void {
  const when = check.object(path, data, '`when`', undefined)
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
  const conditions = check.fields(path, data, 'A predicate', CONDITIONS)
  if (conditions === undefined) return
  const given = Object.keys(conditions).filter((name) => conditions[name] !== undefined)
  if (given.every((name) => name === 'ignoreCase')) check.add(path, 'It has no condition.')
}

const listed =
  (member: (check: DataCheck, path: DataPath, data: unknown) => void): FieldRule =>
  (check, path, data) => {
    if (!check.list(path, data, `"${path.at(-1)}"`)) return
    if (data.length === 0) check.add(path, 'The list is empty.')
    for (const [at, each] of eachOf(path, data)) member(check, at, each)
  }

const checkPart: FieldRule = (check, path, data) => {
  if (typeof data !== 'string' || data === '')
    check.add(path, 'It must be a string that is not empty.')
}

const CONDITIONS: Readonly<Record<keyof Conditions, FieldRule>> = {
  equals: 'any',
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
  type: someOf([
    'string',
    'number',
    'integer',
    'boolean',
    'null',
    'array',
    'object',
    'date',
    'bytes',
  ]),
  startsWith: checkPart,
  endsWith: checkPart,
  over: 'number',
  under: 'number',
  atLeast: 'number',
  atMost: 'number',
  longerThan: 'count',
  shorterThan: 'count',
  exists: 'flag',
  ignoreCase: 'flag',
  anyOf: listed(checkPredicate),
  allOf: listed(checkPredicate),
  noneOf: listed(checkPredicate),
}

const RULE: Readonly<Record<keyof Rule, FieldRule>> = {
  id: checkName('An id'),
  allow: checkTool,
  deny: checkTool,
  ask: checkTool,
  effect: someOf(EFFECTS),
  declares: someOf(EFFECTS),
  when: checkWhen,
  after: checkAfter,
  moreThan: 'any',
  tainted: checkTaint,
  within: whole(1, 1e9),
  because: 'text',
  instead: 'text',
  code: (check, path, data) => {
    if (typeof data !== 'string' || !/^[A-Z][A-Z0-9_]*$/.test(data))
      check.add(path, 'A code is written like REFUND_TOO_HIGH.')
  },
}

const POLICY: FieldRules = {
  name: checkName('A name'),
  default: ['allow', 'deny', 'ask'],
  rules: checkRules,
  files: scope('A file scope', { read: folders, write: folders }),
  network: scope('A network scope', {
    allow: texts('A host', hostProblem),
    addresses: texts('An address', addressProblem),
    methods: texts('A method', (text) =>
      /^[A-Z]+$/i.test(text) ? undefined : `"${text}" is not an HTTP method such as GET.`,
    ),
  }),
  shell: scope('A shell scope', {
    allow: checkCommands,
    env: texts('A variable', (text) =>
      /[=\0]/.test(text) ? 'It must be only the name of a variable.' : undefined,
    ),
  }),
  limits: (check, path, data) => checkLimits(check, data, path),
}

/** Only policy files have presets. The reader of the file replaces them by policies. */
const POLICY_FILE: FieldRules = { ...POLICY, presets: 'any' }
