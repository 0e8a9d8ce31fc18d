import { RetakeError } from '@retake/engine/errors'
import { securityHeaders, isSecret, RateLimit, viewerAssets, viewerStyleName } from '@retake/web'
import { type Context, Hono } from 'hono'
import { explainFailure, httpStatus, isDiskFull, serverErrors } from '../edge/errors.js'
import { diskSpace, LOW_BYTES } from '../http/disk-space.js'
import { checkMetricsReader, routeOf } from '../http/metrics.js'
import type { DayActivity } from '../runs/team-runs.js'
import { workerToken } from '../storage/server-keys.js'
import { checkOrigin, checkRate, clientAddress, type ServerEnv } from '../http/access.js'
import { teamApi } from '../http/api.js'
import { jobApi, workerApi } from '../http/job-routes.js'
import { accountPages } from '../http/pages/account-pages.js'
import { PageLayout, type ScreenParts } from '../http/pages/layout.js'
import type { AppParts } from '../http/route-parts.js'
import { organizationPages } from '../http/pages/organization-pages.js'
import { projectPages } from '../http/pages/project-pages.js'
import { STYLE, STYLE_NAME } from '../http/pages/style.js'

const BADGE_DAYS = 7

/** All routes, below the path of the public address. */
export function createApp(parts: AppParts): Hono<ServerEnv> {
  const { settings, access, accounts, jobs, log, metrics, runs, url } = parts
  const { origin, pathname } = new URL(url)
  const base = pathname === '/' ? '' : pathname
  const requests = new RateLimit(settings.requestsPerMinute)
  const signIns = new RateLimit(10)
  // `retake login` asks every two seconds whether its code was confirmed.
  const polls = new RateLimit(300)
  const layout = new PageLayout(base, viewerStyleName())
  const address = (c: Context): string => clientAddress(c, settings)
  const all: ScreenParts = { ...parts, layout, address }
  const routes = new Hono<ServerEnv>()
    .get('/healthz', (c) => c.json({ ok: true }))
    .get('/readyz', async (c) => {
      await parts.database.ping()
      if (diskSpace(settings.data).freeBytes >= LOW_BYTES) return c.json({ ok: true })
      return c.json({ ok: false, code: 'DISK_FULL' }, 503)
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
        // Other sites embed the badge.
        'cross-origin-resource-policy': 'cross-origin',
      })
    })
    .use(checkOrigin(origin))
    .on(['GET', 'POST'], '/api/auth/*', async (c) => {
      // Counted per route, so that a command line that polls does not block signing in.
      const limit = c.req.path.endsWith('/device/token') ? polls : signIns
      checkRate(limit, `${c.req.path} ${address(c)}`)
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
      securityHeaders({
        scripts: (nonce) => `'nonce-${nonce}'`,
        more: {
          // Forms must send their origin, which `checkOrigin` needs.
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

/** Answers browsers with a page, programs with JSON. Redirects browsers without a session to sign in. */
async function answerError(
  thrown: unknown,
  c: Context<ServerEnv>,
  { log, layout, database, runs }: ScreenParts,
): Promise<Response> {
  let error = explainFailure(thrown)
  // Libraries may hide the cause. If the database does not respond, that is the cause.
  if (!(error instanceof RetakeError))
    await database.ping().catch((reason: unknown) => {
      error = reason
    })
  const status = httpStatus(error)
  // So that the next attempt succeeds.
  if (isDiskFull(error)) void runs.cache.makeRoom().catch(() => {})
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
  // Logs the route, because the address may contain a token.
  if (shown.code === 'UNEXPECTED' || INTERNAL.has(shown.code))
    log.error('request failed', error, { id, method, route: routeOf(c) })
  const { seconds } = shown.figures ?? {}
  if (seconds !== undefined) c.header('retry-after', String(seconds))
  // The rest of the body is not read, so the connection cannot be reused.
  if (status === 413) c.header('connection', 'close')
  return isPage ? layout.errorPage(c, shown, status) : c.json({ error: shown }, status)
}

/** Errors that quote the system, including paths and addresses of the server. */
const INTERNAL: ReadonlySet<string> = new Set([
  'DATABASE_UNREACHABLE',
  'STORAGE_FAILED',
  'DISK_FULL',
])

/** Hides the message of an internal error, which may be about other organizations. */
function explained(error: unknown, id: string) {
  if (error instanceof RetakeError) {
    const { code, what, fix, figures } = error
    const isInternal = INTERNAL.has(code)
    return {
      code,
      what,
      why: isInternal ? `See request ${id} in the server log.` : error.why,
      fix,
      ...(figures && { figures }),
    }
  }
  return {
    code: 'UNEXPECTED',
    what: 'The server could not answer.',
    why: `This is a bug in Retake; see request ${id} in the server log.`,
    fix: 'Please report it.',
  }
}

/** The share of successful runs as an SVG image, without user-supplied text. */
function badgeImage(days: readonly DayActivity[]): string {
  const runs = days.reduce((sum, day) => sum + day.runs, 0)
  const failed = days.reduce((sum, day) => sum + day.failed, 0)
  const share = runs === 0 ? undefined : Math.floor(((runs - failed) / runs) * 100)
  const value = share === undefined ? 'no runs' : `${share} % of ${runs} done`
  const colour =
    share === undefined ? '#535b65' : share >= 95 ? '#18653a' : share >= 80 ? '#804d00' : '#ac231b'
  const [left, right] = [46, 16 + value.length * 6.4]
  const width = left + right
  return `<svg
    xmlns="http://www.w3.org/2000/svg"
    width="${width}"
    height="20"
    role="img"
    aria-label="retake: ${value}"
  >
    <title>retake: ${value}</title>
    <rect width="${width}" height="20" rx="3" fill="#353b43" />
    <path d="M${left} 0H${width - 3}a3 3 0 0 1 3 3V17a3 3 0 0 1-3 3H${left}z" fill="${colour}" />
    <g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
      <text x="7" y="14">retake</text>
      <text x="${left + 8}" y="14">${value}</text>
    </g>
  </svg>`
}
