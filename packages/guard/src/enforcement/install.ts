import { install, installAbove, type Undo, undoAll } from '@retake/engine/hook'
import type { Scopes } from '../bounds/scopes.js'
import { patchFileBinding } from './files/file-binding.js'
import { checkNativeFileModules, patchOtherFileFunctions } from './files/file-calls.js'
import { patchHttp2Sessions, patchHttpRequests, watchUndici } from './network/http.js'
import { patchDatagrams, patchListening, patchNameServers } from './network/sockets.js'
import { bindQueuedTasks } from './queued-tasks.js'
import { patchChildHandles, patchProcessControl, patchWorkers } from './processes/bound-child.js'

const installed = new Set<() => Undo>()

/** Applies a patch unless it is applied already. The engine's `uninstall()` undoes it. */
function installOnce(patch: () => Undo): void {
  if (installed.has(patch)) return
  installAbove(() => {
    const undo = patch()
    return () => {
      installed.delete(patch)
      undo()
    }
  })
  installed.add(patch)
}

/** Installs the patches that the engine's boundaries do not cover. The first guard calls this. */
export function installGuard(): void {
  install()
  installOnce(patchAll)
}

/** Functions below `node:fs` are checked only where calls have a file scope. */
export function installFor(scopes: readonly Scopes[]): void {
  if (scopes.some(({ files }) => files !== undefined)) installOnce(checkNativeFileModules)
}

const patchAll = (): Undo =>
  undoAll([
    patchHttp2Sessions(),
    patchHttpRequests(),
    watchUndici(),
    patchChildHandles(),
    patchProcessControl(),
    patchWorkers(),
    patchOtherFileFunctions(),
    patchNameServers(),
    patchDatagrams(),
    patchListening(),
    patchFileBinding(),
    bindQueuedTasks(),
  ])
