import type { GuardError } from '../guard-error.js'

const DEPTH = 8

/**
 * The refusal that an error of a tool comes from. Clients hand what stopped them on in an
 * error of their own: as its cause, as one of several, or only in its words.
 */
export function findRefusal(
  error: unknown,
  blocked: readonly GuardError[],
  depth = 0,
): GuardError | undefined {
  if (blocked.length === 0 || !(error instanceof Error) || depth > DEPTH) return undefined
  const itself = blocked.find(
    (each) => each === error || (codeOf(error) === each.code && error.message.includes(each.what)),
  )
  if (itself !== undefined) return itself
  const inner = error instanceof AggregateError ? (error.errors as unknown[]) : []
  for (const each of [error.cause, ...inner]) {
    const found = findRefusal(each, blocked, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}

const codeOf = (error: Error): unknown => (error as { code?: unknown }).code
