import { endedSession } from '../../scope.js'
import type { Session } from '../../sessions/session.js'

let isNeeded = false

/** From now on there are runs whose files are not simply those of the disk. */
export function keepAfterEnd(): void {
  isNeeded = true
}

/**
 * The run that a call belongs to although it has ended. What it left behind still
 * works on its overlay and with its descriptors; it must not reach the disk by the
 * numbers and paths that only meant something inside the run.
 */
export const endedFileSession = (): Session | undefined => (isNeeded ? endedSession() : undefined)
