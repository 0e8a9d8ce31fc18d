import path from 'node:path'
import type { Step, Tape } from '@retake/tape'
import type { ContinuePlan } from '../continue/continue-plan.js'
import { viewOf } from '../continue/in-doubt.js'
import { newBranch, overlayOf } from '../continue/plan-resume.js'
import { errors } from '../errors.js'
import { isCutOff } from '../sessions/tape-cursor.js'
import type { KeptPlan } from './kept-plan.js'
import { serversIn, whyNotSearchable } from './searchable-steps.js'

export interface KeptForkOptions extends KeptPlan {
  /** Folder for the tape of the fork; beside its parent unless set. */
  readonly folder?: string
}

/**
 * How a run goes on with some steps held at what was recorded. Everything before
 * the first free step is served; all steps kept is a replay, which writes no tape.
 * Labels are those of `searchableSteps`; all others are refused.
 */
export function planKept(tape: Tape, options: KeptForkOptions): ContinuePlan {
  const { folder, ...given } = options
  const kept: KeptPlan = {
    ...given,
    ...(given.simulator !== undefined && { simulator: path.resolve(given.simulator) }),
  }
  const steps = viewOf(tape).recordedSteps
  const servers = serversIn(tape, steps)
  refuseOthers(tape, steps, kept)
  const held = new Set(kept.kept)
  const free = steps.find(
    (step) => !held.has(step.label) && whyNotSearchable(tape, step, servers) === undefined,
  )
  if (free === undefined && isCutOff(tape)) throw errors.runCutOff(tape.run.id)
  const details = {
    kind: 'fork' as const,
    ...(free && { at: free.label }),
    edits: [],
    tail: free === undefined ? ('offline' as const) : ('live' as const),
  }
  const beside = newBranch(tape, details)
  const branch =
    folder === undefined
      ? beside
      : { ...beside, path: path.join(path.resolve(folder), path.basename(beside.path)) }
  return {
    source: path.resolve(tape.path),
    branch,
    overlay: overlayOf(branch.path),
    leave: 'at the end',
    ...(free && { until: free.seq + 1, kept }),
    inDoubt: 'skip',
    tail: details.tail,
  }
}

/** Before anything runs. */
function refuseOthers(tape: Tape, steps: readonly Step[], plan: KeptPlan): void {
  const { kept, answers = {}, questions = {} } = plan
  const servers = serversIn(tape, steps)
  const byLabel = new Map(steps.map((step) => [step.label, step]))
  for (const label of [...kept, ...Object.keys(answers), ...Object.keys(questions)]) {
    const step = byLabel.get(label)
    if (step === undefined) throw errors.noStepToFork(tape.run.id, label, steps.length, tape.status)
    const why = whyNotSearchable(tape, step, servers)
    if (why !== undefined) throw errors.stepNotSearchable(tape.run.id, label, why)
  }
}
