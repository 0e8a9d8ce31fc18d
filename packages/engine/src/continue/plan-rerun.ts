import path from 'node:path'
import type { Tape } from '@retake/tape'
import type { ContinuePlan } from './continue-plan.js'
import { newBranch, overlayOf } from './plan-resume.js'

/** Today's code against the tape: served while it asks for the same, live from the first difference on. */
export function planRerun(tape: Tape): ContinuePlan {
  const branch = newBranch(tape, { kind: 'rerun', edits: [] })
  return {
    source: path.resolve(tape.path),
    branch,
    overlay: overlayOf(branch.path),
    leave: 'on mismatch',
    inDoubt: 'retry',
    tail: 'live',
  }
}
