import { Deadline } from '@retake/tape/format'
import { randomBytes } from 'node:crypto'
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import path from 'node:path'
import { connect } from 'node:tls'
import { reason } from '@retake/engine/errors'
import { sandboxMissing } from '@retake/runner/sandbox'
import { isLoopback } from '@retake/web'
import { ownerAccess } from '../database/database.js'
import { Mailer } from '../people/mail.js'
import { signOnProblem } from '../people/sign-on.js'
import type { Settings } from '../edge/settings.js'
import { probeStorage } from '../storage/blob-store.js'
import { ServerKeys } from '../storage/server-keys.js'
import { Log } from '../edge/log.js'
import { withOwnDatabase } from './maintain.js'

const FREE_BYTES_MIN = 2 ** 30
const CLOCK_MS_MAX = 5000
/** First version with `security_invoker` views. */
const POSTGRES_MIN = 15
const CERTIFICATE_DAYS_MIN = 14
const PROBE_MS = 10_000

export interface Problem {
  /** Part of the server as one word. */
  readonly part: string
  /** The problem and its fix in one line. */
  readonly text: string
}

type Report = (text: string) => void
type Check = (settings: Settings, report: Report) => Promise<void> | void

export async function findProblems(settings: Settings): Promise<Problem[]> {
  const found = await Promise.all(
    Object.entries(checks).map(async ([part, check]) => {
      const problems: Problem[] = []
      const report: Report = (text) =>
        void problems.push({ part, text: text.replaceAll(/\s+/g, ' ') })
      try {
        await check(settings, report)
      } catch (error) {
        report(`the check failed: ${reason(error)}`)
      }
      return problems
    }),
  )
  return found.flat()
}

const checks: Readonly<Record<string, Check>> = {
  folder: checkFolder,
  disk: checkDisk,
  database: checkDatabase,
  storage: checkStorage,
  mail: checkMail,
  address: checkAddress,
  certificate: checkCertificate,
  proxy: checkProxy,
  'sign-on': checkSignOn,
  workers: checkWorkers,
}

/** The nearest folder that exists. */
const existing = (folder: string): string =>
  existsSync(folder) || path.dirname(folder) === folder ? folder : existing(path.dirname(folder))

function checkFolder({ data }: Settings, report: Report): void {
  const folder = existing(data)
  try {
    accessSync(folder, constants.W_OK)
  } catch {
    report(`the server cannot write to ${folder}; make the server's user its owner`)
  }
  if (folder === data && (statSync(data).mode & 0o066) !== 0)
    report(`other users can read ${data}; run chmod 711 on it`)
  const secret = ServerKeys.fileIn(data)
  const file = statSync(secret, { throwIfNoEntry: false })
  if (file !== undefined && (file.mode & 0o077) !== 0)
    report(`other users can read ${secret}; run chmod 600 on it`)
  const user = process.getuid?.()
  if (file !== undefined && user !== undefined && user !== 0 && file.uid !== user)
    report(
      `${secret} belongs to user ${file.uid}, but this command runs as user ${user}; run both as the same user`,
    )
}

function checkDisk({ data }: Settings, report: Report): void {
  const { bavail, bsize, ffree, files } = statfsSync(existing(data))
  const free = bavail * bsize
  if (free < FREE_BYTES_MIN)
    report(
      `only ${Math.floor(free / 2 ** 20)} MB of disk space left for ${data}; remove runs or add space`,
    )
  if (files > 0 && ffree < 10_000) report(`only ${ffree} free inodes left for ${data}; remove runs`)
}

async function checkDatabase(settings: Settings, report: Report): Promise<void> {
  const isOwn = settings.databaseUrl === undefined
  // The first start creates the database.
  if (isOwn && !existsSync(path.join(settings.data, 'postgres'))) return
  const { hostname = '', searchParams } = settings.databaseUrl ?? {}
  const isHere = hostname === '' || isLoopback(hostname)
  if (!isHere && !/^(?:require|verify-)/.test(searchParams?.get('sslmode') ?? ''))
    report(
      `the connection to PostgreSQL on ${hostname} is not encrypted; add sslmode=require to DATABASE_URL`,
    )
  await withOwnDatabase(settings, new Log('text', () => {}), (address) =>
    ownerAccess(address).asOwner(async (client) => {
      const sentAt = Date.now()
      const { rows } = await client.query<{
        version: number
        now: number
        may: boolean
        encoding: string
      }>(`select current_setting('server_version_num')::int / 10000 as version,
        extract(epoch from clock_timestamp())::float8 * 1000 as now,
        (select rolsuper or rolcreaterole from pg_roles where rolname = current_user) as may,
        current_setting('server_encoding') as encoding`)
      const took = Date.now() - sentAt
      const [row] = rows
      if (row === undefined) return report('PostgreSQL returned no result')
      if (row.version < POSTGRES_MIN)
        report(`PostgreSQL ${row.version} is not supported; use version ${POSTGRES_MIN} or later`)
      if (!row.may) report('the user in DATABASE_URL cannot create roles; grant it CREATEROLE')
      if (row.encoding !== 'UTF8')
        report(`its encoding is ${row.encoding}; create a database with encoding UTF8`)
      const skew = Math.abs(row.now - (sentAt + took / 2)) - took / 2
      if (skew > CLOCK_MS_MAX)
        report(
          `its clock is ${Math.round(skew / 1000)} s off from this machine's; synchronize both with NTP`,
        )
    }),
  )
}

async function checkStorage(settings: Settings, report: Report): Promise<void> {
  if (settings.s3Url === undefined) return
  const problem = await probeStorage(settings, `probe/${randomBytes(8).toString('hex')}`)
  if (problem !== undefined) report(`S3 ${problem}; check the RETAKE_S3_* settings`)
}

async function checkMail(settings: Settings, report: Report): Promise<void> {
  const mailer = new Mailer(settings, new Log('text', () => {}))
  try {
    await mailer.check()
  } catch (error) {
    report(`cannot use the mail server: ${reason(error)}; check RETAKE_SMTP_URL`)
  } finally {
    mailer.close()
  }
  if (settings.smtpUrl !== undefined && settings.mailFrom.endsWith('@localhost'))
    report(`emails are sent from ${settings.mailFrom}; set RETAKE_MAIL_FROM to a real address`)
  const { host, url } = settings
  const isPublic = !isLoopback(host) || (url !== undefined && !isLoopback(url.hostname))
  if (settings.smtpUrl === undefined && isPublic)
    report('sign-in links are only written to the log; set RETAKE_SMTP_URL or RETAKE_OIDC_ISSUER')
}

async function checkAddress(settings: Settings, report: Report): Promise<void> {
  const { url, host } = settings
  if (url === undefined) {
    if (!isLoopback(host))
      report(`the server listens on ${host}, but its links point to localhost; set RETAKE_URL`)
    return
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    report(`${url.href} is not encrypted; serve it over https with a reverse proxy`)
  const address = `${url.href.replace(/\/$/, '')}/api/v1`
  try {
    using deadline = new Deadline({ ms: PROBE_MS })
    const response = await fetch(address, { signal: deadline.signal })
    const body = (await response.json().catch(() => undefined)) as { name?: unknown } | undefined
    if (body?.name !== 'retake')
      report(`${address} is not answered by a Retake server; check the path and the proxy`)
  } catch (error) {
    const cause = (error as { cause?: unknown }).cause ?? error
    report(`${address} is not responding: ${reason(cause)}; start the server or check the proxy`)
  }
}

async function checkCertificate({ url }: Settings, report: Report): Promise<void> {
  if (url?.protocol !== 'https:') return
  const until = await new Promise<string | undefined>((resolve) => {
    const socket = connect(
      {
        host: url.hostname,
        port: Number(url.port || 443),
        servername: url.hostname,
        timeout: PROBE_MS,
        // `checkAddress` reports an invalid certificate.
        rejectUnauthorized: false,
      },
      () => {
        resolve(socket.getPeerCertificate().valid_to)
        socket.destroy()
      },
    )
    socket.on('error', () => resolve(undefined)).on('timeout', () => socket.destroy())
    socket.on('close', () => resolve(undefined))
  })
  if (until === undefined) return
  const days = Math.floor((Date.parse(until) - Date.now()) / 86_400_000)
  if (days < CERTIFICATE_DAYS_MIN)
    report(
      days < 0
        ? `the certificate for ${url.hostname} expired on ${until}; renew it`
        : `the certificate for ${url.hostname} expires in ${days} days; renew it`,
    )
}

function checkProxy({ url, host, trustProxy }: Settings, report: Report): void {
  const isBehindProxy = url !== undefined && !isLoopback(url.hostname) && isLoopback(host)
  if (isBehindProxy && !trustProxy)
    report('behind a proxy, all clients seem to share one address; set RETAKE_TRUST_PROXY=on')
  if (
    trustProxy &&
    !isLoopback(host) &&
    !/^(?:10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.)/.test(host)
  )
    report(
      `clients can reach ${host} directly and forge X-Forwarded-For; listen on an address that only the proxy can reach`,
    )
}

async function checkSignOn(settings: Settings, report: Report): Promise<void> {
  const { oidcIssuer, oidcClientId } = settings
  if (oidcIssuer === undefined) return
  if (oidcClientId === undefined)
    report('single sign-on is off because RETAKE_OIDC_CLIENT_ID is not set; set it')
  const problem = await signOnProblem(oidcIssuer)
  if (problem !== undefined) report(problem)
}

function checkWorkers({ workers }: Settings, report: Report): void {
  const why = workers === 0 ? undefined : sandboxMissing()
  if (why !== undefined)
    report(`jobs that run agent code are refused because ${why}; workers need bubblewrap`)
}
