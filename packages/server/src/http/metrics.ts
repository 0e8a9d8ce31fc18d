import { randomBytes } from 'node:crypto'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { addressOf, bearerOf, isSecret } from '@retake/web'
import type { Context, MiddlewareHandler } from 'hono'
import { matchedRoutes } from 'hono/route'
import { sql } from 'kysely'
import type { Database } from '../database/database.js'
import { serverErrors } from '../edge/errors.js'
import type { ServerEnv } from './access.js'
import type { TeamJobs } from '../jobs/jobs.js'
import type { Settings } from '../edge/settings.js'
import { diskSpace } from './disk-space.js'
import type { Log } from '../edge/log.js'

const BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
/** How long counts of rows are cached. */
const COUNTS_MS = 15_000

interface RouteTimes {
  readonly buckets: number[]
  seconds: number
  count: number
}

interface RowCounts {
  readonly organizations: number
  readonly runs: number
  readonly bytes: number
  /** By state. */
  readonly jobs: ReadonlyMap<string, number>
  /** When the job was started that has waited longest; undefined if none waits. */
  readonly oldestWaiting: number | undefined
  /** By channel and state, as labels. */
  readonly deliveries: ReadonlyMap<string, number>
}

/** Metrics in the text format of Prometheus, and the request log. */
export class Metrics {
  readonly #lag = monitorEventLoopDelay({ resolution: 20 })
  /** By method, route and status. */
  readonly #requests = new Map<string, number>()
  /** By route. */
  readonly #times = new Map<string, RouteTimes>()
  #inProgress = 0
  #counts: { readonly at: number; readonly rows: Promise<RowCounts> } | undefined

  constructor(
    private readonly database: Database,
    private readonly jobs: Pick<TeamJobs, 'workers'>,
    private readonly data: string,
  ) {
    this.#lag.enable()
  }

  close(): void {
    this.#lag.disable()
  }

  /** Assigns an id to every request, counts it, and logs it when it is answered. */
  observe(log: Log, address: (c: Context) => string): MiddlewareHandler<ServerEnv> {
    return async (c, next) => {
      const given = c.req.header('x-request-id')
      const id =
        given !== undefined && /^[\w-]{1,64}$/.test(given) ? given : randomBytes(6).toString('hex')
      c.set('requestId', id)
      c.header('x-request-id', id)
      const started = performance.now()
      this.#inProgress += 1
      try {
        await next()
      } finally {
        this.#inProgress -= 1
        const ms = performance.now() - started
        const { method } = c.req
        const { status } = c.res
        const route = routeOf(c)
        const seconds = ms / 1000
        const labels = `method="${label(method)}",route="${route}",status="${status}"`
        this.#requests.set(labels, (this.#requests.get(labels) ?? 0) + 1)
        const times = this.#times.get(route) ?? {
          buckets: BUCKETS_S.map(() => 0),
          seconds: 0,
          count: 0,
        }
        this.#times.set(route, times)
        times.seconds += seconds
        times.count += 1
        const bucket = BUCKETS_S.findIndex((limit) => seconds <= limit)
        if (bucket !== -1) times.buckets[bucket] = (times.buckets[bucket] ?? 0) + 1

        // Logs the route, because the address may contain a token.
        const { caller } = c.var
        log.request({
          id,
          method,
          route,
          status,
          ms: Math.round(ms),
          org: c.req.param('org'),
          who: caller?.kind === 'person' ? caller.person.id : caller?.key.id,
          from: address(c),
        })
      }
    }
  }

  async text(): Promise<string> {
    const lines: string[] = []
    const add = (name: string, type: string, help: string, values: readonly Value[]): void => {
      lines.push(`# HELP retake_${name} ${help}`, `# TYPE retake_${name} ${type}`)
      for (const [labels, value] of values)
        lines.push(`retake_${name}${labels === '' ? '' : `{${labels}}`} ${value}`)
    }
    add('requests_total', 'counter', 'Requests answered.', [...this.#requests])
    this.#addTimes(lines)
    add('requests_in_progress', 'gauge', 'Requests being answered.', [['', this.#inProgress]])
    const { used, idle, waiting } = this.database.connections
    add('database_connections', 'gauge', 'Database connections used by requests.', [
      ['state="used"', used],
      ['state="idle"', idle],
    ])
    add('database_waiting', 'gauge', 'Requests waiting for a database connection.', [['', waiting]])
    const lag = (percent: number): number => this.#lag.percentile(percent) / 1e9
    add('event_loop_lag_seconds', 'gauge', 'Event loop delay since the last scrape.', [
      ['quantile="0.5"', lag(50)],
      ['quantile="0.99"', lag(99)],
      ['quantile="1"', this.#lag.max / 1e9],
    ])
    this.#lag.reset()
    const { rss, heapUsed } = process.memoryUsage()
    add('memory_bytes', 'gauge', 'Memory used by the server process, excluding PostgreSQL.', [
      ['kind="resident"', rss],
      ['kind="heap"', heapUsed],
    ])
    const { freeBytes, bytes } = diskSpace(this.data)
    add('disk_bytes', 'gauge', 'Size of the disk with the data folder.', [['', bytes]])
    add('disk_free_bytes', 'gauge', 'Free space on the disk with the data folder.', [
      ['', freeBytes],
    ])
    const workers = this.jobs.workers()
    add('workers', 'gauge', 'Workers that were heard from in the last 45 seconds.', [
      ['sandbox="yes"', workers.filter(({ hasSandbox }) => hasSandbox).length],
      ['sandbox="no"', workers.filter(({ hasSandbox }) => !hasSandbox).length],
    ])
    const rows = await this.#rowCounts().catch(() => undefined)
    add('database_up', 'gauge', '1 if the database is responding.', [
      ['', rows === undefined ? 0 : 1],
    ])
    if (rows !== undefined) {
      add('organizations', 'gauge', 'Organizations.', [['', rows.organizations]])
      add('runs', 'gauge', 'Stored runs.', [['', rows.runs]])
      add('storage_bytes', 'gauge', 'Total size of stored runs.', [['', rows.bytes]])
      const jobs = [...rows.jobs].map(([state, count]): Value => [`state="${label(state)}"`, count])
      add('jobs', 'gauge', 'Jobs by state.', jobs)
      const { oldestWaiting = Date.now() } = rows
      add('job_waiting_seconds', 'gauge', 'Age of the oldest waiting job; 0 if none waits.', [
        ['', Math.max(0, (Date.now() - oldestWaiting) / 1000)],
      ])
      add('deliveries', 'gauge', 'Emails and webhooks of the last 14 days.', [...rows.deliveries])
    }
    return `${lines.join('\n')}\n`
  }

  #addTimes(lines: string[]): void {
    const name = 'retake_request_seconds'
    lines.push(`# HELP ${name} Time to answer a request.`, `# TYPE ${name} histogram`)
    for (const [route, { buckets, seconds, count }] of this.#times) {
      let sum = 0
      for (const [index, limit] of BUCKETS_S.entries()) {
        sum += buckets[index] ?? 0
        lines.push(`${name}_bucket{route="${route}",le="${limit}"} ${sum}`)
      }
      lines.push(
        `${name}_bucket{route="${route}",le="+Inf"} ${count}`,
        `${name}_sum{route="${route}"} ${seconds}`,
        `${name}_count{route="${route}"} ${count}`,
      )
    }
  }

  #rowCounts(): Promise<RowCounts> {
    const now = Date.now()
    if (this.#counts === undefined || now - this.#counts.at > COUNTS_MS) {
      const rows = countRows(this.database)
      this.#counts = { at: now, rows }
      rows.catch(() => (this.#counts = undefined))
    }
    return this.#counts.rows
  }
}

type Value = readonly [labels: string, value: number]

async function countRows(database: Database): Promise<RowCounts> {
  const organizations = await database.organizations()
  const jobs = new Map<string, number>()
  const waitingSince: number[] = []
  const deliveries = new Map(
    ['mail', 'webhook'].flatMap((channel) =>
      ['failed', 'retrying', 'sent', 'waiting'].map((state) => [
        `channel="${channel}",state="${state}"`,
        0,
      ]),
    ),
  )
  let runs = 0
  let bytes = 0
  for (const { id } of organizations)
    await database.inOrg({ org: id, user: 'server', role: 'viewer' }, async (rows) => {
      const found = await rows
        .selectFrom('run')
        .select(sql<number>`count(*)`.as('count'))
        .executeTakeFirst()
      runs += found?.count ?? 0
      const used = await rows.selectFrom('storageUsed').select('bytes').executeTakeFirst()
      bytes += used?.bytes ?? 0
      const states = await rows
        .selectFrom('job')
        .select(['state', sql<number>`count(*)`.as('count')])
        .groupBy('state')
        .execute()
      for (const { state, count } of states) jobs.set(state, (jobs.get(state) ?? 0) + count)
      const oldest = await rows
        .selectFrom('job')
        .select('createdAt')
        .where('state', '=', 'waiting')
        .orderBy('createdAt')
        .limit(1)
        .executeTakeFirst()
      if (oldest !== undefined) waitingSince.push(Date.parse(oldest.createdAt))
      const sent = await rows
        .selectFrom('delivery')
        .select([
          'channel',
          sql<string>`case when state = 'waiting' and error is not null then 'retrying'
            else state end`.as('state'),
          sql<number>`count(*)`.as('count'),
        ])
        .groupBy(['channel', sql`2`])
        .execute()
      for (const { channel, state, count } of sent) {
        const labels = `channel="${label(channel)}",state="${label(state)}"`
        deliveries.set(labels, (deliveries.get(labels) ?? 0) + count)
      }
    })
  const oldestWaiting = waitingSince.length === 0 ? undefined : Math.min(...waitingSince)
  return { organizations: organizations.length, runs, bytes, jobs, oldestWaiting, deliveries }
}

/** The route pattern, without names of organizations and runs. */
export const routeOf = (c: Context): string =>
  matchedRoutes(c).find(({ path }) => !path.endsWith('*'))?.path ?? 'other'

const label = (text: string): string => text.replaceAll(/[^\w-]/g, '_').slice(0, 40)

/**
 * Requires the metrics token. Without one in the settings, allows only clients on this machine that
 * do not come through a proxy.
 */
export function checkMetricsReader(c: Context, { metricsToken }: Settings): void {
  const isForwarded = ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via'].some(
    (name) => c.req.header(name) !== undefined,
  )
  const isAllowed =
    metricsToken === undefined
      ? !isForwarded && /^(?:::ffff:)?127\.|^::1$/.test(addressOf(c))
      : isSecret(bearerOf(c) ?? '', metricsToken)
  if (!isAllowed) throw serverErrors.NOT_FOUND('address')
}
