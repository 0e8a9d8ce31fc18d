import fs from 'node:fs'
import { TapeFileHandle } from './file-handle.js'
import type { FileFunction } from './file-natives.js'
import { replaceFileFunction } from './file-wrapper.js'
import { undoAll } from '../patch.js'
import type { Undo } from '../patch.js'

/** Streams call `fs.open`, `fs.read` and so on by themselves; only handles of ours need help. */
export function patchStreams(): Undo {
  return undoAll([
    replaceFileFunction(fs, 'createReadStream', (_, args, native) =>
      streamOn(args, native, (handle, options) => handle.createReadStream(options)),
    ),
    replaceFileFunction(fs, 'createWriteStream', (_, args, native) =>
      streamOn(args, native, (handle, options) => handle.createWriteStream(options)),
    ),
  ])
}

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
