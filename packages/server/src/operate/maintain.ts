import path from 'node:path'
import { RetakeError } from '@retake/engine/errors'
import { Database, type DatabaseAddress, ownerAccess } from '../database/database.js'
import { Postgres } from '../database/postgres.js'
import { migrations } from '../database/schema.js'
import { serverErrors } from '../edge/errors.js'
import type { RetakeParts } from '../edge/parts.js'
import { Accounts } from '../people/accounts.js'
import { Mailer } from '../people/mail.js'
import type { Settings } from '../edge/settings.js'
import { databaseAddress, lockFolder, openCore } from './start-server.js'
import { ServerKeys } from '../storage/server-keys.js'
import { type BackupSummary, restoreBackup, type RestoreSummary, writeBackup } from './backup.js'
import type { Log } from '../edge/log.js'

/** Runs `work` with the database of a data folder, whether or not its server is running. */
export async function withOwnDatabase<T>(
  settings: Settings,
  log: Log,
  work: (address: DatabaseAddress) => Promise<T>,
): Promise<T> {
  const closing: (() => unknown)[] = []
  try {
    const lock = lockFolder(settings.data)
    closing.push(() => lock.release())
  } catch (error) {
    const isRunning = error instanceof RetakeError && error.code === 'DATA_FOLDER_IN_USE'
    if (!isRunning) throw error
    return work(
      settings.databaseUrl === undefined
        ? Postgres.connectionOf(settings.data)
        : await databaseAddress(settings, log, closing),
    )
  }
  try {
    return await work(await databaseAddress(settings, log, closing))
  } finally {
    for (const each of closing.toReversed()) await each()
  }
}

/** Writes a backup into a new folder. The server may be running. */
export async function backUp(
  settings: Settings,
  { version }: RetakeParts,
  log: Log,
  folder: string,
): Promise<BackupSummary> {
  if (!ServerKeys.existsIn(settings.data)) throw serverErrors.DATA_FOLDER_MISSING(settings.data)
  return withOwnDatabase(settings, log, (address) =>
    writeBackup(
      {
        data: settings.data,
        database: ownerAccess(address),
        version,
        blobs: settings.s3Url === undefined ? 'copy' : 's3',
      },
      path.resolve(folder),
    ),
  )
}

/** Restores a backup into a new data folder, and into an external database if one is set. */
export function restore(settings: Settings, log: Log, folder: string): Promise<RestoreSummary> {
  return restoreBackup(path.resolve(folder), settings.data, async (data, schema, load) => {
    const at = { ...settings, data }
    const closing: (() => unknown)[] = []
    try {
      const address = await databaseAddress(at, log, closing)
      const owner = ownerAccess(address)
      await owner.asOwner(async (client) => {
        const { rows } = await client.query<{ found: boolean }>(
          `select exists (select from information_schema.schemata where schema_name = 'retake') as found`,
        )
        if (rows[0]?.found === true) throw serverErrors.DATABASE_NOT_EMPTY()
      })
      const keys = ServerKeys.open(data)
      const known = { migrations: migrations.slice(0, schema) }
      const database = await Database.open(address, keys, known)
      closing.push(() => database.close())
      const mailer = new Mailer({ ...at, smtpUrl: undefined }, log)
      const url = 'http://localhost'
      const beforeChange = async () => {}
      await Accounts.open({ settings: at, keys, database, mailer, log, url, beforeChange })
      return await load(owner)
    } finally {
      for (const each of closing.toReversed()) await each()
    }
  })
}

export interface ReindexedOrganization {
  readonly organization: string
  readonly runs: number
  readonly problems: readonly string[]
}

/** Rebuilds the index of every organization from stored records and tapes. */
export async function reindex(
  settings: Settings,
  parts: RetakeParts,
): Promise<ReindexedOrganization[]> {
  const core = await openCore(settings, parts)
  try {
    const done: ReindexedOrganization[] = []
    for (const { id, slug } of await core.database.organizations()) {
      const result = await core.runs.reindex({ org: id, user: 'server', role: 'owner' })
      done.push({ organization: slug, ...result })
    }
    return done
  } finally {
    await core.close()
  }
}
