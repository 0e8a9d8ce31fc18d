import { replaceClass, type Undo, undoAll } from '@retake/engine/hook'
import { currentBounds } from '../current-bounds.js'
import { FileCheck } from './file-check.js'
import { pathArgument } from './path-argument.js'

/**
 * Parts of Node that open files in native code. Only processes with a policy about files load
 * them: they are marked as experimental, and say so when they are loaded.
 */
export function lockNativeWays(): Undo {
  return undoAll([
    guardClass('node:wasi', 'WASI', checkFolders),
    // By its SQL any file can be attached.
    guardClass('node:sqlite', 'DatabaseSync', ({ bounds }) => {
      for (const each of bounds) each.addon('node:sqlite')
    }),
  ])
}

/** The folders of a WebAssembly module are passed in advance. */
function checkFolders(check: FileCheck, [options]: readonly unknown[]): readonly unknown[] {
  const { preopens, ...rest } = (options ?? {}) as { preopens?: Record<string, unknown> }
  if (preopens === undefined) return [options]
  const folders = Object.entries(preopens).map(([name, folder]) => [
    name,
    pathArgument(check, folder) ?? String(folder),
  ])
  for (const [, folder = ''] of folders) {
    check.access('read', folder)
    check.access('write', folder)
  }
  return [{ ...rest, preopens: Object.fromEntries(folders) as object }]
}

/** Asks before an object of the class is made; gives the arguments that it is made with. */
type Inspect = (check: FileCheck, args: readonly unknown[]) => readonly unknown[] | void

function guardClass(from: string, name: string, inspect: Inspect): Undo {
  const owner = quietly(() => process.getBuiltinModule(from)) as
    | Record<string, Function>
    | undefined
  const Native = owner?.[name]
  if (owner === undefined || Native === undefined) return () => {}
  const Guarded = new Proxy(Native, {
    construct(native, args: unknown[], newTarget) {
      const bounds = currentBounds()
      const used = (bounds.length > 0 ? inspect(new FileCheck(bounds), args) : undefined) ?? args
      return Reflect.construct(native, used, newTarget) as object
    },
  })
  return replaceClass([owner], name, Guarded)
}

/** Nobody here uses what the warning is about. */
function quietly<T>(load: () => T): T {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return load()
  } finally {
    process.emitWarning = emitWarning
  }
}
