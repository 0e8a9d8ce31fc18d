import fs from 'node:fs'
import path from 'node:path'
import type { Session } from '../sessions/session.js'
import { fileCall } from './file-arguments.js'
import { checkArguments } from './file-checks.js'
import { performCall, promiseCall } from './captured-call.js'
import type { Answer } from './captured-call.js'
import { takes } from './file-functions.js'
import { TapeFileHandle } from './file-handle.js'
import { nativeFs, nativeFunction, nativePromises } from './file-natives.js'
import type { FileFunction } from './file-natives.js'
import { callPromise } from './file-promise-call.js'
import { wrapFileFunction } from './file-wrapper.js'
import { replace, undoAll } from './patch.js'
import type { Undo } from './patch.js'

/** Functions that give something else than a value: iterators, blobs, streams, folders that remove themselves. */
export function patchOtherFunctions(): Undo {
  return undoAll([
    patch(fs.promises, 'glob', nativePromises, glob),
    patch(fs.promises, 'mkdtempDisposable', nativePromises, makeDisposable),
    patch(fs, 'mkdtempDisposableSync', nativeFs, makeDisposableSync),
    patch(fs, 'openAsBlob', nativeFs, openAsBlob),
    patch(fs, 'openAsBlobSync', nativeFs, openAsBlobSync),
    patch(fs, 'createReadStream', nativeFs, (_, args, native) =>
      streamOn(args, native, (handle, options) => handle.createReadStream(options)),
    ),
    patch(fs, 'createWriteStream', nativeFs, (_, args, native) =>
      streamOn(args, native, (handle, options) => handle.createWriteStream(options)),
    ),
  ])
}

type Inside = (session: Session, args: unknown[], native: FileFunction) => unknown

function patch(
  target: object,
  name: string,
  functions: Readonly<Record<string, FileFunction | undefined>>,
  inside: Inside,
): Undo {
  const native = functions[name]
  // Younger than this Node.
  if (native === undefined) return () => {}
  const patched = wrapFileFunction(native, (session, args) => inside(session, args, native))
  return replace(target, name, patched)
}

/** All matches are found at the first step; the agent's `exclude` function runs outside the run. */
async function* glob(session: Session, args: unknown[]): AsyncGenerator {
  yield* (await callPromise(session, 'fs.promises.glob', 'glob', args)) as unknown[]
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

const blobShape = takes('path options')

/** The blob holds the content from the start, where Node's own would read the file later. */
async function openAsBlob(session: Session, args: unknown[], native: FileFunction): Promise<Blob> {
  checkArguments(blobShape, args.slice(0, 1), nativeFs['readFileSync'])
  const call = fileCall(session, 'fs.openAsBlob', blobShape, args)
  const start = (done: Answer): void => {
    const read = async (): Promise<Buffer> => {
      const blob = (await native(...args)) as Blob
      return Buffer.from(await blob.arrayBuffer())
    }
    read().then((bytes) => done(null, bytes), done)
  }
  return blobOf(await promiseCall(session, call, start), args[1])
}

function openAsBlobSync(session: Session, args: unknown[]): Blob {
  checkArguments(blobShape, args.slice(0, 1), nativeFs['readFileSync'])
  const call = fileCall(session, 'fs.openAsBlobSync', blobShape, args)
  const run = (): unknown => nativeFunction('readFileSync')(args[0])
  return blobOf(performCall(session, call, run), args[1])
}

const blobOf = (bytes: unknown, options: unknown): Blob =>
  new Blob([bytes as Uint8Array<ArrayBuffer>], options as { type?: string })

/** Streams call `fs.open`, `fs.read` and so on by themselves; only handles of ours need help. */
function streamOn(
  args: unknown[],
  native: FileFunction,
  open: (handle: TapeFileHandle, options: object) => unknown,
): unknown {
  const { fd, ...options } = (typeof args[1] === 'object' ? (args[1] ?? {}) : {}) as {
    fd?: unknown
  }
  return fd instanceof TapeFileHandle ? open(fd, options) : native(...args)
}
