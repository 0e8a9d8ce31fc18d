import fs from 'node:fs'
import type { Session } from '../../sessions/session.js'
import { performCall, promiseCall } from '../captured-call.js'
import type { Answer } from '../captured-call.js'
import { fileCall } from './file-arguments.js'
import { checkArguments } from './file-checks.js'
import { takes } from './file-functions.js'
import { callLive } from './live-call.js'
import { nativeFs, nativeFunction } from './file-natives.js'
import type { FileFunction } from './file-natives.js'
import { replaceFileFunction } from './file-wrapper.js'
import { undoAll } from '../patch.js'
import type { Undo } from '../patch.js'

/** Files as blobs. The blob holds the content from the start, where Node's own would read the file later. */
export function patchBlobs(): Undo {
  return undoAll([
    replaceFileFunction(fs, 'openAsBlob', openAsBlob, { name: 'openAsBlob', style: 'promise' }),
    replaceFileFunction(fs, 'openAsBlobSync', openAsBlobSync, {
      name: 'openAsBlobSync',
      style: 'sync',
    }),
  ])
}

const blobShape = takes('path options')

async function openAsBlob(session: Session, args: unknown[], native: FileFunction): Promise<Blob> {
  checkArguments(blobShape, args.slice(0, 1), nativeFs['readFileSync'])
  const call = fileCall(session, 'fs.openAsBlob', 'openAsBlob', args, blobShape)
  const start = (done: Answer): void => {
    const read = async (): Promise<Buffer> => {
      const blob = (await callLive(session, 'openAsBlob', native, args)) as Blob
      return Buffer.from(await blob.arrayBuffer())
    }
    read().then((bytes) => done(null, bytes), done)
  }
  return blobOf(await promiseCall(session, call, start), args[1])
}

function openAsBlobSync(session: Session, args: unknown[]): Blob {
  checkArguments(blobShape, args.slice(0, 1), nativeFs['readFileSync'])
  const call = fileCall(session, 'fs.openAsBlobSync', 'openAsBlob', args, blobShape)
  const run = (): unknown =>
    callLive(session, 'readFile', nativeFunction('readFileSync'), [args[0]])
  return blobOf(performCall(session, call, run), args[1])
}

const blobOf = (bytes: unknown, options: unknown): Blob =>
  new Blob([bytes as Uint8Array<ArrayBuffer>], options as { type?: string })
