import { clipText, isDelivery } from '@retake/tape'
import type { RunView, Tape, TapeEvent } from '@retake/tape'

/** A delivery the way a person would say it: `the answer to step 3 (tool transfer)`. */
export function deliveryName(tape: Tape, view: RunView, seq: number): string {
  if (seq >= tape.count) return 'the end of local work'
  const event = tape.event(seq)
  if (!isDelivery(event)) return `event ${seq}`
  // The messages of a server are steps after the one of its process.
  const step = view.recordedSteps.findLast(
    (one) => one.seq === event.op || one.answerSeqs.includes(seq),
  )
  const started = tape.event(event.op)
  if (step !== undefined) {
    return `${partOfAnswer(event)} step ${step.label} (${shortened(step.title)})`
  }
  if (started.type === 'timer')
    return started.kind === 'immediate' ? 'an immediate' : `the ${started.kind} of ${started.ms} ms`
  if (started.type === 'work') return `the end of ${started.name}`
  if (started.type === 'call') return `the answer to ${started.name}`
  if (started.type === 'socket') return `a part of a connection to ${started.host ?? started.path}`
  return `event ${seq}`
}

const TITLE_MAX = 40
const shortened = (title: string): string => clipText(title, TITLE_MAX)

function partOfAnswer(event: TapeEvent): string {
  if (event.type === 'response') return 'the start of the answer to'
  if (event.type !== 'deliver') return 'the answer to'
  return event.part === 'end' ? 'the end of the answer to' : 'a part of the answer to'
}
