import type { Denial } from './guard-error.js'

/** Refusals that come neither from a rule nor from a scope. */
export const guardErrors = {
  ruleToolUnknown: (name: string, policy: string, meant?: string): Denial => ({
    code: 'RULE_TOOL_UNKNOWN',
    rule: policy,
    what: `Policy "${policy}" has a rule for "${name}", but there is no such tool.`,
    why: `${meant ? `There is "${meant}". ` : ''}A misspelt rule would not apply to any call.`,
    allowed: meant
      ? `Write "${meant}" in the policy, or remove the rule.`
      : 'Correct or remove the rule. If other programs have this tool, give each program its own policy.',
  }),
  argumentsWithPrototype: (tool: string): Denial => ({
    code: 'ARGUMENTS_PROTOTYPE',
    rule: 'guard',
    what: `The arguments of "${tool}" have a key "__proto__".`,
    why: 'Rules would check other values than a tool that copies the arguments.',
    allowed: 'Omit the key.',
  }),
  sandboxMissing: (tool: string, why: string): Denial => ({
    code: 'SANDBOX_MISSING',
    rule: 'guard',
    what: `The tool "${tool}" was not registered, because it needs a sandbox.`,
    why: `There is no sandbox: ${why}.`,
    allowed:
      "Install bubblewrap, or set sandbox: 'best-effort' to run it under Node's permission model, which is weaker.",
  }),
  sandboxFailed: (tool: string, exit: string, printed: string): Denial => ({
    code: 'SANDBOX_FAILED',
    rule: 'guard',
    what: `The process of the tool "${tool}" ended with ${exit} before its module was loaded.`,
    why:
      printed.trim() === ''
        ? 'It printed no error.'
        : `It printed: ${printed.trim().slice(0, 2000)}`,
    allowed:
      'Check that the module can be loaded by itself. List folders it loads in sandbox.code, and variables it needs in sandbox.env.',
  }),
  unknownTool: (tool: string, known: readonly string[]): Denial => ({
    code: 'GUARD_UNKNOWN_TOOL',
    rule: 'guard/tools',
    what: `There is no tool "${tool}".`,
    why: known.length === 0 ? 'This guard has no tools.' : `The tools are ${known.join(', ')}.`,
    allowed: 'Register it with run.tool(name, function), or call another tool.',
  }),
  argumentsNotRecordable: (tool: string, path: string, what: string): Denial => ({
    code: 'GUARD_ARGUMENTS_NOT_RECORDABLE',
    rule: 'guard/arguments',
    what: `The arguments of "${tool}" contain ${what}${path === '' ? '' : ` (at ${path})`}.`,
    why: 'Calls are checked, recorded and compared by their arguments, so these must be data.',
    allowed: 'Pass plain data: objects, arrays, strings, numbers, dates, maps, sets or bytes.',
  }),
  argumentsTooLarge: (what: string, tool?: string): Denial => ({
    code: 'GUARD_ARGUMENTS_TOO_LARGE',
    rule: 'guard/arguments',
    what: `The arguments${tool === undefined ? '' : ` of "${tool}"`} contain ${what}.`,
    why: 'That is more than a guard checks.',
    allowed: 'Write large data to a file that the tool may read, and pass its path.',
  }),
  resultNotRecordable: (tool: string, what: string): Denial => ({
    code: 'GUARD_RESULT_NOT_RECORDABLE',
    rule: 'guard/result',
    what: `Tool "${tool}" returned ${what}.`,
    why: 'Results are recorded, so they must be data. The tool has run.',
    allowed: 'Return plain data. Read a stream or an iterator to its end inside the tool.',
  }),
  threwNoError: (tool: string, what: string): Denial => ({
    code: 'GUARD_TOOL_THREW_NO_ERROR',
    rule: 'guard/result',
    what: `Tool "${tool}" threw ${what}, which is not an error.`,
    why: 'Only errors have a message and a stack.',
    allowed: 'Throw an Error. The thrown value is the cause of this error.',
  }),
  tooDeep: (tool: string, depth: number): Denial => ({
    code: 'GUARD_TOO_DEEP',
    rule: 'guard/call',
    what: `Tool "${tool}" was called inside ${depth} other guarded calls.`,
    why: 'Endless recursion would exhaust the machine.',
    allowed: 'End the recursion earlier, or do the work in one call.',
  }),
  toolTwice: (tool: string): Denial => ({
    code: 'GUARD_TOOL_TWICE',
    rule: 'guard/tools',
    what: `There already is a tool "${tool}".`,
    why: 'Rules, resumed runs and the tape identify a tool by its name.',
    allowed: 'Give it another name.',
  }),
  toolNotListed: (tool: string, listed: readonly string[]): Denial => ({
    code: 'GUARD_TOOL_NOT_LISTED',
    rule: 'guard/tools',
    what: `"${tool}" is not among the \`tools\` of the guard.`,
    why: `The list is ${listed.join(', ') || 'empty'}. Rules were checked against it.`,
    allowed: 'Add it to `tools` of guard(), or leave `tools` out.',
  }),
  toolNotFunction: (tool: unknown): Denial => ({
    code: 'GUARD_TOOL_NOT_FUNCTION',
    rule: 'guard/tools',
    what:
      typeof tool === 'string' ? `The tool "${tool}" is not a function.` : 'A tool has no name.',
    why: 'A guard identifies a tool by its name, and calls it as a function.',
    allowed: 'Register it with run.tool(name, function), or run.wrap(function) if it has a name.',
  }),
  optionsInvalid: (of: string, problems: readonly string[]): Denial => ({
    code: 'GUARD_OPTIONS_INVALID',
    rule: 'guard/options',
    what: `The options of ${of} are not valid. ${problems.join(' ')}`,
    why: 'An option without effect could let calls pass that it should stop.',
    allowed: 'Correct the options.',
  }),
  ended: (guard: string, tool: string): Denial => ({
    code: 'GUARD_ENDED',
    rule: 'guard/call',
    what: `Tool "${tool}" was called after guard "${guard}" had ended.`,
    why: 'Its tape is sealed, so the call cannot be recorded.',
    allowed: 'Call run.end() after the last call, or create a new guard.',
  }),
  broken: (tool: string, where: string): Denial => ({
    code: 'GUARD_BROKEN',
    rule: 'guard/call',
    what: `The call of "${tool}" failed in the guard itself: ${where}.`,
    why: 'Code that was passed to the guard threw the error that is the cause of this one.',
    allowed: 'Fix the cause. Until then, such calls are refused.',
  }),
  functionWithoutName: (): Denial => ({
    code: 'GUARD_FUNCTION_WITHOUT_NAME',
    rule: 'guard/tools',
    what: 'A function without a name cannot be guarded.',
    why: 'Rules, limits and the tape identify tools by their names.',
    allowed: 'Name it: run.wrap(function, { name: "refund" }).',
  }),
  ownFiles: (what: string, of: string): Denial => ({
    code: 'GUARD_OWN_FILES',
    rule: 'guard/own-files',
    what,
    why: `It belongs to ${of}, which no guarded tool may use, whatever its scope allows.`,
    allowed: 'Use different folders for the work of tools and for tapes.',
  }),
  processEnd: (kind: 'exit' | 'signal', tool: string, how: string): Denial => ({
    code: kind === 'exit' ? 'PROCESS_EXIT' : 'PROCESS_SIGNAL',
    rule: 'guard/process',
    what: `Tool "${tool}" tried to end or signal the process it runs in (${how}).`,
    why: 'A tool may end its call, never the program.',
    allowed: 'Throw an error instead.',
  }),
  callOver: (tool: string): Denial => ({
    code: 'GUARD_CALL_OVER',
    rule: 'guard/call',
    what: `Tool "${tool}" continued after its call was over.`,
    why: 'Once a call has a result or was given up, its tool may do nothing more.',
    allowed: 'Wait for everything that the tool starts before it returns.',
  }),
}
