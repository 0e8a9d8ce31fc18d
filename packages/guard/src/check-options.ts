import { types } from 'node:util'
import { isRedactRule } from '@retake/engine/hook'
import { USAGE_RULES } from './limits/limits.js'
import { EFFECTS } from './policy/compiled-rule.js'
import {
  DataCheck,
  type DataPath,
  eachOf,
  type FieldRule,
  type FieldRules,
  kindOf,
  problemText,
} from './data/data-check.js'

const LONGEST_EXPIRY_MS = 2 ** 31 - 1

/** Accepts values that pass a test. `what` says what the value must be. */
const only =
  (isRight: (value: unknown) => boolean, what: string): FieldRule =>
  (check, path, value) => {
    if (!isRight(value))
      check.add(path, what.includes('.') ? what : `${what}, not ${kindOf(value)}.`)
  }

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null
/** Some schemas are functions. */
const schema = only(
  (value) => isObject(value) || typeof value === 'function',
  'It must be a schema',
)

const GUARD_OPTIONS: FieldRules = {
  name: 'text',
  policy: 'any',
  tools: only(
    (value) => Array.isArray(value) && value.every((name) => typeof name === 'string'),
    'It must be a list of names',
  ),
  dir: 'text',
  durability: ['machine', 'process'],
  limits: 'any',
  approval: checkApproval,
  resume: only(
    (value) => typeof value === 'boolean' || typeof value === 'string',
    'It must be true, or the id or path of a run',
  ),
  inDoubt: (check, path, value) => {
    if (typeof value !== 'function') check.oneOf(path, value, ['fail', 'retry', 'skip'])
  },
  baseline: 'any',
  redact: only(
    (value) => Array.isArray(value) && value.every(isRedactRule),
    'It must be a list of names, expressions and functions',
  ),
  onArgumentDrift: (check, path, value) => {
    const drift = check.object(path, value, 'It', ['over', 'then'])
    if (drift === undefined) return
    check.number([...path, 'over'], drift['over'])
    check.oneOf([...path, 'then'], drift['then'], ['warn', 'ask', 'deny'])
  },
  signingKey: only(
    (value) =>
      types.isKeyObject(value) && value.type === 'private' && value.asymmetricKeyType === 'ed25519',
    'It must be a private ed25519 key, as returned by `createPrivateKey` of node:crypto.',
  ),
}

const TOOL_OPTIONS: FieldRules = {
  input: schema,
  output: schema,
  effects: (check, path, value) => {
    if (!check.list(path, value, 'It')) return
    for (const [at, each] of eachOf(path, value)) check.oneOf(at, each, EFFECTS)
  },
  keyOrderMatters: 'flag',
  idempotent: 'flag',
  idempotencyKey: 'function',
  reserve: (check, path, value) => {
    if (typeof value !== 'function') check.fields(path, value, 'It', USAGE_RULES)
  },
  timeoutMs: 'positive',
  deadlineMs: 'positive',
  retries: 'count',
  verify: 'function',
  errors: (check, path, value) => void check.object(path, value, 'It', undefined),
  module: 'any',
  export: 'any',
  sandbox: 'any',
}

/** Throws for unknown options, because a misspelled `policy` would enforce nothing. */
export function checkGuardOptions(data: unknown): void {
  const check = new DataCheck()
  const options = check.fields([], data, 'The options of guard()', GUARD_OPTIONS)
  if (options !== undefined && options['name'] === undefined) check.add([], 'It needs a `name`.')
  if (options?.['onArgumentDrift'] !== undefined && options['baseline'] === undefined)
    check.add(['onArgumentDrift'], 'It needs a `baseline` to compare with, and there is none.')
  check.throwIfAny('guard()')
}

export function checkToolOptions(tool: string, data: unknown): void {
  const check = new DataCheck()
  check.fields([], data, 'The options of a tool', TOOL_OPTIONS)
  check.throwIfAny(`tool "${tool}"`)
}

/** Checks the arguments of `guardTools`: a guard, the tools of a framework, and options. */
export function checkGuardTools(
  run: unknown,
  tools: unknown,
  as: 'a list' | 'an object' | 'a client',
  options: unknown,
  keys = ['tools', 'onDenied'],
): void {
  const check = new DataCheck()
  const { tool, call } = (run ?? {}) as { readonly tool?: unknown; readonly call?: unknown }
  const isGiven = isObject(tools) || typeof tools === 'function'
  if (typeof tool !== 'function' || typeof call !== 'function')
    check.add([], `The first argument must be a guard, made by guard(), not ${kindOf(run)}.`)
  else if (!isGiven || Array.isArray(tools) !== (as === 'a list')) {
    const wanted = as === 'a client' ? as : `${as} of tools`
    check.add([], `The second argument must be ${wanted}, not ${kindOf(tools)}.`)
  }
  check.throwIfAny('guardTools()')
  const given = check.object([], options, 'The options of guardTools()', keys) ?? {}
  if (given['tools'] !== undefined) check.object(['tools'], given['tools'], 'It', undefined)
  if (given['onDenied'] !== undefined)
    check.oneOf(['onDenied'], given['onDenied'], ['tell', 'throw'])
  check.throwIfAny('guardTools()')
}

/** Problems in the options of a call. Any problem denies the call. */
export function callOptionProblems(data: unknown): readonly string[] {
  const check = new DataCheck()
  check.fields([], data, 'The options of a call', {
    throws: 'flag',
    signal: only((value) => value === null || isSignal(value), 'It must be an AbortSignal'),
  })
  return check.problems.map(problemText)
}

/** Also accepts signals of other realms. */
const isSignal = (value: unknown): boolean =>
  typeof (value as AbortSignal | undefined)?.aborted === 'boolean' &&
  typeof (value as AbortSignal).addEventListener === 'function'

function checkApproval(check: DataCheck, path: DataPath, data: unknown): void {
  if (typeof data === 'string' || typeof data === 'function') {
    const ask = typeof data === 'string' ? `'${data}'` : 'your function'
    return check.add(path, `It must be an object: \`approval: { ask: ${ask} }\`.`)
  }
  const approval = check.fields(path, data, 'It', {
    ask: (_, at, value) => {
      if (typeof value !== 'function')
        check.oneOf(at, value, ['terminal', 'viewer', 'team', 'a function'])
    },
    keys: only(
      isKeyList,
      'It must be a list of public keys, as `retake guard approvals key` prints them.',
    ),
    expiresMs: 'count',
    breakGlass: (_, at, value) => {
      const glass = check.object(at, value, 'It', ['by', 'reason'])
      for (const key of glass === undefined ? [] : ['by', 'reason'])
        if (typeof glass?.[key] !== 'string')
          check.add([...at, key], `It must be a string, not ${kindOf(glass?.[key])}.`)
    },
  })
  if (Number(approval?.['expiresMs']) > LONGEST_EXPIRY_MS)
    check.add([...path, 'expiresMs'], 'An approval is valid for 24 days at most.')
}

const isKeyList = (value: unknown): boolean =>
  Array.isArray(value) && value.every((key) => String(key).startsWith('-----BEGIN PUBLIC KEY-----'))
