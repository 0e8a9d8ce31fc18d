import { patchRealmClock } from './clock.js'
import { patchRealmRandom } from './random.js'
import { undoAll, type Undo } from './patch.js'

/**
 * Reaches the clock and chance of another realm in this process, such as the
 * `vm` context that Jest runs a test file in: `Date`, `Math` and `Intl` are its
 * own there. Everything else a program touches comes from Node's modules, which
 * `install` has patched for all realms; globals like `fetch` have to be handed
 * to the realm by whoever makes it.
 */
export const installInRealm = (realm: typeof globalThis): Undo =>
  undoAll([patchRealmClock(realm), patchRealmRandom(realm)])
