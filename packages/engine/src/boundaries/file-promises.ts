import fs from 'node:fs'
import type { Session } from '../sessions/session.js'
import { pathText } from './file-arguments.js'
import { fileFunctions } from './file-functions.js'
import { TapeFileHandle } from './file-handle.js'
import { nativeFs, nativePromises } from './file-natives.js'
import { isPieces, writePiecesTo } from './file-pieces.js'
import { callPromise } from './file-promise-call.js'
import { wrapFileFunction } from './file-wrapper.js'
import { replace, undoAll } from './patch.js'
import type { Undo } from './patch.js'

/**
 * `node:fs/promises`. The real work goes through the callback functions: what is
 * in flight then never looks like Node 20 loading a module.
 */
export function patchPromiseFunctions(): Undo {
  return undoAll(
    Object.keys(fileFunctions).flatMap((name) => {
      const native = nativePromises[name]
      // `promises.glob` gives an iterator instead: see file-more.ts.
      if (native === undefined || nativeFs[name] === undefined || name === 'glob') return []
      const patched = wrapFileFunction(native, (session, args) => answer(session, name, args))
      return [replace(fs.promises, name, patched)]
    }),
  )
}

async function answer(session: Session, name: string, args: unknown[]): Promise<unknown> {
  const [place, ...rest] = args
  if (isContentFunction(name)) {
    if (place instanceof TapeFileHandle) return place[name](...(rest as [unknown, unknown]))
    if (isPieces(args[1])) return writePiecesTo(name, args)
  }
  const value = await callPromise(session, `fs.promises.${name}`, name, withDescriptor(args))
  return name === 'open' ? new TapeFileHandle(session, value as number, pathText(place)) : value
}

const isContentFunction = (name: string): name is 'readFile' | 'writeFile' | 'appendFile' =>
  name === 'readFile' || name === 'writeFile' || name === 'appendFile'

/** A handle opened outside the run is worked on by its number. */
function withDescriptor(args: unknown[]): unknown[] {
  const { fd, getAsyncId } = (args[0] ?? {}) as { fd?: unknown; getAsyncId?: unknown }
  return typeof fd === 'number' && typeof getAsyncId === 'function' ? [fd, ...args.slice(1)] : args
}
