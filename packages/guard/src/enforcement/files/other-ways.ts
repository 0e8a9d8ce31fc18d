import module, { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import v8 from 'node:v8'
import { lookFirst, type Undo, undoAll } from '@retake/engine/hook'
import { currentBounds } from '../current-bounds.js'
import { FileCheck } from './file-check.js'
import { pathArgument } from './path-argument.js'

/** Where Node writes traces, unless it was started otherwise. */
const TRACE_FILE = 'node_trace.1.log'

/**
 * Ways to files that are not in `node:fs`. They are asked about inside guarded calls and are
 * otherwise as they were. Native addons have ways of their own, which are not seen.
 */
export function patchOtherWays(): Undo {
  const report = (process.report as object | undefined) ?? {}
  const fileOf = reportFiles(report)
  return undoAll([
    // Not even back to where it is: relative paths of everybody depend on it.
    checkFirst(process, 'chdir', (check, [folder]) => check.access('enter', String(folder))),
    // Node writes these files itself.
    checkFirst(v8, 'setHeapSnapshotNearHeapLimit', (check) => check.access('write', '.')),
    checkFirst(v8, 'writeHeapSnapshot', (check, args) => {
      args[0] = pathArgument(check, args[0]) ?? args[0]
      check.access('write', typeof args[0] === 'string' ? args[0] : '.')
    }),
    checkFirst(report, 'writeReport', (check, [file]) => check.access('write', fileOf(file))),
    checkFirst(traceEvents(), 'createTracing', (check) => check.access('write', TRACE_FILE)),
    checkFirst(module, 'enableCompileCache', (check, args) => {
      const [given] = args
      // Options with getters could say something else the second time.
      if (typeof given === 'object' && given !== null) args[0] = { ...given }
      check.access('write', cacheFolder(args[0]))
    }),
  ])
}

function checkFirst(
  target: object,
  method: string,
  inspect: (check: FileCheck, args: unknown[]) => void,
): Undo {
  return lookFirst(target, method, (args) => {
    const bounds = currentBounds()
    if (bounds.length > 0) inspect(new FileCheck(bounds), args)
  })
}

/**
 * Where a report goes: with no name into a file that was named before, and always below the
 * folder for reports, if there is one. Read with the getters that are there now: a tool could
 * put others in their place.
 */
function reportFiles(report: object): (file: unknown) => string {
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
