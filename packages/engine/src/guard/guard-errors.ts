import type { Denial } from './guard-error.js'

/** Every refusal that is not a rule's or a scope's own. Each code has a page in docs/errors. */
export const guardErrors = {
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
  callOver: (tool: string): Denial => ({
    code: 'GUARD_CALL_OVER',
    rule: 'guard/call',
    what: `Tool "${tool}" did something after its call was over.`,
    why: 'A call that has its answer, or was given up, may touch nothing any more.',
    allowed: 'Wait for everything the tool starts before it returns.',
  }),
}
