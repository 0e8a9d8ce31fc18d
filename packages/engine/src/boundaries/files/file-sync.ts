import fs from 'node:fs'
import { outsideRuns } from '../../scope.js'
import type { Session } from '../../sessions/session.js'
import { fileCall, pathText } from './file-arguments.js'
import { checkArguments } from './file-checks.js'
import { performCall } from '../captured-call.js'
import { forgetDescriptor, rememberDescriptor } from './file-descriptors.js'
import { fileFunctions, shapeOf } from './file-functions.js'
import { nativeFs } from './file-natives.js'
import type { FileFunction } from './file-natives.js'
import { noteOutput, outputWrite } from './file-output.js'
import { callLive } from './live-call.js'
import { wrapFileFunction } from './file-wrapper.js'
import { replace, undoAll } from '../patch.js'
import type { Undo } from '../patch.js'

/** The functions of `node:fs` that answer at once. */
export function patchSyncFunctions(): Undo {
  return undoAll(
    Object.keys(fileFunctions).flatMap((name) => {
      const native = nativeFs[`${name}Sync`]
      return native ? [replace(fs, `${name}Sync`, syncFunction(name, native))] : []
    }),
  )
}

function syncFunction(name: string, native: FileFunction, suffix = ''): FileFunction {
  const label = `fs.${name}Sync${suffix}`
  const shape = shapeOf(name)
  const inside = (session: Session, args: unknown[]): unknown => {
    checkArguments(shape, args, native)
    const output = outputWrite(session, shape, args)
    if (output) {
      noteOutput(session, output)
      return outsideRuns(() => native(output.fd, ...args.slice(1)))
    }
    const call = fileCall(session, label, name, args)
    const value = performCall(session, call, () => callLive(session, name, native, args))
    trackDescriptor(session, name, args[0], value)
    return value
  }
  const patched = wrapFileFunction(native, inside, { name, style: 'sync' })
  const nested = (native as { native?: FileFunction }).native
  if (nested) Object.assign(patched, { native: syncFunction(name, nested, '.native') })
  return patched
}

/** Keeps the names of open descriptors up to date, in record and replay alike. */
export function trackDescriptor(
  session: Session,
  name: string,
  filePath: unknown,
  value: unknown,
): void {
  if (name === 'open') rememberDescriptor(session, value as number, pathText(filePath))
  else if (name === 'close') forgetDescriptor(session, filePath as number)
}
