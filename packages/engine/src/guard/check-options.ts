import { GuardError } from './guard-error.js'
import { guardErrors } from './guard-errors.js'
import { problemText } from './policy/check-policy.js'
import { DataCheck, kindOf, type PlainObject } from './policy/data-check.js'

const GUARD_OPTIONS = [
  'name',
  'policy',
  'dir',
  'durability',
  'limits',
  'approval',
  'resume',
  'inDoubt',
  'baseline',
  'onArgumentDrift',
  'signingKey',
]
const TOOL_OPTIONS = [
  'input',
  'output',
  'effects',
  'idempotent',
  'idempotencyKey',
  'reserve',
  'timeoutMs',
  'deadlineMs',
  'retries',
  'errors',
]
const EFFECTS = ['read', 'write', 'network', 'shell', 'spend']

/**
 * Throws at options that mean nothing: of a misspelt `policy` nothing would be
 * held. What stands in policies, limits and baselines is checked by those who read them.
 */
export function checkGuardOptions(data: unknown): void {
  const check = new DataCheck()
  const options = check.object([], data, 'What guard() takes', GUARD_OPTIONS)
  if (options !== undefined) {
    if (options['name'] === undefined) check.add([], 'It needs a `name`.')
    else check.text(['name'], options['name'], 'It')
    const { durability, approval, resume, inDoubt, onArgumentDrift } = options
    if (durability !== undefined) check.oneOf(['durability'], durability, ['disk', 'memory'])
    if (approval !== undefined) checkApproval(check, approval)
    if (resume !== undefined && typeof resume !== 'boolean' && typeof resume !== 'string')
      check.add(['resume'], `It is true, or the id or path of a run, not ${kindOf(resume)}.`)
    if (inDoubt !== undefined && typeof inDoubt !== 'function')
      check.oneOf(['inDoubt'], inDoubt, ['fail', 'retry', 'skip'])
    if (onArgumentDrift !== undefined) checkArgumentDrift(check, onArgumentDrift)
  }
  throwIfAny('guard()', check)
}

/** The same for the options of a tool. */
export function checkToolOptions(tool: string, data: unknown): void {
  const check = new DataCheck()
  const options = check.object([], data, 'What a tool is given', TOOL_OPTIONS)
  if (options !== undefined) {
    if (options['effects'] !== undefined) checkEffects(check, options['effects'])
    for (const name of ['timeoutMs', 'deadlineMs', 'retries'])
      if (options[name] !== undefined) check.count([name], options[name])
    const { idempotent, idempotencyKey } = options
    if (idempotent !== undefined && typeof idempotent !== 'boolean')
      check.add(['idempotent'], `It is true or false, not ${kindOf(idempotent)}.`)
    if (idempotencyKey !== undefined && typeof idempotencyKey !== 'function')
      check.add(
        ['idempotencyKey'],
        `It is a function of the arguments, not ${kindOf(idempotencyKey)}.`,
      )
  }
  throwIfAny(`tool "${tool}"`, check)
}

function checkApproval(check: DataCheck, data: unknown): void {
  if (typeof data === 'string' || typeof data === 'function') {
    const ask = typeof data === 'string' ? `'${data}'` : 'your function'
    return check.add(['approval'], `It is an object: \`approval: { ask: ${ask} }\`.`)
  }
  const approval = check.object(['approval'], data, 'It', ['ask', 'expiresMs', 'breakGlass'])
  if (approval === undefined) return
  const { ask, expiresMs, breakGlass } = approval
  if (ask !== undefined && typeof ask !== 'function')
    check.oneOf(['approval', 'ask'], ask, ['terminal', 'viewer', 'a function'])
  if (expiresMs !== undefined) check.count(['approval', 'expiresMs'], expiresMs)
  if (breakGlass !== undefined)
    check.object(['approval', 'breakGlass'], breakGlass, 'It', ['by', 'reason'])
}

function checkArgumentDrift(check: DataCheck, data: unknown): void {
  const path = ['onArgumentDrift']
  const drift: PlainObject | undefined = check.object(path, data, 'It', ['over', 'then'])
  if (drift === undefined) return
  check.number([...path, 'over'], drift['over'])
  check.oneOf([...path, 'then'], drift['then'], ['warn', 'ask', 'deny'])
}

function checkEffects(check: DataCheck, data: unknown): void {
  if (!check.list(['effects'], data, 'It')) return
  for (const [index, effect] of data.entries()) check.oneOf(['effects', index], effect, EFFECTS)
}

function throwIfAny(of: string, { problems }: DataCheck): void {
  if (problems.length > 0)
    throw new GuardError(guardErrors.optionsInvalid(of, problems.map(problemText)))
}
