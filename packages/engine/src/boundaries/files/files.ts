import { patchBlobs } from './file-blobs.js'
import { patchCallbackFunctions } from './file-callbacks.js'
import { patchDirectories } from './file-directories.js'
import { patchLoadEnvFile } from './file-environment.js'
import { patchPromiseFunctions } from './file-promises.js'
import { patchStreams } from './file-streams.js'
import { patchSyncFunctions } from './file-sync.js'
import { patchTemporaryFolders } from './file-temporary.js'
import { patchTransfers } from './file-transfers.js'
import { patchWatching } from './file-watch.js'
import { undoAll } from '../patch.js'
import type { Undo } from '../patch.js'

/**
 * All of `node:fs`. What is read goes on tape and is served from there; what is
 * written goes on tape to be compared. On replay the disk is not touched, and a
 * descriptor is only the recorded number. Module loading is not the agent's
 * reading and stays as it is.
 */
export function patchFiles(): Undo {
  return undoAll([
    patchSyncFunctions(),
    patchCallbackFunctions(),
    patchPromiseFunctions(),
    patchTransfers(),
    patchDirectories(),
    patchStreams(),
    patchBlobs(),
    patchTemporaryFolders(),
    patchWatching(),
    patchLoadEnvFile(),
  ])
}
