import type { BlameFindings, Tape } from '@retake/tape'
import { filesOnTape } from './files-on-tape.js'

/** Oracles that look at no file. */
const LOOKS_AT_OUTPUT = /^(not:\s*)*(exit|stdout|json|judge):/

/**
 * Where a run seems to fail whatever is kept, its oracle may have looked at the files of the
 * recorded run each time: forks leave the disk as it is.
 */
export function filesNote(
  tape: Tape,
  oracle: string,
  { verdict }: Pick<BlameFindings, 'verdict'>,
): string[] {
  if (verdict !== 'no attributable step' || LOOKS_AT_OUTPUT.test(oracle)) return []
  if (oracle.includes('RETAKE_FILES') || filesOnTape(tape).written.size === 0) return []
  return [
    'The agent writes files, and forks write theirs elsewhere: an oracle finds them in the folder RETAKE_FILES, see `retake docs oracles`.',
  ]
}
