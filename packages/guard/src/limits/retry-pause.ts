import type { Clock } from './clock.js'

const FIRST_MS = 250
const LONGEST_MS = 30_000
/** Who asks for a longer pause than this is not waited for. */
export const LONGEST_ASKED_MS = 60_000

/**
 * Milliseconds before the next attempt: anything up to twice the bound of the one
 * before, so that many callers do not come back at the same moment. Not before the
 * other side has asked for.
 */
export function retryPauseMs(attempt: number, askedMs: number | undefined, clock: Clock): number {
  const most = Math.min(LONGEST_MS, FIRST_MS * 2 ** (attempt - 1))
  return (askedMs ?? 0) + clock.random() * (askedMs === undefined ? most : FIRST_MS)
}
