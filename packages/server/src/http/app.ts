import { randomBytes } from 'node:crypto'
import { RetakeError } from '@retake/engine/errors'
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { httpStatus, serverErrors } from '../errors.js'
import type { Log } from '../operate/log.js'
import type { Jobs } from '../jobs/jobs.js'
import { workerToken } from '../jobs/worker-token.js'
import type { Accounts } from '../people/accounts.js'
import type { Settings } from '../settings.js'
import { checkOrigin, clientAddress, RateLimit, type ServerEnv } from './access.js'
import { type ApiParts, teamApi } from './api.js'
import { jobApi, workerApi } from './job-routes.js'

export interface AppParts extends ApiParts {
  readonly settings: Settings
  readonly accounts: Accounts
  readonly jobs: Jobs
  readonly log: Log
  /** Public address, without a slash at its end. */
  readonly url: string
  /** Resolves if the server can answer requests. */
  readonly check: () => Promise<void>
}

/** All routes of the server, below the path of its public address. */
export function createApp(parts: AppParts): Hono<ServerEnv> {
  const { settings, access, accounts, jobs, log, url } = parts
  const { origin, pathname } = new URL(url)
  const base = pathname === '/' ? '' : pathname
  const requests = new RateLimit(settings.requestsPerMinute)
  const signIns = new RateLimit(10)
  const routes = new Hono<ServerEnv>()
    .get('/healthz', (c) => c.json({ ok: true }))
    .get('/readyz', async (c) => {
      await parts.check()
      return c.json({ ok: true })
    })
    .use(async (c, next) => {
      requests.take(clientAddress(c, settings))
      await next()
    })
    .use(checkOrigin(origin))
    .on(['GET', 'POST'], '/api/auth/*', async (c) => {
      signIns.take(`device ${clientAddress(c, settings)}`)
      const response = await accounts.handle(c.req.raw)
      if (response === undefined) throw serverErrors.NOT_FOUND('address')
      return response
    })
    .route('/api/v1/worker', workerApi({ jobs, token: workerToken(settings, parts.keys) }))
    .use(access.identify)
    .route('/api/v1', teamApi(parts))
    .route('/api/v1', jobApi(parts))
  return new Hono<ServerEnv>()
    .use(answerHeaders)
    .route(base === '' ? '/' : base, routes)
    .all('*', () => {
      throw serverErrors.NOT_FOUND('address')
    })
    .onError((error, c) => answerError(error, c, log))
}

/** Headers of every response. No page may frame ours, and no type is guessed. */
const answerHeaders: MiddlewareHandler<ServerEnv> = async (c, next) => {
  const nonce = randomBytes(16).toString('base64')
  c.set('nonce', nonce)
  await next()
  const { headers } = c.res
  if (!headers.has('content-security-policy'))
    headers.set(
      'content-security-policy',
      `default-src 'none'; style-src 'self' 'nonce-${nonce}'; script-src 'nonce-${nonce}'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
    )
  headers.set('x-frame-options', 'DENY')
  headers.set('x-content-type-options', 'nosniff')
  headers.set('cross-origin-opener-policy', 'same-origin')
  headers.set('cross-origin-resource-policy', 'same-origin')
  // Forms must send their origin.
  headers.set('referrer-policy', 'same-origin')
  if (!headers.has('cache-control')) headers.set('cache-control', 'no-store')
}

function answerError(error: unknown, c: Context<ServerEnv>, log: Log): Response {
  const status = httpStatus(error)
  if (!(error instanceof RetakeError)) {
    const id = randomBytes(6).toString('hex')
    log.error('request failed', error, { id, method: c.req.method, path: c.req.path })
    // The message could tell about other organizations.
    const what = 'The server could not answer.'
    const why = `This is a bug in Retake, with number ${id} in the log of the server.`
    return c.json({ error: { code: 'UNEXPECTED', what, why, fix: 'Please report it.' } }, 500)
  }
  const { code, what, why, fix } = error
  const wait = code === 'TOO_MANY_REQUESTS' ? /\d+/.exec(fix)?.[0] : undefined
  if (wait !== undefined) c.header('retry-after', wait)
  return c.json({ error: { code, what, why, fix } }, status)
}
