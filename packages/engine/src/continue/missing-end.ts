import { missingClosing, type Step, type Tape } from '@retake/tape'
import type { AnswerPart } from '../answers/answer-part.js'
import { EMPTY } from '../sessions/session.js'

/**
 * The end of an answer that had arrived in full, but for its end, when the run was
 * killed. Asking for it again would be a second answer to something that was
 * answered. Undefined when a part of the content is missing.
 */
export function missingEnd(tape: Tape, step: Step | undefined): readonly AnswerPart[] | undefined {
  const event = step && tape.event(step.seq)
  if (step?.state !== 'done' || event?.type !== 'request' || event.seam === 'http') return undefined
  const close: AnswerPart = { event: { type: 'deliver', part: 'close', value: 0 }, body: EMPTY }
  return [
    ...closingEvents(step).map((text) => ({
      event: { type: 'deliver', part: 'chunk' } as const,
      body: Buffer.from(text),
    })),
    { event: { type: 'deliver', part: 'end' }, body: EMPTY },
    ...(event.seam === 'http2' ? [close] : []),
  ]
}

/** The event after the last content of a stream, if it is missing. */
function closingEvents(step: Step): string[] {
  const { api, response } = step.exchange() ?? {}
  if (api === undefined || response?.events === undefined || response.text === undefined) return []
  return [missingClosing(api, response.text) ?? []].flat()
}
