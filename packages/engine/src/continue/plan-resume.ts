import path from 'node:path'
import type { Tape } from '@retake/tape'
import { errors } from '../errors.js'
import { safeToRepeat } from '../guard/resume/safe-to-repeat.js'
import { newRunId } from '../run-id.js'
import type { ContinuePlan, InDoubtPolicy } from './continue-plan.js'
import { findInDoubt, viewOf } from './in-doubt.js'
import type { InDoubt } from './in-doubt.js'

export interface ResumePlanOptions {
  /** For steps that left and have no answer on the tape: `fail` unless set. */
  readonly inDoubt?: InDoubtPolicy
  /** Decisions for single ones, by the number of the event that started them. */
  readonly decisions?: Readonly<Record<string, 'retry' | 'skip'>>
}

/**
 * How a run goes on after it was stopped. A killed run is continued on its own
 * tape. A run that came to an end is sealed, so it goes on as a branch: after a
 * signal from its last event, after an error with the step that failed.
 */
export function planResume(tape: Tape, options: ResumePlanOptions = {}): ContinuePlan {
  const { inDoubt = 'fail' } = options
  const decisions = { ...safeToRepeat(tape), ...options.decisions }
  const common = {
    source: path.resolve(tape.path),
    inDoubt,
    decisions,
    tail: 'live' as const,
  }
  refuseDoubt(tape, common)
  if (tape.status === 'truncated') return { ...common, leave: 'at the end' }
  const view = viewOf(tape)
  const { exit } = view
  const isFailed = exit?.error !== undefined || (exit?.code ?? 0) !== 0
  if (exit?.signal === undefined && !isFailed) throw errors.runComplete(tape.run.id)
  const branch = newBranch(tape, { kind: 'resume', edits: [] })
  if (exit?.signal !== undefined) return { ...common, branch, leave: 'at the end' }
  const failed = view.recordedSteps.findLast(
    ({ state, inferred }) => (state === 'failed' || state === 'denied') && !inferred,
  )
  const end = tape.count - (tape.status === 'sealed' ? 2 : 1)
  if (failed === undefined) return { ...common, branch, leave: 'on mismatch', until: end }
  const event = tape.event(failed.seq)
  return {
    ...common,
    branch: newBranch(tape, { kind: 'resume', at: failed.label, edits: [] }),
    leave: 'at the end',
    until: failed.answerSeqs[0] ?? failed.seq + 1,
    again: { op: event.type === 'request' ? (event.socket ?? event.seq) : event.seq },
  }
}

/** Before anything runs. */
function refuseDoubt(
  tape: Tape,
  { inDoubt, decisions = {} }: Pick<ContinuePlan, 'inDoubt' | 'decisions'>,
): void {
  if (inDoubt !== 'fail') return
  const open = findInDoubt(tape).filter(({ seq }) => decisions[seq] === undefined)
  if (open.length > 0) throw errors.stepInDoubt(open.map(named).join(', and '))
}

const named = ({ step, what }: InDoubt): string =>
  step === undefined ? what : `step ${step} (${what})`

/** A new tape beside that of its parent. */
export function newBranch(
  tape: Tape,
  details: NonNullable<ContinuePlan['branch']>['details'],
  name = tape.run.name,
): NonNullable<ContinuePlan['branch']> {
  const id = newRunId()
  return { id, name, details, path: path.join(path.dirname(path.resolve(tape.path)), `${id}.tape`) }
}

/** Where the files go that a branch writes. */
export const overlayOf = (tape: string): string => tape.replace(/\.tape$/, '.files')
