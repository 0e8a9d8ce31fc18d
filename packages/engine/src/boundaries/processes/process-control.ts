import crypto from 'node:crypto'
import inspector from 'node:inspector'
import module from 'node:module'
import { constants } from 'node:os'
import path from 'node:path'
import v8 from 'node:v8'
import type { CallBounds } from '../../guard/bounds/call-bounds.js'
import { processErrors } from '../../guard/bounds/process-errors.js'
import { currentBounds, outsideRuns } from '../../scope.js'
import { dressLike, replace, undoAll } from '../patch.js'
import type { Undo } from '../patch.js'

/**
 * What a guarded tool could do to the process it runs in: end it, signal others,
 * become somebody else, or load code that no boundary sees. Without a guarded call
 * around it every function is the native one.
 */
export function patchProcessControl(): Undo {
  const exits = ['exit', 'reallyExit', 'abort', 'execve'] as const
  const identities = ['setuid', 'setgid', 'seteuid', 'setegid', 'setgroups', 'initgroups'] as const
  const bindings = ['binding', '_linkedBinding'] as const
  return undoAll([
    ...exits.map((name) =>
      ask(process, name, (each) => each.refuse(processErrors.exit(each.tool, `process.${name}`))),
    ),
    ...identities.map((name) =>
      ask(process, name, (each) =>
        each.underScopes((tool) => processErrors.identity(tool, `process.${name}`)),
      ),
    ),
    ...bindings.map((name) =>
      ask(process, name, (each, [what]) =>
        each.underScopes((tool) =>
          processErrors.internals(tool, `process.${name}('${String(what)}')`),
        ),
      ),
    ),
    ask(process, '_kill', (each, [pid, signal]) => each.signal(Number(pid), signalName(signal))),
    ask(process, 'dlopen', (each, [, file]) => each.addon(path.resolve(String(file)))),
    ask(crypto, 'setEngine', (each) =>
      each.underScopes((tool) => processErrors.internals(tool, 'crypto.setEngine')),
    ),
    // Loader hooks run in a thread of their own.
    ask(module, 'register', (each, [specifier]) => each.worker(String(specifier))),
    ask(inspector, 'open', (each) =>
      each.underScopes((tool) => processErrors.inspector(tool, 'inspector.open')),
    ),
    ask(process, '_debugProcess', (each) =>
      each.underScopes((tool) => processErrors.inspector(tool, 'process._debugProcess')),
    ),
    // Node writes these files itself.
    ask(v8, 'writeHeapSnapshot', (each, [file]) => each.file('write', path.resolve(nameOf(file)))),
    ask(process.report, 'writeReport', (each, [file]) =>
      each.file('write', path.resolve(process.report.directory, nameOf(file))),
    ),
    ...(['on', 'addListener', 'once', 'prependListener', 'prependOnceListener'] as const).map(
      listenOutside,
    ),
  ])
}

/** Asks every call around before the native function is called. */
function ask(
  target: object,
  method: string,
  question: (bounds: CallBounds, args: readonly unknown[]) => void,
): Undo {
  const native = (target as Record<string, unknown>)[method]
  if (typeof native !== 'function') return () => {}
  return replace(
    target,
    method,
    dressLike(function (this: unknown, ...args: unknown[]): unknown {
      for (const each of currentBounds()) question(each, args)
      return native.apply(this, args)
    }, native),
  )
}

/**
 * A signal that a tool was the first to listen for is not its doing when it comes:
 * whoever then ends the program in good order may.
 */
function listenOutside(
  method: 'on' | 'addListener' | 'once' | 'prependListener' | 'prependOnceListener',
): Undo {
  const native = process[method] as (event: string | symbol, listener: Function) => NodeJS.Process
  return replace(
    process,
    method,
    function (this: NodeJS.Process, event: string | symbol, listener: Function) {
      const isSignal = typeof event === 'string' && event in constants.signals
      return isSignal && currentBounds().length > 0
        ? outsideRuns(() => native.call(this, event, listener))
        : native.call(this, event, listener)
    },
  )
}

const nameOf = (file: unknown): string => (typeof file === 'string' ? file : '.')

const signalName = (signal: unknown): string =>
  Object.entries(constants.signals).find(([, number]) => number === signal)?.[0] ?? String(signal)
