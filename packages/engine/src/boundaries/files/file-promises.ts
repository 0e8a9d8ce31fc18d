import fs from 'node:fs'
import type { Session } from '../../sessions/session.js'
import { pathText } from './file-arguments.js'
import { fileFunctions } from './file-functions.js'
import { TapeFileHandle } from './file-handle.js'
import { nativeFs } from './file-natives.js'
import { isPieces, writePiecesTo } from './file-pieces.js'
import { callPromise } from './file-promise-call.js'
import { replaceFileFunction } from './file-wrapper.js'
import { undoAll } from '../patch.js'
import type { Undo } from '../patch.js'

/** All matches are found at the first step, and handed out one by one. */
async function* globLater(session: Session, args: unknown[]): AsyncGenerator {
  yield* (await callPromise(session, 'fs.promises.glob', 'glob', args)) as unknown[]
}

/**
 * `node:fs/promises`. The real work goes through the callback functions: what is
 * in flight then never looks like Node 20 loading a module.
 */
export function patchPromiseFunctions(): Undo {
  return undoAll([
    replaceFileFunction(fs.promises, 'glob', globLater, { name: 'glob', style: 'iterator' }),
    ...Object.keys(fileFunctions)
      .filter((name) => name !== 'glob' && nativeFs[name] !== undefined)
      .map((name) =>
        replaceFileFunction(fs.promises, name, (session, args) => answer(session, name, args), {
          name,
          style: 'promise',
        }),
      ),
  ])
}

async function answer(session: Session, name: string, args: unknown[]): Promise<unknown> {
  const [filePath, ...rest] = args
  if (isContentFunction(name)) {
    if (filePath instanceof TapeFileHandle) return filePath[name](...(rest as [unknown, unknown]))
    if (isPieces(args[1])) return writePiecesTo(name, args)
  }
  const value = await callPromise(session, `fs.promises.${name}`, name, withDescriptor(args))
  return name === 'open' ? new TapeFileHandle(session, value as number, pathText(filePath)) : value
}

const isContentFunction = (name: string): name is 'readFile' | 'writeFile' | 'appendFile' =>
  name === 'readFile' || name === 'writeFile' || name === 'appendFile'

/** A handle opened outside the run is worked on by its number. */
function withDescriptor(args: unknown[]): unknown[] {
  const { fd, getAsyncId } = (args[0] ?? {}) as { fd?: unknown; getAsyncId?: unknown }
  return typeof fd === 'number' && typeof getAsyncId === 'function' ? [fd, ...args.slice(1)] : args
}
