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

/**
 * Everything that is wrong with a policy as data; nothing when it can be used. Looks at
 * the data alone: whether folders and tools exist, it does not ask.
 */
export function checkPolicy(data: unknown): PolicyProblem[] {
  const check = new DataCheck()
  const hint = mistakenFor(data)
  if (hint !== undefined) return [{ path: [], message: hint }]
  const policy = check.object([], data, 'A policy', [
    'name',
    'default',
    'rules',
    'files',
    'network',
    'shell',
    'limits',
  ])
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

/** What people hand in first, and what they meant. */
function mistakenFor(data: unknown): string | undefined {
  if (typeof data === 'string')
    return `A policy is an object, not the text "${data.slice(0, 60)}". Read a file with \`await loadPolicy(file)\`; presets are functions, such as \`presets.readOnly()\`.`
  if (typeof data === 'function')
    return 'A policy is an object, not a function. Call the preset: `presets.readOnly()`.'
  return data instanceof Promise
    ? 'A policy is an object, not a promise. Wait for it: `policy: await loadPolicy(file)`.'
    : undefined
}
