import { types } from 'node:util'
import { GuardError } from './guard-error.js'
import { guardErrors } from './guard-errors.js'
import { USAGE_FIELDS } from './limits/amount.js'
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
  'keyOrderMatters',
  'idempotent',
  'idempotencyKey',
  'reserve',
  'timeoutMs',
  'deadlineMs',
  'retries',
  'verify',
  'errors',
  'module',
  'export',
  'sandbox',
]
/** The longest delay of a timer. */
const LONGEST_EXPIRY_MS = 2 ** 31 - 1
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
    const { durability, approval, resume, inDoubt, dir, signingKey } = options
    const { baseline, onArgumentDrift } = options
    if (dir !== undefined) check.text(['dir'], dir, 'It')
    if (signingKey !== undefined && !isSigningKey(signingKey))
      check.add(
        ['signingKey'],
        'It is a private ed25519 key, as `createPrivateKey` of node:crypto reads it: nothing else signs a tape that can be verified.',
      )
    if (durability !== undefined) check.oneOf(['durability'], durability, ['disk', 'memory'])
    if (approval !== undefined) checkApproval(check, approval)
    if (resume !== undefined && typeof resume !== 'boolean' && typeof resume !== 'string')
      check.add(['resume'], `It is true, or the id or path of a run, not ${kindOf(resume)}.`)
    if (inDoubt !== undefined && typeof inDoubt !== 'function')
      check.oneOf(['inDoubt'], inDoubt, ['fail', 'retry', 'skip'])
    if (onArgumentDrift !== undefined) {
      checkArgumentDrift(check, onArgumentDrift)
      if (baseline === undefined)
        check.add(['onArgumentDrift'], 'It needs a `baseline` to compare with, and there is none.')
    }
  }
  throwIfAny('guard()', check)
}

/** The same for the options of a tool. */
export function checkToolOptions(tool: string, data: unknown): void {
  const check = new DataCheck()
  const options = check.object([], data, 'What a tool is given', TOOL_OPTIONS)
  if (options !== undefined) {
    if (options['effects'] !== undefined) checkEffects(check, options['effects'])
    for (const name of ['timeoutMs', 'deadlineMs'])
      if (options[name] !== undefined) check.count([name], options[name], 1)
    if (options['retries'] !== undefined) check.count(['retries'], options['retries'])
    for (const name of ['input', 'output'])
      if (options[name] !== undefined && !isObject(options[name]))
        check.add([name], `It is a schema, not ${kindOf(options[name])}.`)
    const { idempotencyKey, reserve, errors } = options
    if (reserve !== undefined && typeof reserve !== 'function') checkReserve(check, reserve)
    if (errors !== undefined) check.object(['errors'], errors, 'It', undefined)
    for (const name of ['idempotent', 'keyOrderMatters'])
      if (options[name] !== undefined && typeof options[name] !== 'boolean')
        check.add([name], `It is true or false, not ${kindOf(options[name])}.`)
    if (options['verify'] !== undefined && typeof options['verify'] !== 'function')
      check.add(['verify'], `It is a function of the arguments, not ${kindOf(options['verify'])}.`)
    if (idempotencyKey !== undefined && typeof idempotencyKey !== 'function')
      check.add(
        ['idempotencyKey'],
        `It is a function of the arguments, not ${kindOf(idempotencyKey)}.`,
      )
  }
  throwIfAny(`tool "${tool}"`, check)
}

/** The same for what `guardTools` of a framework takes. */
export function checkGuardToolsOptions(data: unknown, keys = ['tools', 'onDenied']): void {
  const check = new DataCheck()
  const options = check.object([], data, 'What guardTools() takes', keys)
  const { tools, onDenied } = options ?? {}
  if (tools !== undefined) check.object(['tools'], tools, 'It', undefined)
  if (onDenied !== undefined) check.oneOf(['onDenied'], onDenied, ['tell', 'throw'])
  throwIfAny('guardTools()', check)
}

/** The same for what comes before them: a guard, then tools as their framework has them. */
export function checkGuardToolsArguments(
  run: unknown,
  tools: unknown,
  as: 'a list' | 'an object' | 'a client',
): void {
  const check = new DataCheck()
  const { tool, call } = (run ?? {}) as { readonly tool?: unknown; readonly call?: unknown }
  if (typeof tool !== 'function' || typeof call !== 'function')
    check.add([], `First comes what guard() has made, not ${kindOf(run)}.`)
  else if (!isObject(tools) || Array.isArray(tools) !== (as === 'a list'))
    check.add(
      [],
      `After the guard ${as === 'a client' ? 'comes' : 'come the tools as'} ${as}, not ${kindOf(tools)}.`,
    )
  throwIfAny('guardTools()', check)
}

/** Problems in the options of one call; any of them denies the call. */
export function wrongCallOptions(data: unknown): readonly string[] {
  const check = new DataCheck()
  const options = check.object([], data, 'What a call is given', ['throws', 'signal'])
  const { throws, signal } = options ?? {}
  if (throws !== undefined && typeof throws !== 'boolean')
    check.add(['throws'], `It is true or false, not ${kindOf(throws)}.`)
  if (signal !== undefined && signal !== null && !isSignal(signal))
    check.add(['signal'], `It is an AbortSignal, not ${kindOf(signal)}.`)
  return check.problems.map(problemText)
}

/** One of another realm is one, too. */
const isSignal = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as AbortSignal).aborted === 'boolean' &&
  typeof (value as AbortSignal).addEventListener === 'function'

function checkApproval(check: DataCheck, data: unknown): void {
  if (typeof data === 'string' || typeof data === 'function') {
    const ask = typeof data === 'string' ? `'${data}'` : 'your function'
    return check.add(['approval'], `It is an object: \`approval: { ask: ${ask} }\`.`)
  }
  const approval = check.object(['approval'], data, 'It', [
    'ask',
    'keys',
    'expiresMs',
    'breakGlass',
  ])
  if (approval === undefined) return
  const { ask, expiresMs, breakGlass } = approval
  if (ask !== undefined && typeof ask !== 'function')
    check.oneOf(['approval', 'ask'], ask, ['terminal', 'viewer', 'a function'])
  if (approval['keys'] !== undefined && !isKeyList(approval['keys']))
    check.add(
      ['approval', 'keys'],
      'It is a list of public keys, as `retake approvals key` prints them.',
    )
  if (expiresMs !== undefined) check.count(['approval', 'expiresMs'], expiresMs)
  if (typeof expiresMs === 'number' && expiresMs > LONGEST_EXPIRY_MS)
    check.add(['approval', 'expiresMs'], 'An approval is good for 24 days at most.')
  if (breakGlass === undefined) return
  const glass = check.object(['approval', 'breakGlass'], breakGlass, 'It', ['by', 'reason'])
  for (const name of ['by', 'reason'])
    if (glass !== undefined && typeof glass[name] !== 'string')
      check.add(['approval', 'breakGlass', name], `It is a text, not ${kindOf(glass[name])}.`)
}

const isKeyList = (value: unknown): boolean =>
  Array.isArray(value) && value.every((key) => String(key).startsWith('-----BEGIN PUBLIC KEY-----'))

function checkReserve(check: DataCheck, data: unknown): void {
  const reserve = check.object(['reserve'], data, 'It', USAGE_FIELDS)
  for (const name of USAGE_FIELDS)
    if (reserve?.[name] !== undefined) check.count(['reserve', name], reserve[name])
}

/** Some schemas are functions. */
const isObject = (value: unknown): boolean =>
  (typeof value === 'object' && value !== null) || typeof value === 'function'

const isSigningKey = (value: unknown): boolean =>
  types.isKeyObject(value) && value.type === 'private' && value.asymmetricKeyType === 'ed25519'

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
