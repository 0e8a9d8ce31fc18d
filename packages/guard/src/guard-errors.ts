import type { Denial } from './guard-error.js'

/** Every refusal that is not a rule's or a scope's own. Each code has a page in docs/errors. */
export const guardErrors = {
  ruleMisspelt: (name: string, policy: string, meant: string): Denial => ({
    code: 'RULE_TOOL_UNKNOWN',
    rule: policy,
    what: `Policy "${policy}" has a rule about "${name}", and there is no such tool.`,
    why: `There is "${meant}". A misspelt rule would let every call of it through.`,
    allowed: `Write "${meant}" in the policy, or remove the rule.`,
  }),
  argumentsWithPrototype: (tool: string): Denial => ({
    code: 'ARGUMENTS_PROTOTYPE',
    rule: 'guard',
    what: `The arguments of "${tool}" have a key "__proto__".`,
    why: 'Rules would look at other values than a tool that copies the arguments.',
    allowed: 'Leave the key out.',
  }),
  sandboxMissing: (tool: string, why: string): Denial => ({
    code: 'SANDBOX_MISSING',
    rule: 'guard',
    what: `The tool "${tool}" was not registered: it needs a sandbox.`,
    why: `There is none here: ${why}.`,
    allowed:
      "Install bubblewrap, or set sandbox: 'best-effort' to run it under Node's permission model, which is weaker.",
  }),
  sandboxFailed: (tool: string, exit: string, printed: string): Denial => ({
    code: 'SANDBOX_FAILED',
    rule: 'guard',
    what: `The process of the tool "${tool}" ended with ${exit} before it had loaded its module.`,
    why:
      printed.trim() === ''
        ? 'It printed no error.'
        : `It printed: ${printed.trim().slice(0, 2000)}`,
    allowed:
      'Check that the module loads in a process of its own. List folders it loads in sandbox.code, and variables it needs in sandbox.env.',
  }),
  unknownTool: (tool: string, known: readonly string[]): Denial => ({
    code: 'GUARD_UNKNOWN_TOOL',
    rule: 'guard/tools',
    what: `There is no tool "${tool}".`,
    why: known.length === 0 ? 'This guard has no tools.' : `The guard knows ${known.join(', ')}.`,
    allowed: 'Register it with run.tool(name, function), or call one that is there.',
  }),
  argumentsNotRecordable: (tool: string, path: string, what: string): Denial => ({
    code: 'GUARD_ARGUMENTS_NOT_RECORDABLE',
    rule: 'guard/arguments',
    what: `The arguments of "${tool}" hold ${what}${path === '' ? '' : ` (at ${path})`}.`,
    why: 'A call is judged, stored and repeated by its arguments, so all of them must be data.',
    allowed: 'Pass plain data: objects, arrays, strings, numbers, dates, maps, sets or bytes.',
  }),
  argumentsTooLarge: (what: string, tool?: string): Denial => ({
    code: 'GUARD_ARGUMENTS_TOO_LARGE',
    rule: 'guard/arguments',
    what: `The arguments${tool === undefined ? '' : ` of "${tool}"`} hold ${what}.`,
    why: 'What is not looked at cannot be let through.',
    allowed: 'Pass large data by name: write it to a file the tool may read, and pass its path.',
  }),
  resultNotRecordable: (tool: string, what: string): Denial => ({
    code: 'GUARD_RESULT_NOT_RECORDABLE',
    rule: 'guard/result',
    what: `Tool "${tool}" returned ${what}.`,
    why: 'A result is stored before it is shown, and served again: it must be data. The tool has run.',
    allowed: 'Return plain data: read a stream or an iterator to its end inside the tool.',
  }),
  threwNoError: (tool: string, what: string): Denial => ({
    code: 'GUARD_TOOL_THREW_NO_ERROR',
    rule: 'guard/result',
    what: `Tool "${tool}" threw ${what}, which is no error.`,
    why: 'Only errors say what went wrong and where.',
    allowed: 'Throw an Error; what was thrown is the cause of this one.',
  }),
  tooDeep: (tool: string, depth: number): Denial => ({
    code: 'GUARD_TOO_DEEP',
    rule: 'guard/call',
    what: `Tool "${tool}" was called inside ${depth} other guarded calls.`,
    why: 'Tools that call each other without end would use up the machine.',
    allowed: 'End the recursion earlier, or do the work in one call.',
  }),
  toolTwice: (tool: string): Denial => ({
    code: 'GUARD_TOOL_TWICE',
    rule: 'guard/tools',
    what: `There is a tool "${tool}" already.`,
    why: 'Rules, resumed runs and the tape know a tool by its name.',
    allowed: 'Give it another name.',
  }),
  toolNotFunction: (tool: unknown): Denial => ({
    code: 'GUARD_TOOL_NOT_FUNCTION',
    rule: 'guard/tools',
    what:
      typeof tool === 'string'
        ? `What was given as tool "${tool}" is not a function.`
        : 'A tool was given without a name.',
    why: 'A guard knows a tool by its name, and runs it by calling it.',
    allowed: 'Register it with run.tool(name, function), or run.wrap(function) if it has a name.',
  }),
  optionsInvalid: (of: string, problems: readonly string[]): Denial => ({
    code: 'GUARD_OPTIONS_INVALID',
    rule: 'guard/options',
    what: `The options of ${of} cannot be used. ${problems.join(' ')}`,
    why: 'An unknown option has no effect, and calls could pass that it should stop.',
    allowed: 'Correct what is named.',
  }),
  ended: (guard: string, tool: string): Denial => ({
    code: 'GUARD_ENDED',
    rule: 'guard/call',
    what: `Tool "${tool}" was called after guard "${guard}" had ended.`,
    why: 'Its tape is sealed, so the call could not be put down.',
    allowed: 'Call run.end() after the last call, or make a new guard.',
  }),
  broken: (tool: string, where: string): Denial => ({
    code: 'GUARD_BROKEN',
    rule: 'guard/call',
    what: `The call of "${tool}" failed in the guard itself: ${where}.`,
    why: 'Something the guard was given threw an error; it is the cause of this one.',
    allowed: 'Mend what threw. Until then such calls are not let through.',
  }),
  functionWithoutName: (): Denial => ({
    code: 'GUARD_FUNCTION_WITHOUT_NAME',
    rule: 'guard/tools',
    what: 'A function without a name cannot be guarded.',
    why: 'Rules, limits and the tape know tools by their names.',
    allowed: 'Name it: run.wrap(function, { name: "refund" }).',
  }),
  ownFiles: (what: string, of: string): Denial => ({
    code: 'GUARD_OWN_FILES',
    rule: 'guard/own-files',
    what,
    why: `It belongs to ${of}, which no guarded tool may touch, whatever its scope allows.`,
    allowed:
      'Use another folder: what tools work on and what guards write belong in different ones.',
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
    what: `Tool "${tool}" did something after its call was over.`,
    why: 'A call that has its answer, or was given up, may touch nothing any more.',
    allowed: 'Wait for everything the tool starts before it returns.',
  }),
}
