import type { PendingAnswer } from './pending-answer.js'

/**
 * Whether the agent waits for the rest of an answer that the recorded run did not
 * wait for: it had given up on it by then. What would have come is not known.
 */
export function isCutShort({ operation, parts, recorded, source }: PendingAnswer): boolean {
  const { event } = operation.action
  if (recorded === undefined || (event.type !== 'request' && event.type !== 'call')) return false
  if (event.type === 'call' && (event.kind === 'input' || event.kind === 'worker')) return false
  const last = parts.at(-1)
  const part = last === undefined ? undefined : source.delivery(last)
  if (part === undefined) return true
  if (part.type === 'result') return false
  if (part.type === 'response') return part.empty !== true
  return part.part !== 'end' && part.part !== 'close' && part.part !== 'error'
}
