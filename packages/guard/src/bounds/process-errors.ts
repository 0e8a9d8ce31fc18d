import type { Denial } from '../guard-error.js'
import type { Command } from './scopes.js'

/** Actions on this process that no guarded tool may take. */
export const processErrors = {
  exit: (tool: string, how: string): Denial => ({
    code: 'PROCESS_EXIT',
    rule: 'guard/process',
    what: `Tool "${tool}" would have ended the process with ${how}.`,
    why: 'A tool is one call of many: what it does may end the call, never the program.',
    allowed: 'Throw an error instead.',
  }),
  ownSignal: (tool: string, signal: string): Denial => ({
    code: 'PROCESS_SIGNAL',
    rule: 'guard/process',
    what: `Tool "${tool}" would have sent ${signal} to the process it runs in.`,
    why: 'A tool is one call of many: what it does may end the call, never the program.',
    allowed: 'Throw an error instead.',
  }),
  identity: (tool: string, how: string): Denial => ({
    code: 'PROCESS_IDENTITY',
    rule: 'guard/process',
    what: `Tool "${tool}" would have changed who the process runs as, with ${how}.`,
    why: 'It would hold for the whole program, and for what the policy is about.',
    allowed: 'Start the program as the user it needs.',
  }),
  inspector: (tool: string, how: string): Denial => ({
    code: 'INSPECTOR_NOT_ALLOWED',
    rule: 'guard/process',
    what: `Tool "${tool}" would have opened the process to a debugger, with ${how}.`,
    why: 'Whoever connects runs any code, outside the bounds of the call.',
    allowed: 'Start Node with --inspect when you want to debug.',
  }),
  internals: (tool: string, how: string): Denial => ({
    code: 'NATIVE_ADDON',
    rule: 'guard/process',
    what: `Tool "${tool}" would have reached native code, with ${how}.`,
    why: 'Native code is not seen by any boundary, so no scope would hold.',
    allowed: 'Use the modules of Node, or do it before the call.',
  }),
  outOfBounds: (tool: string, { kind, args: [file = ''] }: Command): Denial => {
    const isWorker = kind === 'worker'
    return {
      code: isWorker ? 'WORKER_NOT_ALLOWED' : 'NATIVE_ADDON',
      rule: 'guard/process',
      what: `Tool "${tool}" would have ${isWorker ? 'started a worker' : 'loaded a native addon'}: ${file}`,
      why: `What ${isWorker ? 'a worker' : 'native code'} does is not seen by the call's boundaries, so no scope would hold.`,
      allowed: `${isWorker ? 'Do it in the tool itself' : 'Load it before the call'}, or add shell: { allow: [['${kind}', '${file}']] } to a policy.`,
    }
  },
}
