import { patchCallbackFunctions } from './file-callbacks.js'
import { patchDirectories } from './file-directory.js'
import { patchLoadEnvFile } from './file-environment.js'
import { patchOtherFunctions } from './file-more.js'
import { patchPromiseFunctions } from './file-promises.js'
import { patchSyncFunctions } from './file-sync.js'
import { patchTransfers } from './file-transfers.js'
import { patchWatching } from './file-watch.js'
import { undoAll } from './patch.js'
import type { Undo } from './patch.js'

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
    patchOtherFunctions(),
    patchWatching(),
    patchLoadEnvFile(),
  ])
}
