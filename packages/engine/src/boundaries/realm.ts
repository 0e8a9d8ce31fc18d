import { patchRealmClock } from './clock.js'
import { patchRealmRandom } from './random.js'
import { undoAll, type Undo } from './patch.js'

/**
 * Patches clock and random numbers of another realm in this process, such as the `vm` context of a
 * Jest test file, which has its own `Date`, `Math` and `Intl`. Everything else comes from Node's
 * modules, which `install` patches for all realms. The creator of the realm must pass globals such
 * as `fetch` to it.
 */
export const installInRealm = (realm: typeof globalThis): Undo =>
  undoAll([patchRealmClock(realm), patchRealmRandom(realm)])
