import { messageText } from '@retake/tape'
import type { Tape } from '@retake/tape'
import { viewRun } from '../../view-run.js'

/** What an agent was asked to do: the first thing a user says to a model. */
export function taskOf(tape: Tape): string | undefined {
  for (const step of viewRun(tape).recordedSteps) {
    if (step.kind !== 'model') continue
    const asked = step.messages().find(({ role }) => role === 'user')
    const text = asked && messageText(asked).trim()
    if (text) return text
  }
  return undefined
}
