import path from 'node:path'
import type { Tape } from '@retake/tape'
import type { ContinuePlan } from './continue-plan.js'
import { newBranch, overlayOf } from './plan-resume.js'

/**
 * Today's code against the tape: served while it asks for the same, live from the
 * first difference on. Nothing that is in doubt at the end of a killed run is
 * repeated: to have that, resume it.
 */
export function planRerun(tape: Tape, { name }: { readonly name?: string } = {}): ContinuePlan {
  const branch = newBranch(tape, { kind: 'rerun', edits: [] }, name)
  return {
    source: path.resolve(tape.path),
    branch,
    overlay: overlayOf(branch.path),
    leave: 'on mismatch',
    inDoubt: 'skip',
    tail: 'live',
  }
}
