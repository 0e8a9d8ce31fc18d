import v8 from 'node:v8'
import { replaceClass, type Undo, undoAll } from '@retake/engine/hook'
import { checkFirst, currentBounds } from '../current-bounds.js'
import { FileCheck, pathArgument } from './file-check.js'

/** Functions outside `node:fs` that use files. Native add-ons are not seen. */
export const patchOtherWays = (): Undo =>
  undoAll([
    // Relative paths of the whole program depend on it.
    checkFirst(process, 'chdir', (each, [folder]) => each.file('enter', String(folder))),
    checkFirst(v8, 'writeHeapSnapshot', (each, [file]) =>
      each.file('write', pathArgument(new FileCheck([each]), file) ?? '.'),
    ),
  ])

/** Modules that open files in native code. Loaded only with a file scope, because they print warnings. */
export function lockNativeWays(): Undo {
  return undoAll([
    checkClass('node:wasi', 'WASI', (check, options) => {
      const { preopens = {} } = (options ?? {}) as { preopens?: Record<string, unknown> }
      for (const folder of Object.values(preopens).map(String)) {
        check.access('read', folder)
        check.access('write', folder)
      }
    }),
    // SQL can attach any file.
    checkClass('node:sqlite', 'DatabaseSync', ({ bounds }) => {
      for (const each of bounds) each.unseen('addon', 'node:sqlite')
    }),
  ])
}

function checkClass(
  from: string,
  name: string,
  inspect: (check: FileCheck, first: unknown) => void,
): Undo {
  const owner = quietly(() => process.getBuiltinModule(from)) as
    | Record<string, Function>
    | undefined
  const Native = owner?.[name]
  if (owner === undefined || Native === undefined) return () => {}
  const Checked = new Proxy(Native, {
    construct(native, args: unknown[], newTarget) {
      const bounds = currentBounds()
      if (bounds.length > 0) inspect(new FileCheck(bounds), args[0])
      return Reflect.construct(native, args, newTarget) as object
    },
  })
  return replaceClass([owner], name, Checked)
}

/** Suppresses the warning about an experimental module. */
function quietly<T>(load: () => T): T {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return load()
  } finally {
    process.emitWarning = emitWarning
  }
}
