import { checkLimits } from './check-limits.js'
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
  checkLimits(check, policy['limits'])
  return check.problems
}
