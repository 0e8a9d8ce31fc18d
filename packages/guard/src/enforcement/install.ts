import { install, installAbove, type Undo, undoAll } from '@retake/engine/hook'
import { patchFileBinding } from './files/file-binding.js'
import { patchOtherWays } from './files/file-calls.js'
import { patchHttp2Sessions, patchHttpRequests, watchUndici } from './network/http.js'
import { patchDatagrams, patchListening, patchNameServers } from './network/sockets.js'
import { patchSharedQueues } from './shared-queues.js'
import { patchChildHandles, patchProcessControl, patchWorkers } from './processes/bound-child.js'

const installed = new Set<() => Undo>()

/** Applies a patch once, until `uninstall()` of the engine. */
export function installOnce(patch: () => Undo): void {
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

/** Patches what no boundary of the engine sees. The first guard of a process installs this. */
export function installGuard(): void {
  install()
  installOnce(patchAll)
}

const patchAll = (): Undo =>
  undoAll([
    patchHttp2Sessions(),
    patchHttpRequests(),
    watchUndici(),
    patchChildHandles(),
    patchProcessControl(),
    patchWorkers(),
    patchOtherWays(),
    patchNameServers(),
    patchDatagrams(),
    patchListening(),
    patchFileBinding(),
    patchSharedQueues(),
  ])
