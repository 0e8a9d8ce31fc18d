import {
  anything,
  atLeast,
  being,
  DataCheck,
  flag,
  kindOf,
  listWith,
  objectOf,
  oneWord,
  problemText,
  recordWith,
  type DataSchema,
  type TypeOfFields,
} from '@retake/engine/schema'
import { ARGUMENT_DRIFT, type Baseline } from './contract/baseline.js'
import { approvalSchema } from './approval/request-approval.js'
import type { GuardedToolOptions, SandboxedModule } from './contract/guarded-tool.js'
import { checkOptions } from './denials/check-options.js'
import { USAGE } from './limits/limits.js'
import { EFFECTS, type Policy } from './policy/policy.js'
import { TAPE_OPTIONS } from './resume/guard-tapes.js'

const GUARD_OPTIONS = {
  ...TAPE_OPTIONS,
  /** Decides which calls run. Of several policies, the strictest applies. Default: all calls run. */
  policy: anything<Policy | readonly Policy[]>(),
  /**
   * Names of all tools of the run. If set, a limit of any other tool is an error, and so is a rule
   * that denies or asks about it, and registering it.
   */
  tools: being<readonly string[]>(
    'a list of names',
    (value) => Array.isArray(value) && value.every((name) => typeof name === 'string'),
  ),
  /** Who decides about calls that match an `ask` rule. */
  approval: approvalSchema,
  /** The result of `baselineFrom(tapes)`, or its JSON. */
  baseline: anything<Baseline | string>(),
  /** Action for calls whose arguments differ from the baseline; default: only record the score. */
  onArgumentDrift: objectOf(ARGUMENT_DRIFT),
}

export type GuardOptions = TypeOfFields<typeof GUARD_OPTIONS>

/** Some schemas are functions. */
const isSchema = (value: unknown): boolean =>
  (typeof value === 'object' && value !== null) || typeof value === 'function'
const schema = being<never>('a schema', isSchema)
const callback = being<never>('a function of the arguments', (value) => typeof value === 'function')

/** The type is declared, because it depends on the arguments of the tool. */
const TOOL_OPTIONS: {
  readonly [Name in keyof (GuardedToolOptions<never> & SandboxedModule)]-?: DataSchema<never>
} = {
  input: schema,
  output: schema,
  effects: listWith(oneWord(...EFFECTS)) as DataSchema<never>,
  keyOrderMatters: flag as DataSchema<never>,
  idempotent: flag as DataSchema<never>,
  idempotencyKey: callback,
  reserve: (check, path, value) => {
    if (typeof value !== 'function') USAGE(check, path, value)
  },
  timeoutMs: atLeast(1) as DataSchema<never>,
  deadlineMs: atLeast(1) as DataSchema<never>,
  retries: atLeast(0) as DataSchema<never>,
  verify: callback,
  errors: recordWith(anything()) as DataSchema<never>,
  module: anything(),
  export: anything(),
  sandbox: anything(),
}

/** Throws for unknown options, because a misspelled `policy` would enforce nothing. */
export const checkGuardOptions = (data: unknown): void =>
  checkOptions('guard()', guardOptions, data)

const guardOptions: DataSchema<GuardOptions> = (check, path, data) => {
  objectOf(GUARD_OPTIONS, 'The options of guard()')(check, path, data)
  const { onArgumentDrift, baseline } = (data ?? {}) as Partial<GuardOptions>
  if (onArgumentDrift !== undefined && baseline === undefined)
    check.add(['onArgumentDrift'], 'It needs a `baseline` to compare with, and there is none.')
}

export const checkToolOptions = (tool: string, data: unknown): void =>
  checkOptions(`tool "${tool}"`, objectOf(TOOL_OPTIONS, 'The options of a tool'), data)

/** Checks the arguments of `guardTools`: a guard, the tools of a framework, and options. */
export function checkGuardTools(
  run: unknown,
  tools: unknown,
  as: 'a list' | 'an object' | 'a client',
  options: unknown,
  keys = ['tools', 'onDenied'],
): void {
  const { tool, call } = (run ?? {}) as { readonly tool?: unknown; readonly call?: unknown }
  const isGuard = typeof tool === 'function' && typeof call === 'function'
  const wanted = as === 'a client' ? as : `${as} of tools`
  checkOptions(
    'guardTools()',
    (check) => {
      if (!isGuard)
        check.add([], `The first argument must be a guard, made by guard(), not ${kindOf(run)}.`)
      else if (!isSchema(tools) || Array.isArray(tools) !== (as === 'a list'))
        check.add([], `The second argument must be ${wanted}, not ${kindOf(tools)}.`)
    },
    tools,
  )
  const fields = { tools: recordWith(anything()), onDenied: oneWord('tell', 'throw') }
  const known = Object.entries(fields).filter(([name]) => keys.includes(name))
  const others = keys.filter((name) => !Object.hasOwn(fields, name))
  checkOptions(
    'guardTools()',
    objectOf(
      Object.fromEntries([...known, ...others.map((name) => [name, anything()] as const)]),
      'The options of guardTools()',
    ),
    options,
  )
}

/** Problems in the options of a call. Any problem denies the call. */
export function callOptionProblems(data: unknown): readonly string[] {
  const check = new DataCheck()
  // Also accepts signals of other realms.
  const isSignal = (value: unknown): boolean =>
    value === null ||
    (typeof (value as AbortSignal).aborted === 'boolean' &&
      typeof (value as AbortSignal).addEventListener === 'function')
  const signal = being<AbortSignal>('an AbortSignal', isSignal)
  objectOf({ throws: flag, signal }, 'The options of a call')(check, [], data)
  return check.problems.map(problemText)
}
