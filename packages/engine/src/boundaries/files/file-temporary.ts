import fs from 'node:fs'
import path from 'node:path'
import type { Session } from '../../sessions/session.js'
import { replaceFileFunction } from './file-wrapper.js'
import { undoAll } from '../patch.js'
import type { Undo } from '../patch.js'

/** Temporary folders that remove themselves (Node 24): one call to make them, one to remove them. */
export function patchTemporaryFolders(): Undo {
  return undoAll([
    replaceFileFunction(fs.promises, 'mkdtempDisposable', makeDisposable, {
      name: 'mkdtempDisposable',
      style: 'promise',
    }),
    replaceFileFunction(fs, 'mkdtempDisposableSync', makeDisposableSync, {
      name: 'mkdtempDisposable',
      style: 'sync',
    }),
  ])
}

const REMOVE = { recursive: true, force: true, maxRetries: 0, retryDelay: 0 }

async function makeDisposable(_: Session, args: unknown[]): Promise<object> {
  const made = await fs.promises.mkdtemp(...(args as [string]))
  const folder = path.resolve(made)
  const remove = (): Promise<void> => fs.promises.rm(folder, REMOVE)
  return { path: made, remove, [Symbol.asyncDispose]: remove }
}

function makeDisposableSync(_: Session, args: unknown[]): object {
  const made = fs.mkdtempSync(...(args as [string]))
  const folder = path.resolve(made)
  const remove = (): void => fs.rmSync(folder, REMOVE)
  return { path: made, remove, [Symbol.dispose]: remove }
}
