import type { Context } from 'hono'
import { RefusedError } from '../errors.js'
import type { Explained } from '../model/run-head.js'
import type { plainPage } from './plain-page.js'

type ErrorStatus = Parameters<typeof plainPage>[1]

/** Errors of a home that mean: there is no such thing (any more). */
const GONE: ReadonlySet<string> = new Set([
  'TAPE_MISSING',
  'UNKNOWN_RUN',
  'NO_SUCH_STEP',
  'TAPE_NO_SUCH_EVENT',
])

/** Any error in words for people. A mistake in Retake itself says only its message. */
export function explained(error: unknown): Explained {
  if (isExplained(error)) {
    const { code, what, why, fix } = error
    return { code, what, ...(why !== undefined && { why }), ...(fix !== undefined && { fix }) }
  }
  return {
    code: 'UNEXPECTED',
    what: error instanceof Error ? error.message : String(error),
    why: 'This is a mistake in Retake.',
    fix: 'The terminal of `retake ui` shows where; please report it.',
  }
}

const isExplained = (error: unknown): error is Explained =>
  typeof error === 'object' && error !== null && 'code' in error && 'what' in error

export function statusOfError(error: unknown): ErrorStatus {
  if (error instanceof RefusedError) return error.status
  if (!isExplained(error)) return 500
  return GONE.has(error.code) ? 404 : 422
}

/** How the API answers an error: as JSON that the client throws again. */
export function answerError(error: unknown, c: Context): Response {
  const status = statusOfError(error)
  if (status === 500) printStack(error)
  return c.json({ error: explained(error) }, status)
}

/** Not one of ours: whoever started the server sees where it happened. */
export function printStack(error: unknown): void {
  process.stderr.write(`${(error instanceof Error ? error.stack : undefined) ?? String(error)}\n`)
}
