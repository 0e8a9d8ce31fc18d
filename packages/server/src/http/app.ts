import { RetakeError } from '@retake/engine/errors'
import { answerHeaders, isSecret, RateLimit, viewerAssets, viewerStyleName } from '@retake/web'
import { type Context, Hono } from 'hono'
import type { Database } from '../database/database.js'
import { explainFailure, httpStatus, serverErrors } from '../errors.js'
import type { Notifications } from '../notify/notifications.js'
import type { Log } from '../operate/log.js'
import { checkMetricsReader, type Metrics, routeOf } from '../operate/metrics.js'
import type { Jobs } from '../jobs/jobs.js'
import type { ModelEndpoints } from '../jobs/model-endpoint.js'
import { workerToken } from '../jobs/worker-token.js'
import type { Accounts } from '../people/accounts.js'
import type { ApiKeys } from '../people/api-keys.js'
import type { Members } from '../people/members.js'
import type { TeamApprovals } from '../runs/approvals.js'
import type { TeamRuns } from '../runs/team-runs.js'
import type { Settings } from '../settings.js'
import type { ServerKeys } from '../storage/server-keys.js'
import { type Access, checkOrigin, checkRate, clientAddress, type ServerEnv } from './access.js'
import { teamApi } from './api.js'
import { jobApi, workerApi } from './job-routes.js'
import { accountPages } from './pages/account-pages.js'
import { badgeImage } from './pages/badge.js'
import { PageLayout } from './pages/layout.js'
import { organizationPages } from './pages/organization-pages.js'
import { projectPages } from './pages/project-pages.js'
import { STYLE, STYLE_NAME } from './pages/style.js'
import type { ProjectRepositories } from './project-repository.js'

export interface AppParts {
  readonly access: Access
  readonly accounts: Accounts
  readonly apiKeys: ApiKeys
  readonly approvals: TeamApprovals
  readonly database: Database
  readonly jobs: Jobs
  readonly keys: ServerKeys
  readonly log: Log
  readonly members: Members
  readonly metrics: Metrics
  readonly models: ModelEndpoints
  readonly notifications: Notifications
  readonly repositories: ProjectRepositories
  readonly runs: TeamRuns
  readonly settings: Settings
  readonly setupToken: string
  readonly version: string
  /** Public address, without a slash at its end. */
  readonly url: string
}

export interface RouteParts extends AppParts {
  readonly layout: PageLayout
  readonly address: (c: Context) => string
}

const BADGE_DAYS = 7

/** All routes of the server, below the path of its public address. */
export function createApp(parts: AppParts): Hono<ServerEnv> {
  const { settings, access, accounts, jobs, log, metrics, runs, url } = parts
  const { origin, pathname } = new URL(url)
  const base = pathname === '/' ? '' : pathname
  const requests = new RateLimit(settings.requestsPerMinute)
  const signIns = new RateLimit(10)
  const layout = new PageLayout(base, viewerStyleName())
  const address = (c: Context): string => clientAddress(c, settings)
  const all: RouteParts = { ...parts, layout, address }
  const routes = new Hono<ServerEnv>()
    .get('/healthz', (c) => c.json({ ok: true }))
    .get('/readyz', async (c) => {
      await parts.database.ping()
      return c.json({ ok: true })
    })
    .get('/metrics', async (c) => {
      checkMetricsReader(c, settings)
      const type = 'text/plain; version=0.0.4; charset=utf-8'
      return c.text(await metrics.text(), 200, { 'content-type': type })
    })
    .use(async (c, next) => {
      checkRate(requests, address(c))
      await next()
    })
    .get(`/assets/${STYLE_NAME}`, (c) =>
      c.body(STYLE, 200, {
        'content-type': 'text/css; charset=utf-8',
        'cache-control': 'private, max-age=31536000, immutable',
      }),
    )
    .route('/assets', viewerAssets())
    .get('/badges/:badge{[A-Za-z0-9]+\\.[a-z0-9]+\\.svg}', async (c) => {
      const [org = '', token = ''] = c.req.param('badge').split('.')
      const actor = { org, user: 'badge', role: 'viewer' } as const
      const project = (await runs.projects(actor)).find((each) => isSecret(token, each.badgeToken))
      if (project === undefined) throw serverErrors.NOT_FOUND('badge')
      const since = new Date(Date.now() - BADGE_DAYS * 86_400_000)
      return c.body(badgeImage(await runs.activity(actor, project, since)), 200, {
        'content-type': 'image/svg+xml; charset=utf-8',
        'cache-control': 'public, max-age=300',
        // Pages of other sites show it.
        'cross-origin-resource-policy': 'cross-origin',
      })
    })
    .use(checkOrigin(origin))
    .on(['GET', 'POST'], '/api/auth/*', async (c) => {
      // A command line that waits for its person must not block the sign-on of others.
      checkRate(signIns, `${c.req.path} ${address(c)}`)
      const response = await accounts.handle(c.req.raw)
      if (response === undefined) throw serverErrors.NOT_FOUND('address')
      return response
    })
    .route('/api/v1/worker', workerApi({ jobs, token: workerToken(settings, parts.keys) }))
    .use(access.identify)
    .route('/api/v1', teamApi(all))
    .route('/api/v1', jobApi(all))
    .all('/api/*', () => {
      throw serverErrors.NOT_FOUND('address')
    })
    .route('/', accountPages(all))
    .route('/', organizationPages(all))
    .route('/', projectPages(all))
  return new Hono<ServerEnv>()
    .use(metrics.observe(log, address))
    .use(
      answerHeaders({
        scripts: (nonce) => `'nonce-${nonce}'`,
        more: {
          // Forms must send their origin.
          'referrer-policy': 'same-origin',
          ...(url.startsWith('https:') && { 'strict-transport-security': 'max-age=31536000' }),
        },
      }),
    )
    .route(base === '' ? '/' : base, routes)
    .get(`${base}/`, (c) => c.redirect(base, 301))
    .all('*', () => {
      throw serverErrors.NOT_FOUND('address')
    })
    .onError((error, c) => answerError(error, c, all))
}

/** A page for browsers, JSON for programs. Browsers without a session are redirected to sign in. */
async function answerError(
  thrown: unknown,
  c: Context<ServerEnv>,
  { log, layout, database }: RouteParts,
): Promise<Response> {
  const error = await failureOf(thrown, database)
  const status = httpStatus(error)
  const { path, method } = c.req
  const id = c.var.requestId
  const isPage =
    !path.startsWith(`${layout.base}/api/`) && (c.req.header('accept') ?? '').includes('text/html')
  if (status === 401 && isPage && c.var.caller === undefined) {
    const { pathname, search } = new URL(c.req.url)
    const to = method === 'GET' ? `?to=${encodeURIComponent(`${pathname}${search}`)}` : ''
    return c.redirect(`${layout.base}/sign-in${to}`, 303)
  }
  const shown = explained(error, id)
  // The address itself can contain a token.
  if (shown.code === 'UNEXPECTED' || INTERNAL.has(shown.code))
    log.error('request failed', error, { id, method, route: routeOf(c) })
  const wait = shown.code === 'TOO_MANY_REQUESTS' ? /\d+/.exec(shown.fix)?.[0] : undefined
  if (wait !== undefined) c.header('retry-after', wait)
  // The rest of the body is not read, so the connection cannot be used again.
  if (status === 413) c.header('connection', 'close')
  return isPage ? layout.errorPage(c, shown, status) : c.json({ error: shown }, status)
}

/** Errors that quote the system, with paths and addresses of the server. */
const INTERNAL: ReadonlySet<string> = new Set([
  'DATABASE_UNREACHABLE',
  'STORAGE_FAILED',
  'DISK_FULL',
])

/** The message of an internal error could reveal something about other organizations. */
function explained(error: unknown, id: string) {
  if (error instanceof RetakeError) {
    const { code, what, fix } = error
    const isInternal = INTERNAL.has(code)
    return {
      code,
      what,
      why: isInternal ? `See number ${id} in the log of the server.` : error.why,
      fix,
    }
  }
  return {
    code: 'UNEXPECTED',
    what: 'The server could not answer.',
    why: `This is a bug in Retake, with number ${id} in the log of the server.`,
    fix: 'Please report it.',
  }
}

/** Libraries hide the reason of a failure: one while the database does not answer comes from that. */
async function failureOf(thrown: unknown, database: Database): Promise<unknown> {
  const error = explainFailure(thrown)
  if (error instanceof RetakeError) return error
  return database.ping().then(
    () => error,
    (reason: unknown) => reason,
  )
}
