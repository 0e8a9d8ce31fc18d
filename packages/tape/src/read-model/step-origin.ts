import type { TapeEvent } from '../format/events.js'
import type { Tape } from '../format/tape.js'
import type { Step } from './step.js'

/**
 * - `served`: its answer came from the tape of the parent
 * - `edited`: its answer was put there by a fork
 * - `lost`: it was under way when the run went live, and could not go on
 * - `live`: it was really asked
 */
export type StepOrigin = 'served' | 'edited' | 'lost' | 'live'

/** Where the answer of a step of a branch came from; undefined in a run that is no branch. */
export function originOf(tape: Tape, step: Step): StepOrigin | undefined {
  const { branch } = tape.details
  if (branch === undefined || step.inferred) return undefined
  const own = step.answerSeqs.filter((seq) => !isFromParent(tape, seq))
  // On its own tape it was asked, unless every part of its answer is the parent's.
  if (step.seq >= tape.ownFrom) {
    const isServed = step.answerSeqs.length > 0 && own.length === 0
    return isServed ? 'served' : 'live'
  }
  const isForkedAt = branch.at === step.label
  if (isForkedAt && branch.edits.some(({ target }) => target === 'answer')) return 'edited'
  if (own.length === 0) return isForkedAt && step.answerSeqs.length === 0 ? 'live' : 'served'
  if (isForkedAt) return 'live'
  return own.some((seq) => hasContent(tape.event(seq))) ? 'live' : 'lost'
}

function isFromParent(tape: Tape, seq: number): boolean {
  if (seq < tape.ownFrom) return true
  const event = tape.event(seq)
  return 'from' in event && event.from !== undefined
}

/** Whether this part of an answer came from somebody; errors and ends are also made when a run goes live. */
function hasContent(event: TapeEvent): boolean {
  if (event.type === 'response') return true
  if (event.type === 'result') return event.error?.code !== 'ANSWER_LOST'
  return event.type === 'deliver' && (event.part === 'chunk' || event.part === 'message')
}
