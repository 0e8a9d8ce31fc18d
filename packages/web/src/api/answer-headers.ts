import { randomBytes } from 'node:crypto'
import type { MiddlewareHandler } from 'hono'

/** What rules and pages hand to each other along a request. */
export interface GuardEnv {
  Variables: {
    /** Allows the styles of this one answer. */
    nonce: string
  }
}

/**
 * Headers on every answer, refusals too. Scripts come from the server alone, so
 * that text of a tape could not run even if it became markup; nobody may frame the
 * page (clickjacking), embed its answers (side channels) or keep a handle on its
 * window; nothing is guessed about types; addresses are told to nobody.
 */
export const answerHeaders: MiddlewareHandler<GuardEnv> = async (c, next) => {
  const nonce = randomBytes(16).toString('base64')
  c.set('nonce', nonce)
  await next()
  const { headers } = c.res
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "connect-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ]
  headers.set('content-security-policy', policy.join('; '))
  headers.set('x-frame-options', 'DENY')
  headers.set('x-content-type-options', 'nosniff')
  headers.set('cross-origin-opener-policy', 'same-origin')
  headers.set('cross-origin-resource-policy', 'same-origin')
  if (!headers.has('referrer-policy')) headers.set('referrer-policy', 'no-referrer')
  if (!headers.has('cache-control')) headers.set('cache-control', 'no-store')
}
