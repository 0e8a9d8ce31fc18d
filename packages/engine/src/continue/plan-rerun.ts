import path from 'node:path'
import type { Tape } from '@retake/tape'
import type { ContinuePlan } from './continue-plan.js'
import { newBranch } from './plan-resume.js'

/** Today's code against the tape: served while it asks for the same, live from the first difference on. */
export const planRerun = (tape: Tape): ContinuePlan => ({
  source: path.resolve(tape.path),
  branch: newBranch(tape, { kind: 'rerun', edits: [] }),
  leave: 'on mismatch',
  inDoubt: 'retry',
  tail: 'live',
})
