import type { Context } from 'hono'
import { RefusedError } from '../errors.js'
import type { Explained } from '../model/run-head.js'
import type { GuardEnv } from './answer-headers.js'
import { plainPage } from './plain-page.js'

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

/** The one place where errors become answers: JSON for the API, a plain page elsewhere. */
export function answerError(error: unknown, c: Context): Response {
  const status = statusOfError(error)
  // Not one of ours: whoever started the server sees where it happened.
  if (status === 500)
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
  const words = explained(error)
  if (c.req.path.startsWith('/api/') || c.req.path === '/api')
    return c.json({ error: words }, status)
  return plainPage(c as Context<GuardEnv>, status, words.what, [
    ...(words.why === undefined ? [] : [{ text: words.why }]),
    ...(words.fix === undefined ? [] : [{ text: words.fix }]),
    ...(status === 401 ? [goOn(c)] : []),
  ])
}

/** A browser sends our cookie only with links of our own pages: one followed from elsewhere is followed again. */
const goOn = (c: Context) => ({
  link: 'The viewer is open in this browser already: go on',
  href: `/${c.req.path.replace(/^\/+/, '')}${new URL(c.req.url).search}`,
})
