import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream, existsSync, readdirSync } from 'node:fs'
import {
  copyFile,
  link,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  stat,
  writeFile,
} from 'node:fs/promises'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import type pg from 'pg'
import type { ownerAccess } from '../database/database.js'
import { migrations, type Roles } from '../database/schema.js'
import { serverErrors } from '../edge/errors.js'
import { fileDigest, hashed } from '../runs/run-cache.js'
import { syncToDisk } from '../storage/blob-store.js'
import { ServerKeys } from '../storage/server-keys.js'

/**
 * A backup is a folder:
 *
 *     backup.json        what it contains, with digests; written last
 *     database.jsonl.gz  all rows of people and organizations, from one snapshot
 *     server.json        the secret of the server
 *     blobs/             stored files, encrypted as they are; missing if they are in S3
 *     blobs.sha256       their digests, as `sha256sum -c` reads them
 */
interface Manifest {
  readonly version: 1
  readonly retake: string
  readonly createdAt: string
  /** Number of the last migration. */
  readonly schema: number
  readonly rows: number
  readonly database: { readonly sha256: string }
  readonly blobs: { readonly files: number; readonly sha256: string } | 's3' | 'not included'
}

const FORMAT = 1
const DATABASE_FILE = 'database.jsonl.gz'
const MANIFEST_FILE = 'backup.json'
const BLOBS_FILE = 'blobs.sha256'
const BATCH = 500
/** Number of automatic backups to retain. */
const AUTOMATIC_MAX = 5

type BackupDatabase = ReturnType<typeof ownerAccess>

export interface BackupSource {
  readonly data: string
  readonly database: BackupDatabase
  readonly version: string
  readonly blobs: 'copy' | 's3' | 'leave out'
}

export interface BackupSummary {
  readonly folder: string
  readonly rows: number
  readonly files: number
}

/**
 * Writes a backup into a new folder. The server may be running: rows come from one snapshot, and files
 * are copied before and after it, so no file of the snapshot is missing. Files of a run that is
 * removed meanwhile may remain in the backup.
 */
export async function writeBackup(source: BackupSource, folder: string): Promise<BackupSummary> {
  if (existsSync(folder)) throw serverErrors.BACKUP_EXISTS(folder)
  const draft = `${folder}.part`
  await rm(draft, { recursive: true, force: true })
  await mkdir(draft, { recursive: true, mode: 0o700 })
  try {
    const blobs = source.blobs === 'copy' ? new BlobCopy(source.data, draft) : undefined
    await blobs?.copy()
    const { schema, rows, sha256 } = await dumpRows(
      source.database,
      path.join(draft, DATABASE_FILE),
    )
    await blobs?.copy()
    const files = await blobs?.finish()
    await writeFile(
      path.join(draft, 'server.json'),
      await readFile(ServerKeys.fileIn(source.data)),
      { mode: 0o600 },
    )
    const manifest: Manifest = {
      version: FORMAT,
      retake: source.version,
      createdAt: new Date().toISOString(),
      schema,
      rows,
      database: { sha256 },
      blobs: files ?? (source.blobs === 's3' ? 's3' : 'not included'),
    }
    await writeFile(path.join(draft, MANIFEST_FILE), `${JSON.stringify(manifest, null, 2)}\n`)
    for (const name of [DATABASE_FILE, MANIFEST_FILE, 'server.json', '.'])
      await syncToDisk(path.join(draft, name))
    await rename(draft, folder)
    return { folder, rows, files: files?.files ?? 0 }
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    throw error
  }
}

/** Backs up rows and keys before a change of the schema. Removes the oldest automatic backups. */
export async function backUpBeforeChange(source: Omit<BackupSource, 'blobs'>): Promise<string> {
  const folder = path.join(source.data, 'backups')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const name = new Date().toISOString().replaceAll(/[:.]/g, '-')
  await writeBackup({ ...source, blobs: 'leave out' }, path.join(folder, name))
  const all = (await readdir(folder)).filter((each) => /^\d{4}-[\d-]+T[\d-]+Z$/.test(each))
  for (const old of all.toSorted().slice(0, -AUTOMATIC_MAX))
    await rm(path.join(folder, old), { recursive: true, force: true })
  return path.join(folder, name)
}

/** Copies stored files as hard links. Files never change; records are replaced, not overwritten. */
class BlobCopy {
  readonly #source: string
  readonly #target: string
  readonly #list: string
  /** Copied files by path. A record that was replaced has another inode. */
  readonly #copied = new Map<string, { readonly inode: number; readonly sha256: string }>()

  constructor(data: string, target: string) {
    this.#source = path.join(data, 'blobs')
    this.#target = path.join(target, 'blobs')
    this.#list = path.join(target, BLOBS_FILE)
  }

  async copy(): Promise<void> {
    const options = { recursive: true, withFileTypes: true } as const
    for (const entry of await readdir(this.#source, options).catch(() => [])) {
      if (!entry.isFile() || entry.name.endsWith('.tmp')) continue
      const from = path.join(entry.parentPath, entry.name)
      const name = path.relative(this.#source, from).replaceAll(path.sep, '/')
      const found = await stat(from).catch(() => undefined)
      if (found === undefined || this.#copied.get(name)?.inode === found.ino) continue
      const sha256 = await this.#copyFile(name, from)
      if (sha256 !== undefined) this.#copied.set(name, { inode: found.ino, sha256 })
    }
  }

  async #copyFile(name: string, from: string): Promise<string | undefined> {
    const to = path.join(this.#target, name)
    await mkdir(path.dirname(to), { recursive: true, mode: 0o700 })
    await rm(to, { force: true })
    try {
      await link(from, to).catch(() => copyFile(from, to))
    } catch (error) {
      // The run was removed meanwhile.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
    return fileDigest(to)
  }

  async finish(): Promise<{ readonly files: number; readonly sha256: string }> {
    const lines = [...this.#copied]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, { sha256 }]) => `${sha256}  blobs/${name}\n`)
    const text = lines.join('')
    await writeFile(this.#list, text)
    return { files: lines.length, sha256: createHash('sha256').update(text).digest('hex') }
  }
}

// Rows

/** The table and organization of the rows that follow. */
interface Section {
  readonly table: string
  readonly org?: string
  readonly columns: readonly string[]
}

/** Last value of a sequence. */
interface SequenceValue {
  readonly sequence: string
  readonly value: string
}

/**
 * Sessions, and links and codes that were sent. A backup must not sign anybody in, nor restore a
 * session that has ended.
 */
const TEMPORARY: ReadonlySet<string> = new Set([
  'auth.session',
  'auth.verification',
  'auth."deviceCode"',
])

/** Makes PostgreSQL print table names with their schema. */
const FULL_NAMES = 'set local search_path = pg_catalog'

interface TableInfo {
  /** With its schema, quoted where needed. */
  readonly name: string
  readonly columns: readonly string[]
  readonly isOfOrganizations: boolean
}

/**
 * All rows as lines of JSON, from one snapshot. Tables of organizations are read per organization, in
 * the role of a member, because row-level security applies to everybody but a superuser.
 */
async function dumpRows(
  database: BackupDatabase,
  file: string,
): Promise<{ readonly schema: number; readonly rows: number; readonly sha256: string }> {
  return database.asOwner(async (client) => {
    await client.query('begin isolation level repeatable read, read only')
    await client.query(`${FULL_NAMES}; set local timezone = 'UTC'`)
    const { rows: numbers } = await client.query<{ count: number }>(
      'select coalesce(max(number), 0) as count from retake.migration',
    )
    const hash = createHash('sha256')
    const counter = { rows: 0 }
    const output = createWriteStream(file, { mode: 0o600 })
    await pipeline(
      Readable.from(dumpLines(client, database.roles, counter)),
      createGzip({ level: 6 }),
      hashed(hash),
      output,
    )
    await client.query('commit')
    return { schema: numbers[0]?.count ?? 0, rows: counter.rows, sha256: hash.digest('hex') }
  })
}

async function* dumpLines(
  client: pg.Client,
  roles: Roles,
  counter: { rows: number },
): AsyncGenerator<string> {
  const { rows: orgs } = await client.query<{ id: string }>(
    'select id from auth.organization order by id',
  )
  const tables = (await tablesOf(client)).filter(({ name }) => !TEMPORARY.has(name))
  for (const table of tables)
    for (const org of table.isOfOrganizations ? orgs.map(({ id }) => id) : [undefined]) {
      if (org !== undefined) await becomeMember(client, roles, org)
      const section: Section = {
        table: table.name,
        ...(org !== undefined && { org }),
        columns: table.columns,
      }
      yield `# ${JSON.stringify(section)}\n`
      await client.query(
        `declare backup cursor for select row_to_json(t)::text as line from ${table.name} t`,
      )
      for (;;) {
        const { rows } = await client.query<{ line: string }>(`fetch ${BATCH} from backup`)
        counter.rows += rows.length
        for (const { line } of rows) yield `${line}\n`
        if (rows.length < BATCH) break
      }
      await client.query('close backup')
      if (org !== undefined) await client.query('set local role none')
    }
  const { rows: sequences } = await client.query<{ sequence: string }>(`
    select pg_get_serial_sequence(c.oid::regclass::text, a.attname) as sequence
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
      join pg_attribute a on a.attrelid = c.oid
    where n.nspname in ('auth', 'retake') and a.attidentity <> '' and not a.attisdropped`)
  for (const { sequence } of sequences) {
    const { rows } = await client.query<{ value: string }>(
      `select last_value::text as value from ${sequence}`,
    )
    yield `# ${JSON.stringify({ sequence, value: rows[0]?.value ?? '1' } satisfies SequenceValue)}\n`
  }
  yield `# ${JSON.stringify({ end: counter.rows })}\n`
}

async function becomeMember(client: pg.Client, { member }: Roles, org: string): Promise<void> {
  await client.query(
    `select set_config('retake.org', $1, true), set_config('retake.user', 'server', true),
      set_config('retake.role', 'owner', true),
      set_config('retake.proof', encode(sha256(convert_to(
        secret || '|' || $1 || '|owner|' || secret, 'UTF8')), 'hex'), true)
      from retake.gate`,
    [org],
  )
  await client.query(`select set_config('role', $1, true)`, [member])
  const { rows } = await client.query<{ org: string }>('select retake.current_org() as org')
  // Otherwise, an empty backup would go unnoticed.
  if (rows[0]?.org !== org) throw new Error('the database does not show the rows of organizations')
}

/** Tables of people and organizations, in the order of their foreign keys. */
async function tablesOf(client: pg.Client): Promise<TableInfo[]> {
  const { rows } = await client.query<{
    name: string
    columns: string[]
    forced: boolean
    needs: string[]
  }>(`
    select c.oid::regclass::text as name, c.relforcerowsecurity as forced,
      (select array_agg(quote_ident(attname) order by attnum) from pg_attribute
        where attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated = '') as columns,
      coalesce((select array_agg(confrelid::regclass::text) from pg_constraint
        where conrelid = c.oid and contype = 'f' and confrelid <> c.oid), '{}') as needs
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind = 'r' and (n.nspname = 'auth' or n.nspname = 'retake' and c.relforcerowsecurity)
    order by n.nspname, c.relname`)
  const sorted: typeof rows = []
  const add = (table: (typeof rows)[number]): void => {
    if (sorted.includes(table)) return
    for (const name of table.needs) rows.filter((each) => each.name === name).forEach(add)
    sorted.push(table)
  }
  rows.forEach(add)
  return sorted.map(({ name, columns, forced }) => ({ name, columns, isOfOrganizations: forced }))
}

/** Inserts the rows of a backup, in one transaction. The tables must be empty. */
async function loadRows(database: BackupDatabase, file: string): Promise<number> {
  return database.asOwner(async (client) => {
    await client.query('begin')
    await client.query(FULL_NAMES)
    const tables = new Map((await tablesOf(client)).map((table) => [table.name, table]))
    let section: Section | undefined
    let batch: string[] = []
    let count = 0
    let end: number | undefined
    const flush = async (): Promise<void> => {
      if (section === undefined || batch.length === 0) return
      const known = tables.get(section.table)
      const columns = section.columns.filter((column) => known?.columns.includes(column)).join(', ')
      if (known === undefined)
        throw serverErrors.BACKUP_DAMAGED(
          file,
          `it contains rows of the unknown table ${section.table}`,
        )
      await client.query(
        `insert into ${known.name} (${columns}) overriding system value
         select ${columns} from json_populate_recordset(null::${known.name}, $1::json)`,
        [`[${batch.join(',')}]`],
      )
      count += batch.length
      batch = []
    }
    const lines = createInterface({
      input: createReadStream(file).pipe(createGunzip()),
      crlfDelay: Infinity,
    })
    for await (const line of lines) {
      if (!line.startsWith('# ')) {
        batch.push(line)
        if (batch.length >= BATCH) await flush()
        continue
      }
      await flush()
      const head = JSON.parse(line.slice(2)) as Section | SequenceValue | { readonly end: number }
      section = 'table' in head ? head : undefined
      if ('end' in head) end = head.end
      await client.query('set local role none')
      if ('sequence' in head)
        await client.query('select setval($1::regclass, $2)', [head.sequence, head.value])
      if (section?.org !== undefined) await becomeMember(client, database.roles, section.org)
    }
    if (end !== count) throw serverErrors.BACKUP_DAMAGED(file, 'it is cut off')
    await client.query('commit')
    return count
  })
}

// Restoring

export interface RestoreSummary extends BackupSummary {
  readonly createdAt: string
  /** Where stored files must come from; undefined if the backup contains them. */
  readonly blobs?: 's3' | 'not included'
}

/** Restores a backup into a data folder that is missing or empty. */
export async function restoreBackup(
  folder: string,
  data: string,
  /** Calls `load` with an empty database that has this schema version. */
  withDatabase: (
    data: string,
    schema: number,
    load: (database: BackupDatabase) => Promise<number>,
  ) => Promise<number>,
): Promise<RestoreSummary> {
  const file = path.join(folder, MANIFEST_FILE)
  let manifest: Manifest
  try {
    manifest = JSON.parse(await readFile(file, 'utf8')) as Manifest
  } catch (error) {
    throw serverErrors.BACKUP_DAMAGED(file, error)
  }
  if (manifest.version !== FORMAT || typeof manifest.schema !== 'number')
    throw serverErrors.BACKUP_DAMAGED(
      file,
      `its format version is ${String(manifest.version)}, expected ${FORMAT}`,
    )

  if (manifest.schema > migrations.length)
    throw serverErrors.DATABASE_NEWER(manifest.schema, migrations.length)
  if (existsSync(data) && readdirSync(data).length > 0)
    throw serverErrors.DATA_FOLDER_NOT_EMPTY(data)
  const rowsFile = path.join(folder, DATABASE_FILE)
  if ((await fileDigest(rowsFile).catch(() => '')) !== manifest.database.sha256)
    throw serverErrors.BACKUP_DAMAGED(rowsFile, 'its digest does not match backup.json')
  // The data folder gets its name only when it is complete.
  const draft = `${data}.restoring`
  await rm(draft, { recursive: true, force: true })
  await mkdir(draft, { recursive: true, mode: 0o711 })
  try {
    const secret = await readFile(path.join(folder, 'server.json'))
    await writeFile(ServerKeys.fileIn(draft), secret, { mode: 0o600 })
    ServerKeys.open(draft)
    const files = await restoreBlobs(folder, draft, manifest)
    const rows = await withDatabase(draft, manifest.schema, (database) =>
      loadRows(database, rowsFile),
    )
    if (existsSync(data)) await rmdir(data)
    await rename(draft, data)
    return {
      folder: data,
      rows,
      files,
      createdAt: manifest.createdAt,
      ...(typeof manifest.blobs === 'string' && { blobs: manifest.blobs }),
    }
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    throw error
  }
}

async function restoreBlobs(folder: string, data: string, { blobs }: Manifest): Promise<number> {
  if (typeof blobs === 'string') return 0
  const list = await readFile(path.join(folder, BLOBS_FILE), 'utf8').catch(() => '')
  if (createHash('sha256').update(list).digest('hex') !== blobs.sha256)
    throw serverErrors.BACKUP_DAMAGED(BLOBS_FILE, 'its digest does not match backup.json')
  for (const line of list.split('\n').filter((each) => each !== '')) {
    const [, sha256 = '', name = ''] = /^([0-9a-f]{64}) {2}(blobs\/[\w./-]+)$/.exec(line) ?? []
    if (name === '' || name.includes('..')) throw serverErrors.BACKUP_DAMAGED(BLOBS_FILE, line)
    const to = path.join(data, name)
    await mkdir(path.dirname(to), { recursive: true, mode: 0o700 })
    // Copied, not linked, because the backup must stay independent of the data.
    await copyFile(path.join(folder, name), to).catch((error: unknown) => {
      throw serverErrors.BACKUP_DAMAGED(name, error)
    })
    if ((await fileDigest(to)) !== sha256)
      throw serverErrors.BACKUP_DAMAGED(name, `its digest does not match ${BLOBS_FILE}`)
  }
  return blobs.files
}
