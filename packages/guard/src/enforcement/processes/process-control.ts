import crypto from 'node:crypto'
import inspector from 'node:inspector'
import module from 'node:module'
import { constants } from 'node:os'
import path from 'node:path'
import v8 from 'node:v8'
import { lookFirst, type Undo, undoAll } from '@retake/engine/hook'
import type { CallBounds } from '../../bounds/call-bounds.js'
import { processErrors } from '../../bounds/process-errors.js'
import { currentBounds } from '../current-bounds.js'
import { patchLaterCallbacks } from './later-callbacks.js'
import { isSignalled, patchProcessListeners } from './process-listeners.js'

/**
 * Actions of a guarded tool on the process it runs in: end it, signal others,
 * become somebody else, or load code that no boundary sees. Without a guarded call
 * around it every function is the native one.
 */
export function patchProcessControl(): Undo {
  const exits = ['exit', 'reallyExit', 'abort', 'execve'] as const
  const identities = ['setuid', 'setgid', 'seteuid', 'setegid', 'setgroups', 'initgroups'] as const
  const bindings = ['binding', '_linkedBinding'] as const
  return undoAll([
    ...exits.map((name) =>
      checkFirst(process, name, (each) => {
        if (!isSignalled()) each.refuse(processErrors.exit(each.tool, `process.${name}`))
      }),
    ),
    ...identities.map((name) =>
      checkFirst(process, name, (each) =>
        each.underScopes((tool) => processErrors.identity(tool, `process.${name}`)),
      ),
    ),
    ...bindings.map((name) =>
      checkFirst(process, name, (each, [what]) =>
        each.underScopes((tool) =>
          processErrors.internals(tool, `process.${name}('${String(what)}')`),
        ),
      ),
    ),
    checkFirst(process, '_kill', (each, [pid, signal]) => {
      if (Number(pid) !== process.pid || !isSignalled())
        each.signal(Number(pid), signalName(signal))
    }),
    checkFirst(process, 'dlopen', (each, [, file]) => each.addon(path.resolve(String(file)))),
    checkFirst(crypto, 'setEngine', (each) =>
      each.underScopes((tool) => processErrors.internals(tool, 'crypto.setEngine')),
    ),
    // Loader hooks run in a thread of their own.
    checkFirst(module, 'register', (each, [specifier]) => each.worker(String(specifier))),
    checkFirst(inspector, 'open', (each) =>
      each.underScopes((tool) => processErrors.inspector(tool, 'inspector.open')),
    ),
    // It reads what closures hold, the native functions below the boundaries among it.
    checkFirst(inspector.Session.prototype, 'connect', (each) =>
      each.underScopes((tool) => processErrors.inspector(tool, 'inspector.Session')),
    ),
    checkFirst(process, '_debugProcess', (each) =>
      each.underScopes((tool) => processErrors.inspector(tool, 'process._debugProcess')),
    ),
    // Flags of V8 name files that it writes, and give names to its insides.
    checkFirst(v8, 'setFlagsFromString', (each, [flag]) =>
      each.underScopes((tool) =>
        processErrors.internals(tool, `v8.setFlagsFromString('${String(flag)}')`),
      ),
    ),
    patchProcessListeners(),
    patchLaterCallbacks(),
  ])
}

/** Asks every call around before the native function is called. */
function checkFirst(
  target: object,
  method: string,
  check: (bounds: CallBounds, args: readonly unknown[]) => void,
): Undo {
  return lookFirst(target, method, (args) => {
    for (const each of currentBounds()) check(each, args)
  })
}

const signalName = (signal: unknown): string =>
  Object.entries(constants.signals).find(([, number]) => number === signal)?.[0] ?? String(signal)
