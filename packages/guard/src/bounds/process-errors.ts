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
