import { mkdirSync, rmSync } from 'node:fs'
import { once } from 'node:events'
import path from 'node:path'
import { RetakeError } from '@retake/engine/errors'
import { TapeError } from '@retake/tape'
import { TapeLock } from '@retake/tape/node'
import { createNodeServer } from '@retake/web'
import { Database, type DatabaseAddress, ownerAccess } from '../database/database.js'
import { Postgres } from '../database/postgres.js'
import { serverErrors } from '../edge/errors.js'
import { MemberAccess } from '../http/access.js'
import type { AppParts } from '../http/route-parts.js'
import { createApp } from './app.js'
import { ProjectRepositories } from '../http/project-repository.js'
import { JobQueue } from '../jobs/job-queue.js'
import { TeamJobs } from '../jobs/jobs.js'
import { ModelEndpoints } from '../jobs/model-endpoint.js'
import { Worker } from '../jobs/worker.js'
import { backUpBeforeChange } from './backup.js'
import { diskSpace, LOW_BYTES } from '../http/disk-space.js'
import { Notifications } from '../notify/notifications.js'
import { Log } from '../edge/log.js'
import { Metrics } from '../http/metrics.js'
import type { RetakeParts } from '../edge/parts.js'
import { Accounts } from '../people/accounts.js'
import { ApiKeys } from '../people/api-keys.js'
import { Mailer } from '../people/mail.js'
import { Members } from '../people/members.js'
import { TeamApprovals } from '../runs/approvals.js'
import { TeamRuns } from '../runs/team-runs.js'
import type { Settings } from '../edge/settings.js'
import { BlobStore } from '../storage/blob-store.js'
import { ServerKeys, workerToken } from '../storage/server-keys.js'
import type { Actor } from '../database/tables.js'

export interface RunningServer extends Pick<
  AppParts,
  'accounts' | 'database' | 'jobs' | 'models' | 'notifications' | 'runs' | 'url'
> {
  readonly port: number
  readonly data: string
  /** Link that creates the first owner; undefined if there is one. */
  readonly setupLink?: string
  close(): Promise<void>
}

const UPKEEP_MS = 3600_000
const DISK_MS = 10_000
/** How long requests in progress may take when the server stops. */
const CLOSE_MS = 1000
const DATABASE = 'retake'

/** The server without its HTTP interface; also used by maintenance commands. */
export interface ServerCore extends Pick<
  AppParts,
  'database' | 'keys' | 'log' | 'runs' | 'settings'
> {
  readonly blobs: BlobStore
  /** Backs up the database into the data folder before its tables change. */
  backUp(): Promise<void>
  close(): Promise<void>
}

/** Opens data folder, database and storage. Only one process can use a data folder. */
export async function openCore(settings: Settings, parts: RetakeParts): Promise<ServerCore> {
  const log = new Log(settings.log)
  const closing: (() => unknown)[] = []
  const close = async (): Promise<void> => {
    for (const each of closing.toReversed()) await each()
  }
  let keys: ServerKeys | undefined
  try {
    const lock = lockFolder(settings.data)
    closing.push(() => lock.release())
    keys = ServerKeys.open(settings.data)
    const address = await databaseAddress(settings, log, closing)
    const backUp = async (): Promise<void> => {
      const folder = await backUpBeforeChange({
        data: settings.data,
        database: ownerAccess(address),
        version: parts.version,
      })
      log.info('backed up before the database upgrade', { folder })
    }
    const database = await Database.open(address, keys, { beforeChange: backUp })
    closing.push(() => database.close())
    const blobs = new BlobStore(settings, keys)
    const runs = new TeamRuns(database, blobs, parts, settings, log)
    return { settings, log, keys, database, blobs, runs, backUp, close }
  } catch (error) {
    await close()
    // Nothing was stored with this secret, and it must not be taken for that of the database.
    const isOther = error instanceof RetakeError && error.code === 'DATABASE_OTHER_SECRET'
    if (isOther && keys?.isNew === true) rmSync(keys.file)
    throw error
  }
}

export function lockFolder(data: string): TapeLock {
  try {
    // Traversable for others, because PostgreSQL runs as another user if the server runs as root.
    mkdirSync(data, { recursive: true, mode: 0o711 })
  } catch (error) {
    throw serverErrors.DATA_FOLDER_NOT_WRITABLE(data, error)
  }
  try {
    return TapeLock.take(path.join(data, 'server'))
  } catch (error) {
    if (error instanceof TapeError && error.code === 'TAPE_IN_USE')
      throw serverErrors.DATA_FOLDER_IN_USE(data, error.figures?.['pid'] ?? 0)
    throw serverErrors.DATA_FOLDER_NOT_WRITABLE(data, error)
  }
}

export async function databaseAddress(
  { data, databaseUrl }: Settings,
  log: Log,
  closing: (() => unknown)[],
): Promise<DatabaseAddress> {
  if (databaseUrl !== undefined)
    return {
      host: databaseUrl.searchParams.get('host') ?? databaseUrl.hostname,
      port: Number(databaseUrl.port || databaseUrl.searchParams.get('port') || 5432),
      user: decodeURIComponent(databaseUrl.username),
      database: databaseUrl.pathname.slice(1) || DATABASE,
      password: decodeURIComponent(databaseUrl.password),
      // Certificates are always verified, even with `require`.
      ssl: (databaseUrl.searchParams.get('sslmode') ?? 'disable') !== 'disable',
    }
  const postgres = await Postgres.start(data, (line) => log.info(line))
  closing.push(() => postgres.stop())
  return Postgres.connectionOf(data)
}

export async function startServer(settings: Settings, parts: RetakeParts): Promise<RunningServer> {
  const core = await openCore(settings, parts)
  const { log, keys, database, blobs, runs } = core
  try {
    let start: (app: ReturnType<typeof createApp>) => void = () => {}
    const started = new Promise<ReturnType<typeof createApp>>((resolve) => (start = resolve))
    // The routes need the port. Requests wait until the routes exist.
    const server = createNodeServer(
      async (request, env) => (await started).fetch(request, env),
      settings.host,
    )
    server.listen(settings.port, settings.host)
    await once(server, 'listening')
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : settings.port
    const url = (settings.url?.href ?? `http://localhost:${port}`).replace(/\/$/, '')
    const mailer = new Mailer(settings, log)
    const accounts = await Accounts.open({
      settings,
      keys,
      database,
      mailer,
      log,
      url,
      beforeChange: () => core.backUp(),
    })
    const apiKeys = new ApiKeys(database)
    const queue = await JobQueue.open(database.queue, log)
    const { privateAddresses: allowPrivate, gitSources } = settings
    const models = new ModelEndpoints(database, keys, { allowPrivate })
    const jobs = new TeamJobs(database, runs, blobs, queue, models, keys, gitSources)
    await jobs.restoreQueue(log)
    const approvals = new TeamApprovals(database, keys, parts.approvals)
    const outside = { allowPrivate, url }
    const notifications = new Notifications(database, accounts, mailer, log, keys, outside)
    await notifications.start({ runs, approvals, jobs })
    const metrics = new Metrics(database, jobs, settings.data)
    const repositories = new ProjectRepositories(runs, parts)
    start(
      createApp({
        settings,
        log,
        metrics,
        keys,
        database,
        runs,
        jobs,
        models,
        accounts,
        apiKeys,
        members: new Members(accounts, database),
        approvals,
        notifications,
        repositories,
        setupToken: setupToken(keys),
        url,
        access: new MemberAccess(accounts, apiKeys, runs),
        version: parts.version,
      }),
    )
    const worker = startWorker(core, parts, { port, base: new URL(url).pathname })
    const upkeep = setInterval(() => void tidy(core, jobs), UPKEEP_MS).unref()
    const watch = setInterval(() => void watchDisk(core), DISK_MS).unref()
    const setup = (await accounts.isEmpty()) ? setupToken(keys) : undefined
    return {
      url,
      port,
      data: settings.data,
      ...(setup !== undefined && { setupLink: `${url}/setup?token=${setup}` }),
      accounts,
      runs,
      jobs,
      models,
      notifications,
      database,
      close: async () => {
        clearInterval(upkeep)
        clearInterval(watch)
        await (await worker)?.close()
        await jobs.close()
        // Waits a moment for requests in progress.
        const closed = new Promise<void>((resolve) => void server.close(() => resolve()))
        server.closeIdleConnections()
        const timer = setTimeout(() => server.closeAllConnections(), CLOSE_MS)
        await closed
        clearTimeout(timer)

        await notifications.close()
        await repositories.close()
        mailer.close()
        metrics.close()
        await core.close()
      },
    }
  } catch (error) {
    await core.close()
    throw error
  }
}

/** Starts a worker on this machine, which uses the same interface as remote workers. */
async function startWorker(
  { settings, keys, log }: ServerCore,
  parts: RetakeParts,
  { port, base }: { readonly port: number; readonly base: string },
): Promise<Worker | undefined> {
  const { data, host, workers: slots } = settings
  if (slots === 0) return undefined
  try {
    const address = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
    const worker = await Worker.start({
      server: `http://${address.includes(':') ? `[${address}]` : address}:${port}${base}`.replace(
        /\/$/,
        '',
      ),
      token: workerToken(settings, keys),
      slots,
      folder: path.join(data, 'jobs'),
      name: 'server',
      parts,
      log,
    })
    const { refusesCode: why } = worker
    if (why !== undefined) log.warn('jobs that run agent code are refused', { why })
    return worker
  } catch (error) {
    log.error('built-in worker did not start', error)
    return undefined
  }
}

/** Valid until the first account exists. */
export const setupToken = (keys: ServerKeys): string =>
  keys.key('links', 'setup').toString('base64url')

/** Makes room before the disk is full, because then the database cannot write either. */
async function watchDisk({ settings, runs, log }: ServerCore): Promise<void> {
  try {
    const { freeBytes } = diskSpace(settings.data)
    if (freeBytes >= LOW_BYTES) return
    const isRoomier = await runs.cache.makeRoom()
    if (isRoomier) log.warn('removed cached files because the disk is nearly full', { freeBytes })
  } catch (error) {
    log.error('could not check the disk', error)
  }
}

async function tidy({ database, runs, log }: ServerCore, jobs: TeamJobs): Promise<void> {
  try {
    for (const { id } of await database.organizations()) {
      const actor: Actor = { org: id, user: 'server', role: 'owner' }
      await jobs.clean(actor)
      const removed = await runs.applyRetention(actor)
      if (removed > 0) log.info('removed old runs', { org: id, runs: removed })
    }
    await runs.cache.clean()
  } catch (error) {
    log.error('maintenance failed', error)
  }
}
