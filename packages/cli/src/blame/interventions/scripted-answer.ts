import type { FreeAnswer } from '@retake/engine'
import type { Step, Tape } from '@retake/tape'
import {
  answerOfData,
  DoesNotFit,
  emptyAnswer,
  failedAnswer,
  neutralAnswer,
} from './build-answer.js'
import { isRecord } from './neutral-value.js'

/**
 * An answer as a script file holds it: `{ "payload": … }`, `{ "error": "…" }`, or one of
 * the words `live`, `neutral`, `nothing` and `error`.
 */
export function scriptedAnswer(tape: Tape, step: Step, scripted: unknown): FreeAnswer | 'live' {
  switch (scripted) {
    case 'live':
      return 'live'
    case 'neutral':
      return neutralAnswer(tape, step)
    case 'nothing':
      return emptyAnswer(tape, step)
    case 'error':
      return failedAnswer(step)
    default:
  }
  if (isRecord(scripted) && typeof scripted['error'] === 'string')
    return { error: scripted['error'] }
  if (isRecord(scripted) && 'payload' in scripted)
    return answerOfData(tape, step, scripted['payload'])
  throw new DoesNotFit('the script has neither { "payload": … } nor { "error": "…" } for it')
}
