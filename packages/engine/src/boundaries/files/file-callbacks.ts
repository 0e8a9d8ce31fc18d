import fs from 'node:fs'
import type { Session } from '../../sessions/session.js'
import { fileCall } from './file-arguments.js'
import { checkArguments } from './file-checks.js'
import { startCall } from '../captured-call.js'
import type { Answer } from '../captured-call.js'
import { fileFunctions, shapeOf } from './file-functions.js'
import { nativeFs, nativeFunction } from './file-natives.js'
import type { FileFunction } from './file-natives.js'
import { outputWrite, passOutput } from './file-output.js'
import { trackDescriptor } from './file-sync.js'
import { startLive } from './live-call.js'
import { wrapFileFunction } from './file-wrapper.js'
import { replace, undoAll } from '../patch.js'
import type { Undo } from '../patch.js'

/** The functions of `node:fs` that take a callback. */
export function patchCallbackFunctions(): Undo {
  return undoAll(
    Object.keys(fileFunctions).flatMap((name) => {
      const native = nativeFs[name]
      return native ? [replace(fs, name, callbackFunction(name, native))] : []
    }),
  )
}

function callbackFunction(name: string, native: FileFunction, suffix = ''): FileFunction {
  const label = `fs.${name}${suffix}`
  const shape = shapeOf(name)
  const inside = (session: Session, given: unknown[]): unknown => {
    const { args, callback } = splitCallback(
      given,
      shape.required,
      name === 'close' ? throwError : undefined,
    )
    checkArguments(shape, args, nativeFs[`${name}Sync`])
    const output = outputWrite(session, shape, args)
    if (output) return passOutput(session, output, () => callback(null))
    const call = fileCall(session, label, name, args)
    const start = (done: Answer): void => startLive(session, name, native, args, done)
    return startCall(session, call, start, (error, value) => {
      if (error !== null) return callback(error)
      trackDescriptor(session, name, args[0], value)
      if (name === 'exists') callback(value)
      else if (value === undefined) callback(null)
      else callback(null, value)
    })
  }
  const patched = wrapFileFunction(native, inside, { name, style: 'callback' })
  const nested = (native as { native?: FileFunction }).native
  if (nested) Object.assign(patched, { native: callbackFunction(name, nested, '.native') })
  return patched
}

/** The callback is the last function given; without one Node throws, and so do we. */
export function splitCallback(
  given: readonly unknown[],
  required: number,
  fallback?: Answer,
): { args: unknown[]; callback: Answer } {
  const last = given.findLastIndex((arg) => typeof arg === 'function')
  if (last >= 0) return { args: given.slice(0, last), callback: given[last] as Answer }
  if (fallback === undefined) nativeFunction('exists')('', given.slice(required).at(-1))
  return { args: [...given], callback: fallback ?? throwError }
}

function throwError(error: unknown): void {
  if (error !== null) throw error as Error
}
