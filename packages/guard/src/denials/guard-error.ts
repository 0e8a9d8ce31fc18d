import type { ExitReason } from '@retake/tape/guards'
import { RetakeError } from '@retake/engine/hook'

/** Why an action is not allowed, and an alternative. */
export interface Denial {
  readonly code: string
  /** The rule or scope that decided, as `policy/rule`. */
  readonly rule: string
  /** A sentence about the refused action. */
  readonly what: string
  readonly why: string
  /** An alternative that would be allowed. */
  readonly allowed: string
  /** Set when a limit decided. */
  readonly exitReason?: ExitReason
  /** Values in the sentences of a scope: what the tool tried to touch. */
  readonly fields?: DenialFields
}

export type DenialFields = Readonly<Record<string, string | number>>

type DenialText = readonly [
  rule: string,
  what: string,
  why: string,
  allowed: string,
  exitReason?: ExitReason,
]

/** Converts a table of texts by code to a table of functions that create denials. */
export function denialTable<
  Table extends Readonly<Record<string, (...values: never[]) => DenialText>>,
>(
  table: Table,
): { readonly [Code in keyof Table]: (...values: Parameters<Table[Code]>) => Denial } {
  const factories = Object.entries(table).map(([code, text]) => [
    code,
    (...values: never[]): Denial => {
      const [rule, what, why, allowed, exitReason] = text(...values)
      return { code, rule, what, why, allowed, ...(exitReason && { exitReason }) }
    },
  ])
  return Object.fromEntries(factories) as ReturnType<typeof denialTable<Table>>
}

export const notStarted = (tool: string): string => `Tool "${tool}" was not started.`

/** Thrown for a guarded call that a policy, contract, limit or missing approval stopped. */
export class GuardError extends RetakeError {
  override readonly name = 'GuardError'
  readonly rule: string
  readonly exitReason: ExitReason | undefined
  declare readonly fields?: DenialFields

  constructor(denial: Denial, options?: ErrorOptions) {
    super(denial.code, denial.what, denial.why, denial.allowed, options)
    this.rule = denial.rule
    this.exitReason = denial.exitReason
    if (denial.fields) this.fields = denial.fields
  }

  /** An alternative that would be allowed. */
  get allowed(): string {
    return this.fix
  }

  get denial(): Denial {
    const { code, rule, what, why, fix: allowed, exitReason, fields } = this
    return {
      code,
      rule,
      what,
      why,
      allowed,
      ...(exitReason && { exitReason }),
      ...(fields && { fields }),
    }
  }
}

/** Denials that come neither from a rule nor from a scope. */
export const guardErrors = denialTable({
  RULE_TOOL_UNKNOWN: (name: string, policy: string, meant?: string) => [
    policy,
    `"${policy}" has a rule or a limit for "${name}", but there is no such tool.`,
    `${meant ? `There is "${meant}". ` : ''}A misspelled rule or limit would not apply to any call.`,
    'Correct or remove it. If other programs have this tool, give each program its own policy.',
  ],
  ARGUMENTS_PROTOTYPE: (tool: string) => [
    'guard',
    `The arguments of "${tool}" have a key "__proto__".`,
    'A tool that copies its arguments would see other values than the rules checked.',
    'Omit the key.',
  ],
  SANDBOX_MISSING: (tool: string, why: string) => [
    'guard',
    `The tool "${tool}" was not registered, because it needs a sandbox.`,
    `There is no sandbox: ${why}.`,
    "Install bubblewrap, or set sandbox: 'best-effort' to run it under Node's permission model, which is weaker.",
  ],
  SANDBOX_FAILED: (tool: string, exit: string, printed: string) => [
    'guard',
    `The process of the tool "${tool}" ended with ${exit} before its module was loaded.`,
    `It printed: ${printed.trim().slice(0, 2000) || '(nothing)'}`,
    'Check that the module can be loaded by itself. List folders it loads in sandbox.code, and variables it needs in sandbox.env.',
  ],
  GUARD_UNKNOWN_TOOL: (tool: string, known: readonly string[]) => [
    'guard/tools',
    `There is no tool "${tool}".`,
    `The tools are ${known.join(', ') || 'not registered yet'}.`,
    'Register it with run.tool(name, function), or call another tool.',
  ],
  GUARD_ARGUMENTS_NOT_RECORDABLE: (tool: string, path: string, what: string) => [
    'guard/arguments',
    `The arguments of "${tool}" contain ${what}${path === '' ? '' : ` (at ${path})`}.`,
    'Calls are checked, recorded and compared by their arguments, so these must be data.',
    'Pass plain data: objects, arrays, strings, numbers, dates, maps, sets or bytes.',
  ],
  GUARD_ARGUMENTS_TOO_LARGE: (what: string, tool?: string) => [
    'guard/arguments',
    `The arguments${tool === undefined ? '' : ` of "${tool}"`} contain ${what}.`,
    'A guard refuses arguments that are too large to check.',
    'Write large data to a file that the tool may read, and pass its path.',
  ],
  GUARD_RESULT_NOT_RECORDABLE: (tool: string, what: string) => [
    'guard/result',
    `Tool "${tool}" returned ${what}.`,
    'Results are recorded, so they must be data. The tool has run.',
    'Return plain data. Read a stream or an iterator to its end inside the tool.',
  ],
  GUARD_TOOL_THREW_NO_ERROR: (tool: string, what: string) => [
    'guard/result',
    `Tool "${tool}" threw ${what}, which is not an error.`,
    'Only errors have a message and a stack.',
    'Throw an Error. The thrown value is the cause of this error.',
  ],
  GUARD_TOO_DEEP: (tool: string, depth: number) => [
    'guard/call',
    `Tool "${tool}" was called inside ${depth} other guarded calls.`,
    'Endless recursion would exhaust the machine.',
    'End the recursion earlier, or do the work in one call.',
  ],
  GUARD_TOOL_TWICE: (tool: string) => [
    'guard/tools',
    `A tool named "${tool}" already exists.`,
    'Rules, resumed runs and the tape identify a tool by its name.',
    'Give it another name.',
  ],
  GUARD_TOOL_NOT_LISTED: (tool: string, listed: readonly string[]) => [
    'guard/tools',
    `"${tool}" is not in the \`tools\` of the guard.`,
    `The list is ${listed.join(', ') || 'empty'}. Rules were checked against it.`,
    'Add it to `tools` of guard(), or leave `tools` out.',
  ],
  GUARD_TOOL_WITHOUT_NAME: () => [
    'guard/tools',
    'A tool has no name.',
    'Rules, resumed runs and the tape identify a tool by its name.',
    'Register it with run.tool(name, function), or run.wrap(function) if it has a name.',
  ],
  GUARD_TOOL_NOT_FUNCTION: (tool: string) => [
    'guard/tools',
    `The tool "${tool}" is not a function.`,
    'A guard identifies a tool by its name, and calls it as a function.',
    'Register it with run.tool(name, function), or run.wrap(function) if it has a name.',
  ],
  GUARD_OPTIONS_INVALID: (of: string, problems: readonly string[]) => [
    'guard/options',
    `The options of ${of} are not valid. ${problems.join(' ')}`,
    'An option without effect could allow calls that it should stop.',
    'Correct the options.',
  ],
  GUARD_ENDED: (guard: string, tool: string) => [
    'guard/call',
    `Tool "${tool}" was called after guard "${guard}" had ended.`,
    'Its tape is sealed, so the call cannot be recorded.',
    'Call run.end() after the last call, or create a new guard.',
  ],
  GUARD_BROKEN: (tool: string, where: string) => [
    'guard/call',
    `The call of "${tool}" failed in the guard itself: ${where}.`,
    'Code that you passed to the guard threw the error in `cause`.',
    'Fix the cause. Until then, such calls are refused.',
  ],
  GUARD_FUNCTION_WITHOUT_NAME: () => [
    'guard/tools',
    'A function without a name cannot be guarded.',
    'Rules, limits and the tape identify tools by their names.',
    'Name it: run.wrap(function, { name: "refund" }).',
  ],
  GUARD_OWN_FILES: (what: string, owner: string) => [
    'guard/own-files',
    what,
    `It belongs to ${owner}, which no guarded tool may use, whatever its scope allows.`,
    'Keep tapes in a folder that tools do not use.',
  ],
  GUARD_CALL_OVER: (tool: string) => [
    'guard/call',
    `Tool "${tool}" continued after its call was over.`,
    'After a call has a result or was aborted, its tool may do nothing more.',
    'Wait for everything that the tool starts before it returns.',
  ],
})
