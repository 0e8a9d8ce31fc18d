import { readRunBlame, type RunBlame, type Tape } from '@retake/tape'
import { cliErrors } from '../errors.js'
import { findingsPath } from './blame-files.js'
import { readIfPresent } from './run-store.js'

/** Findings of `retake blame` for a run, if any. Throws if they cannot be read. */
export const storedBlame = (tape: Tape): RunBlame | undefined =>
  readIfPresent(
    findingsPath(tape.path, tape.run.id),
    (text) => readRunBlame(JSON.parse(text) as unknown, tape.run.id),
    cliErrors.FINDINGS_UNREADABLE,
  )
