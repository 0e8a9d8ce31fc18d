import { checkLimits } from '../limits/check-limits.js'
import { checkRules } from './check-rules.js'
import { checkScopes } from './check-scopes.js'
import { DataCheck } from './data-check.js'

/** Something wrong in a policy, and where in its data. */
export interface PolicyProblem {
  readonly path: readonly (string | number)[]
  readonly message: string
  /** The problem is the last key of the path itself, not what stands there. */
  readonly isKey?: boolean
}

/** Where and what, in one line. */
export const problemText = ({ path, message }: PolicyProblem): string =>
  path.length === 0
    ? message
    : `${path
        .map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`))
        .join('')
        .replace(/^\./, '')}: ${message}`

const VERDICTS = ['allow', 'deny', 'ask']
const KEYS = ['name', 'default', 'rules', 'files', 'network', 'shell', 'limits']
/** Only files have it: whoever reads one puts policies in its place. */
const PRESETS = 'presets'

/**
 * Everything that is wrong with a policy as data; nothing when it can be used. Looks at
 * the data alone: whether folders and tools exist, it does not ask. In a file, other
 * things are meant by mistakes than in a program.
 */
export function checkPolicy(data: unknown, { isFile = false } = {}): PolicyProblem[] {
  const check = new DataCheck()
  const hint = mistakenFor(data, isFile)
  if (hint !== undefined) return [{ path: [], message: hint }]
  const circle = findCircle(data)
  if (circle !== undefined) return [{ path: circle, message: 'It holds itself; write it out.' }]
  const policy = check.object([], data, 'A policy', isFile ? [...KEYS, PRESETS] : KEYS)
  if (policy === undefined) return check.problems
  if (policy['name'] === undefined) check.add([], 'It has no name; explanations say `name/rule`.')
  else if (check.text(['name'], policy['name'], 'A name') && /[\s/]/.test(policy['name']))
    check.add(['name'], 'A name has no spaces and no slash.')
  if (policy['default'] !== undefined) check.oneOf(['default'], policy['default'], VERDICTS)
  checkRules(check, policy['rules'])
  checkScopes(check, policy)
  if (policy['limits'] !== undefined) checkLimits(check, policy['limits'], ['limits'])
  return check.problems
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
    ? 'Only a file names `presets`. In a program they stand beside it: `policy: [presets.noShell(), { … }]`.'
    : undefined
}

type Path = readonly (string | number)[]

/** Where data holds something that it is inside of, as aliases in a file can make it; undefined where it is a tree. */
function findCircle(data: unknown): Path | undefined {
  const around = new Set<object>()
  const whole = new Set<object>()
  const look = (value: unknown, path: Path): Path | undefined => {
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
