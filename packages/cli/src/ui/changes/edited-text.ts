import type { Payload } from '@retake/tape'
import { editedNotJson } from '../../errors/branches.js'

/** Whether a payload is edited as plain text: a body that is no JSON, or a tool's result that is a text. */
export const isPlainText = ({ kind, data }: Payload): boolean =>
  kind === 'text' || (kind === 'result' && typeof data === 'string')

/** A payload as it stands in an editor. */
export function payloadText(payload: Payload): string {
  if (!isPlainText(payload)) return JSON.stringify(payload.data, undefined, 2)
  return payload.kind === 'text' ? (payload.data as { text: string }).text : String(payload.data)
}

/** The payload that an edited text stands for, in the form the recorded one has. */
export function editedPayload(recorded: Payload, text: string): Payload {
  const { kind } = recorded
  if (isPlainText(recorded)) return { kind, data: kind === 'text' ? { text } : text }
  try {
    return { kind, data: JSON.parse(text) as unknown }
  } catch (cause) {
    throw editedNotJson(cause)
  }
}
