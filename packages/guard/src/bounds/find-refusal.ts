import type { GuardError } from '../guard-error.js'
import { eventError } from './event-error.js'

const DEPTH = 8

/**
 * The refusal that an error of a tool comes from. Clients hand what stopped them on in an
 * error of their own: as its cause, as one of several, or only in its words; or in an event.
 */
export function findRefusal(
  error: unknown,
  blocked: readonly GuardError[],
  depth = 0,
): GuardError | undefined {
  if (blocked.length === 0 || depth > DEPTH) return undefined
  if (!(error instanceof Error)) {
    const inside = eventError(error)
    return inside && findRefusal(inside, blocked, depth + 1)
  }
  const itself = blocked.find((each) => each === error || hasWordsOf(error, each))
  if (itself !== undefined) return itself
  const inner = error instanceof AggregateError ? (error.errors as unknown[]) : []
  for (const each of [error.cause, ...inner]) {
    const found = findRefusal(each, blocked, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}

const hasWordsOf = (error: Error, refusal: GuardError): boolean =>
  error.message.includes(refusal.message) ||
  ((error as { code?: unknown }).code === refusal.code && error.message.includes(refusal.what))
