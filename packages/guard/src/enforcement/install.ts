import { install, installAbove, type Undo, undoAll } from '@retake/engine/hook'
import { patchFileBinding } from './files/file-binding.js'
import { patchOtherWays } from './files/other-ways.js'
import { patchDatagrams } from './network/datagrams.js'
import { patchHttp2Sessions } from './network/http2-within.js'
import { patchHttpRequests } from './network/http-requests.js'
import { patchListening } from './network/connect-within.js'
import { patchNameServers } from './network/checked-lookup.js'
import { watchUndici } from './network/undici-requests.js'
import { patchChildHandles } from './processes/bound-child.js'
import { patchProcessControl } from './processes/bound-child.js'
import { patchWorkers } from './processes/bound-child.js'

const installed = new Map<() => Undo, Undo>()

/** Makes patches once, until they are taken back. */
export function installOnce(patch: () => Undo): void {
  if (installed.has(patch)) return
  const remove = installAbove(() => {
    const undo = patch()
    return () => {
      installed.delete(patch)
      undo()
    }
  })
  installed.set(patch, remove)
}

/**
 * Closes the ways out of a tool that no boundary of the recorder sees. The first guard of a
 * process installs this; outside of guarded calls every function is the native one.
 */
export function installGuard(): void {
  install()
  installOnce(patchAll)
}

/** Takes back every patch of the guard. Tools that still run are then bound by the recorder's boundaries only. */
export function uninstallGuard(): void {
  undoAll([...installed.values()])()
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
  ])
