import type { DeliveryEvent, InitiationEvent, NewEvent } from '@retake/tape'
import { callSite } from '../call-site.js'
import { describe, nameReceiver } from '../sessions/divergence.js'
import type { Divergence } from '../sessions/divergence.js'
import type { PendingAnswer } from './pending-answer.js'
import type { Nearest } from './recorded-index.js'

/** The agent asks for something that the tape has no answer to. */
export function noAnswer(
  event: NewEvent<InitiationEvent>,
  nearest: Nearest | undefined,
  count: number,
): Divergence {
  const site = ('site' in event ? event.site : undefined) ?? callSite()
  const found = { kind: 'unexpected', ...(site !== undefined && { site }) } as const
  if (nearest === undefined)
    return {
      ...found,
      seq: count,
      summary: `the tape has no answer to ${describe(event)}`,
      explanation: 'Nothing of this kind is left on the tape.',
      mismatches: [],
    }
  const { recorded, mismatches } = nearest
  const fields = mismatches.map(({ field }) => field).join(', ')
  return {
    ...found,
    kind: 'different',
    seq: recorded.event.seq,
    summary: `${describe(event)} differs in ${fields}`,
    explanation: `The nearest recorded one is event ${recorded.event.seq}; nothing on the tape is identical.`,
    recorded: recorded.event,
    mismatches,
  }
}

/** It wrote something else to a connection or process than when this part came. */
export const otherBytes = (
  event: DeliveryEvent,
  receiver: NewEvent,
  digest: string | undefined,
): Divergence => ({
  kind: 'different',
  seq: event.seq,
  summary: `what was sent to ${nameReceiver(receiver, undefined)} differs`,
  explanation: `The tape has ${describe(event)} after other bytes were sent.`,
  recorded: event,
  mismatches: [
    {
      field: 'sent bytes (sha256)',
      recorded: 'digest' in event ? event.digest : undefined,
      current: digest,
    },
  ],
})

/** It waits for an answer, or a rest of one, that was never recorded. */
export function waitsForever(unanswered: readonly PendingAnswer[], count: number): Divergence {
  const what = unanswered.find(({ isTimer }) => !isTimer)?.operation.action.event
  return {
    kind: 'missing',
    seq: count,
    summary: `the program waits${what === undefined ? '' : ` for ${describe(what)}`}, and the tape has no more to give`,
    explanation: 'In the recording the program did not wait for it, or gave up on it.',
    mismatches: [],
  }
}
