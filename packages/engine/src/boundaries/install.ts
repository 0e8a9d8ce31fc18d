import { syncBuiltinESMExports } from 'node:module'
import { watchModuleLoads } from '../module-loads.js'
import { outsideRuns } from '../scope.js'
import { patchAbortSignals } from './abort-signals.js'
import { patchChildProcess } from './processes/child-process.js'
import { patchClock } from './clock.js'
import { patchEnvironment } from './environment.js'
import { patchDns } from './network/dns.js'
import { loadFetch, patchFetch } from './network/fetch.js'
import { patchFiles } from './files/files.js'
import { patchHostFacts } from './host-facts.js'
import { patchHttp2 } from './network/http2.js'
import { patchHttpAgent } from './network/sockets.js'
import { patchAddons, patchBindings } from './native/addons.js'
import { patchNodeSqlite } from './native/node-sqlite.js'
import { patchInput } from './input.js'
import { patchOrderedWork } from './ordered-work.js'
import { patchOutput } from './output.js'
import { undoAll } from './patch.js'
import type { Undo } from './patch.js'
import { patchProcessKill } from './processes/child-process.js'
import { patchRandom } from './random.js'
import { installInRealm } from './realm.js'
import { patchSharedPostgres } from './network/shared-postgres.js'
import { patchSockets } from './network/sockets.js'
import { patchTimers } from './timers.js'
import { patchUncaptured } from './uncaptured.js'
import { patchWorker } from './processes/worker.js'
import { patchZlibStreams } from './zlib-streams.js'

let undo: Undo | undefined

// Databases are mostly opened before the first run, so these patches are permanent.
patchAddons()
patchNodeSqlite()

export interface InstallOptions {
  /**
   * Whether `Date` and `Math.random` of this realm are the agent's. They are not
   * where a test runner lives in it and agents in realms of their own.
   */
  readonly ownRealm?: boolean
}

/**
 * Puts Retake between the program and the outside. While no run is active every
 * patched function hands straight on to the native one. Calling it again does
 * nothing; `uninstall` takes everything back.
 */
export function install({ ownRealm = true }: InstallOptions = {}): void {
  if (undo !== undefined) return
  loadFetch()
  undo = undoAll([
    ...(ownRealm ? [installInRealm(globalThis)] : []),
    patchClock(),
    patchRandom(),
    patchHostFacts(),
    patchEnvironment(),
    patchTimers(),
    patchAbortSignals(),
    patchFetch(),
    patchHttp2(),
    patchHttpAgent(),
    patchSockets(),
    patchChildProcess(),
    patchProcessKill(),
    patchSharedPostgres(),
    patchWorker(),
    patchOrderedWork(),
    patchZlibStreams(),
    patchFiles(),
    patchDns(),
    patchInput(),
    patchOutput(),
    patchUncaptured(),
    patchBindings(),
    watchModuleLoads(),
  ])
  // Named imports such as `import { randomUUID } from 'node:crypto'` are copies: refresh them.
  syncBuiltinESMExports()
}

export const isInstalled = (): boolean => undo !== undefined

/** Patches above those of the recorder, in the order in which they were made. */
const above = new Set<Undo>()

/** Makes patches above those of the recorder, which `uninstall` has to take back first. */
export function installAbove(patch: () => Undo): Undo {
  const change = <T>(work: () => T): T =>
    // Node reads every export of its modules to refresh them, also in the middle of a run.
    outsideRuns(() => {
      const done = work()
      syncBuiltinESMExports()
      return done
    })
  const undoPatch = change(patch)
  const remove = (): void => {
    if (above.delete(remove)) change(undoPatch)
  }
  above.add(remove)
  return remove
}

export function uninstall(): void {
  undoAll([...above])()
  undo?.()
  undo = undefined
  syncBuiltinESMExports()
}
