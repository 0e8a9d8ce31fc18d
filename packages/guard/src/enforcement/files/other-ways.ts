import module, { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import v8 from 'node:v8'
import { lookFirst, type Undo, undoAll } from '@retake/engine/hook'
import { currentBounds } from '../current-bounds.js'
import { AskedBounds } from './asked-bounds.js'
import { pathArgument } from './path-argument.js'

/** Where Node writes traces, unless it was started otherwise. */
const TRACE_FILE = 'node_trace.1.log'

/**
 * Ways to files that are not in `node:fs`. They are asked about inside guarded calls and are
 * otherwise as they were. Native addons have ways of their own, which are not seen.
 */
export function patchOtherWays(): Undo {
  const report = (process.report as object | undefined) ?? {}
  const placeOf = reportPlaces(report)
  return undoAll([
    // Not even back to where it is: relative paths of everybody depend on it.
    askFirst(process, 'chdir', (asked, [folder]) => asked.ask('enter', String(folder))),
    // Node writes these files itself.
    askFirst(v8, 'setHeapSnapshotNearHeapLimit', (asked) => asked.ask('write', '.')),
    askFirst(v8, 'writeHeapSnapshot', (asked, args) => {
      args[0] = pathArgument(asked, args[0]) ?? args[0]
      asked.ask('write', typeof args[0] === 'string' ? args[0] : '.')
    }),
    askFirst(report, 'writeReport', (asked, [file]) => asked.ask('write', placeOf(file))),
    askFirst(traceEvents(), 'createTracing', (asked) => asked.ask('write', TRACE_FILE)),
    askFirst(module, 'enableCompileCache', (asked, args) => {
      const [given] = args
      // Options with getters could say something else the second time.
      if (typeof given === 'object' && given !== null) args[0] = { ...given }
      asked.ask('write', cacheFolder(args[0]))
    }),
  ])
}

function askFirst(
  target: object,
  method: string,
  ask: (asked: AskedBounds, args: unknown[]) => void,
): Undo {
  return lookFirst(target, method, (args) => {
    const bounds = currentBounds()
    if (bounds.length > 0) ask(new AskedBounds(bounds), args)
  })
}

/**
 * Where a report goes: with no name into a file that was named before, and always below the
 * folder for reports, if there is one. Read with the getters that are there now: a tool could
 * put others in their place.
 */
function reportPlaces(report: object): (file: unknown) => string {
  const { directory, filename } = Object.getOwnPropertyDescriptors(report) as Record<
    string,
    PropertyDescriptor | undefined
  >
  const read = (property: PropertyDescriptor | undefined): string =>
    String(property?.get?.call(report) ?? '')
  return (file) => {
    const name = (typeof file === 'string' && file) || read(filename) || '.'
    const folder = read(directory)
    return folder === '' ? name : path.join(folder, name)
  }
}

/** Where compiled code is kept, by text, by option, or where Node thinks best. */
function cacheFolder(given: unknown): string {
  const { directory } = Object(given) as { directory?: unknown }
  const folder = typeof given === 'string' ? given : directory
  if (typeof folder === 'string') return folder
  return process.env['NODE_COMPILE_CACHE'] || path.join(tmpdir(), 'node-compile-cache')
}

/** Threads do not have the module. */
function traceEvents(): object {
  try {
    return createRequire(import.meta.url)('node:trace_events') as object
  } catch {
    return {}
  }
}
