import { syncBuiltinESMExports } from 'node:module'
import { installIntegrations } from '../integrations/list.js'
import { addOwnPackage } from '../kernel/call-site.js'
import { engineRoot } from '../package-root.js'
import { errors } from '../errors.js'
import { watchModuleLoads } from './module-loads.js'
import { requireNode } from '../runs/require-node.js'
import { isRunActive, outsideRuns } from '../kernel/scope.js'
import { patchAbortSignals, patchSignalMakers } from './network/abort-signals.js'
import { patchChildProcess, patchProcessKill } from './processes/child-process.js'
import { patchClock, patchRealmClock } from './clock.js'
import { patchEnvironment } from './environment.js'
import { patchDns } from './network/dns.js'
import { patchFetch, watchCopiedFetch } from './network/fetch.js'
import { patchFiles } from './files/files.js'
import { patchHostFacts } from './host-facts.js'
import { patchHttp2 } from './network/http2.js'
import { patchHttpAgent, patchSockets } from './network/sockets.js'
import { patchAddons, patchBindings } from './native/addons.js'
import { patchInput } from './input.js'
import { patchOrderedWork } from './ordered-work.js'
import { openOutput, patchOutput } from './output.js'
import { undoAll, type Undo } from './patching/patch.js'
import { patchRandom, patchRealmRandom } from './random.js'
import { patchEmitters } from './shared/shared-clients.js'
import { patchTimers } from './timers.js'
import { patchUncaptured } from './uncaptured.js'
import { patchParentChannel } from './processes/parent-channel.js'
import { patchWorker } from './processes/worker.js'
import { patchCompressionStreams, patchZlibStreams } from './zlib-streams.js'

addOwnPackage(engineRoot)

/**
 * Functions and classes that programs copy before their first run: `const { randomUUID } =
 * require('crypto')`, `promisify(fs.readFile)`, an SDK client that stores `fetch`. A copy of the
 * native function would bypass every later patch and could not be detected, so these are replaced
 * early. Each calls the native one unless a run is active.
 */
const SHIMS: readonly (() => Undo)[] = [
  patchClock,
  patchRandom,
  patchHostFacts,
  patchEnvironment,
  patchTimers,
  patchSignalMakers,
  patchFetch,
  patchHttp2,
  patchSockets,
  patchChildProcess,
  patchProcessKill,
  patchWorker,
  patchOrderedWork,
  patchFiles,
  patchDns,
  patchOutput,
  patchCompressionStreams,
  patchUncaptured,
  patchBindings,
  patchAddons,
  installIntegrations,
]

/** Everything else is looked up on each use, so patching it at the first run is early enough. */
const LOOKUPS: readonly (() => Undo)[] = [
  patchAbortSignals,
  watchCopiedFetch,
  patchHttpAgent,
  patchEmitters,
  patchZlibStreams,
  patchInput,
  patchParentChannel,
  watchModuleLoads,
]

let undoShims: Undo | undefined
let undoLookups: Undo | undefined

export interface InstallOptions {
  /**
   * True (default) if agent code uses `Date`, `Math` and `Intl` of this realm. False in a test
   * runner that uses them itself and runs agents in other realms.
   */
  readonly ownRealm?: boolean
}

/** Replaces the functions that a program may copy; no-op if they are already replaced. */
export function installShims({ ownRealm = true }: InstallOptions = {}): void {
  requireNode()
  undoShims ??= apply(ownRealm ? [() => installInRealm(globalThis), ...SHIMS] : SHIMS)
}

/**
 * Patches everything between the program and the outside. While no run is active, every patched
 * function calls the native one. No-op if installed; `uninstall` restores everything.
 */
export function install(options?: InstallOptions): void {
  if (undoLookups !== undefined) return
  installShims(options)
  openOutput()
  undoLookups = apply(LOOKUPS)
}

function apply(patches: readonly (() => Undo)[]): Undo {
  return change(() => undoAll(patches.map((patch) => patch())))
}

/** Refreshes named imports such as `import { randomUUID } from 'node:crypto'`, which are copies. */
function change<T>(work: () => T): T {
  // To refresh them, Node reads every export of its modules, possibly in the middle of a run.
  return outsideRuns(() => {
    const done = work()
    syncBuiltinESMExports()
    return done
  })
}

export const isInstalled = (): boolean => undoShims !== undefined

/** Patches on top of the recorder's, in the order in which they were made. */
const above = new Set<Undo>()

/** Adds patches on top of the recorder's; `uninstall` removes them first. */
export function installAbove(patch: () => Undo): Undo {
  const undoPatch = change(patch)
  const remove = (): void => {
    if (above.delete(remove)) change(undoPatch)
  }
  above.add(remove)
  return remove
}

/**
 * Patches clock and random numbers of another realm in this process, such as the `vm` context of a
 * Jest test file, which has its own `Date`, `Math` and `Intl`. Everything else comes from Node's
 * modules, which `install` patches for all realms. The creator of the realm must pass globals such
 * as `fetch` to it.
 */
export const installInRealm = (realm: typeof globalThis): Undo =>
  undoAll([patchRealmClock(realm), patchRealmRandom(realm)])

/**
 * Restores every global, module function and prototype that Retake replaced. The next run installs
 * them again. Copies that the program made in the meantime call the native functions.
 */
export function uninstall(): void {
  if (isRunActive()) throw errors.UNINSTALL_DURING_RUN()
  undoAll([...above])()
  change(() => undoAll([undoShims ?? (() => {}), undoLookups ?? (() => {})])())
  undoShims = undoLookups = undefined
}
