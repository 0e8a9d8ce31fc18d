import { ArgumentVector } from '../bounds/shell-bounds.js'
import { hostPattern, ListedAddresses } from '../bounds/host-pattern.js'
import { checkLimits } from '../limits/limits.js'
import { checkRules, checkTools } from './check-rules.js'
import { DataCheck, type DataPath, eachOf, type PlainObject } from './data-check.js'
import type { Rule } from './policy.js'

/** Something wrong in a policy, and where in its data. */
export interface PolicyProblem {
  readonly path: DataPath
  readonly message: string
  /** The problem is the last key of the path, not its value. */
  readonly isKey?: boolean
}

export const problemText = ({ path, message }: PolicyProblem): string =>
  path.length === 0
    ? message
    : `${path
        .map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`))
        .join('')
        .replace(/^\./, '')}: ${message}`

const VERDICTS = ['allow', 'deny', 'ask']
const KEYS = ['name', 'default', 'rules', 'files', 'network', 'shell', 'limits']
/** In files only: their reader replaces it by policies. */
const PRESETS = 'presets'

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
  const policy = check.object([], data, 'A policy', isFile ? [...KEYS, PRESETS] : KEYS)
  if (policy === undefined) return check.problems
  if (policy['name'] === undefined) check.add([], 'It has no name; explanations say `name/rule`.')
  else if (check.text(['name'], policy['name'], 'A name') && /[\s/]/.test(policy['name']))
    check.add(['name'], 'A name has no spaces and no slash.')
  if (policy['default'] !== undefined) check.oneOf(['default'], policy['default'], VERDICTS)
  checkRules(check, policy['rules'])
  checkScopes(check, policy)
  if (policy['limits'] !== undefined) checkLimits(check, policy['limits'], ['limits'])
  if (tools === undefined || check.problems.length > 0) return check.problems
  return checkTools((policy['rules'] ?? []) as Rule[], tools)
}

/** Common mistakes, with the intended key. */
function mistakenFor(data: unknown, isFile: boolean): string | undefined {
  if (typeof data === 'string') {
    const meant = isFile
      ? 'A file names presets under `presets`.'
      : 'Read a file with `await loadPolicy(file)`; presets are functions, such as `presets.readOnly()`.'
    return `A policy is an object, not the text "${data.slice(0, 60)}". ${meant}`
  }
  if (typeof data === 'function')
    return 'A policy is an object, not a function. Call the preset: `presets.readOnly()`.'
  if (data instanceof Promise)
    return 'A policy is an object, not a promise. Wait for it: `policy: await loadPolicy(file)`.'
  return typeof data === 'object' && data !== null && PRESETS in data
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

function checkScopes(check: DataCheck, policy: PlainObject): void {
  const { files, network, shell } = policy
  if (files !== undefined) checkFiles(check, files)
  if (network !== undefined) checkNetwork(check, network)
  if (shell !== undefined) checkShell(check, shell)
}

function checkFiles(check: DataCheck, data: unknown): void {
  const scope = check.object(['files'], data, 'A file scope', ['read', 'write'])
  if (scope === undefined) return
  for (const key of ['read', 'write'])
    eachText(check, ['files', key], scope[key], 'A folder', (text) =>
      text.includes('\0') ? 'A folder has no null byte.' : undefined,
    )
}

function checkNetwork(check: DataCheck, data: unknown): void {
  const scope = check.object(['network'], data, 'A network scope', [
    'allow',
    'addresses',
    'methods',
  ])
  if (scope === undefined) return
  eachText(check, ['network', 'allow'], scope['allow'], 'A host', hostProblem)
  eachText(check, ['network', 'addresses'], scope['addresses'], 'An address', addressProblem)
  eachText(check, ['network', 'methods'], scope['methods'], 'A method', (text) =>
    /^[A-Z]+$/i.test(text) ? undefined : `"${text}" is not an HTTP method such as GET.`,
  )
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

function checkShell(check: DataCheck, data: unknown): void {
  const scope = check.object(['shell'], data, 'A shell scope', ['allow', 'env'])
  if (scope === undefined) return
  const { allow, env } = scope
  eachText(check, ['shell', 'env'], env, 'A variable', (text) =>
    /[=\0]/.test(text) ? 'It is only the name of a variable.' : undefined,
  )
  if (allow === undefined || !check.list(['shell', 'allow'], allow, 'What may be started')) return
  for (const [index, vector] of allow.entries()) {
    const path = ['shell', 'allow', index]
    if (typeof vector === 'string')
      check.add(
        path,
        `Write the program and its arguments as a list: [${vector.split(/\s+/).join(', ')}].`,
      )
    else if (check.list(path, vector, 'A command')) checkVector(check, path, vector)
  }
}

function checkVector(check: DataCheck, path: DataPath, vector: readonly unknown[]): void {
  const wrong = vector.findIndex((part) => typeof part !== 'string' || part.includes('\0'))
  if (wrong >= 0) {
    check.add([...path, wrong], 'It is a text without null bytes.')
    return
  }
  const { mistake } = new ArgumentVector(vector as readonly string[])
  if (mistake !== undefined) check.add(path, `It cannot be used: ${mistake}.`)
}

function eachText(
  check: DataCheck,
  path: DataPath,
  data: unknown,
  what: string,
  problemOf: (text: string) => string | undefined,
): void {
  if (data === undefined || !check.list(path, data, `"${String(path.at(-1))}"`)) return
  for (const [at, each] of eachOf(path, data)) {
    if (!check.text(at, each, what)) continue
    const problem = problemOf(each)
    if (problem !== undefined) check.add(at, problem)
  }
}
