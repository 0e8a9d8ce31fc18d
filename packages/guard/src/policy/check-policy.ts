import { ArgumentVector } from '../bounds/shell-bounds.js'
import { hostPattern, ListedAddresses } from '../bounds/host-pattern.js'
import { checkLimits } from '../limits/limits.js'
import { checkName, checkRules, checkTools } from './check-rules.js'
import {
  DataCheck,
  type DataPath,
  eachOf,
  type FieldRule,
  type FieldRules,
  type PolicyProblem,
} from './data-check.js'
import type { Rule } from './policy.js'

export interface CheckPolicyOptions {
  readonly isFile?: boolean
  /** All tools of the programs that use the policy. Without it, rules may name any. */
  readonly tools?: readonly string[] | undefined
}

/** All problems of a policy as data. Does not check whether folders exist. */
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
  return checkTools((policy['rules'] ?? []) as Rule[], tools)
}

/** Common mistakes, with the intended key. */
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

/** Path of a value that contains itself, which aliases in a file can cause. */
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

/** Argument vectors of programs. */
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

/** A list of texts that have no problem. */
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

/** Only files have presets: their reader replaces them by policies. */
const POLICY_FILE: FieldRules = { ...POLICY, presets: 'any' }
