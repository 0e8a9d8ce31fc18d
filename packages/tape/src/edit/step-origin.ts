import type { BranchEdit, TapeEvent } from '../format/events.js'
import type { Tape } from '../format/tape.js'
import { attempt } from '../format/values/attempt.js'
import { wireEqual } from '../format/values/stable-stringify.js'
import type { Step } from '../read-model/step.js'
import { answerPayload } from './answer-payload.js'
import { getPath } from './set-path.js'

/**
 * - `served`: its answer came from the tape of the parent
 * - `edited`: its answer was set by a fork
 * - `lost`: it was in progress when the run went live, and could not continue
 * - `live`: it was really sent
 */
export type StepOrigin = 'served' | 'edited' | 'lost' | 'live'

/** Where the answer of a step of a branch came from; undefined in a run that is not a branch. */
export function originOf(tape: Tape, step: Step): StepOrigin | undefined {
  const { branch } = tape.details
  if (branch === undefined || step.inferred) return undefined
  const own = step.answerSeqs.flatMap((seq) => {
    if (seq < tape.ownFrom) return []
    const event = tape.event(seq)
    return 'from' in event && event.from !== undefined ? [] : [event]
  })
  // A step on the branch's own tape was sent, unless every part of its answer is the parent's.
  if (step.seq >= tape.ownFrom) {
    if (step.answerSeqs.length > 0 && own.length === 0) return 'served'
    return isGiven(tape, step, branch.edits) ? 'edited' : 'live'
  }
  const isForkedAt = branch.at === step.label
  if (isForkedAt && branch.edits.some(({ target }) => target === 'answer')) return 'edited'
  if (own.length === 0) return isForkedAt && step.answerSeqs.length === 0 ? 'live' : 'served'
  if (isForkedAt) return 'live'
  return own.some(hasContent) ? 'live' : 'lost'
}

/**
 * True if a fork with several changes gave this answer. The tape does not say which steps got one, so
 * the answer must also contain the new values.
 */
function isGiven(tape: Tape, step: Step, all: readonly BranchEdit[]): boolean {
  const edits = all.filter(({ at, target }) => target === 'answer' && at === step.label)
  if (edits.length === 0) return false
  const data = attempt(() => answerPayload(tape, step).data)
  const hasParts = typeof data === 'object' && data !== null
  const isWhole = (path: string | undefined): boolean =>
    path === undefined || (path === 'value' && !hasParts)
  // Values that were changed after the whole answer was replaced count.
  return edits
    .filter(({ path }) => !isWhole(path) || edits.length === 1)
    .every(({ path = '', value }) =>
      wireEqual(isWhole(path || undefined) ? data : attempt(() => getPath(data, path)), value),
    )
}

/**
 * True if this part of an answer came from outside; errors and ends may also be created when a run
 * goes live.
 */
function hasContent(event: TapeEvent): boolean {
  if (event.type === 'response') return true
  if (event.type === 'result') return event.error?.code !== 'ANSWER_LOST'
  return event.type === 'deliver' && (event.part === 'chunk' || event.part === 'message')
}
