import { createHash } from 'node:crypto'
import { CamelCasePlugin, Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { isSecret } from '@retake/web'
import { explainFailure, serverErrors } from '../edge/errors.js'
import type { ServerKeys } from '../storage/server-keys.js'
import { type SchemaMigration, migrations as allMigrations, type Roles, rolesOf } from './schema.js'
import { ROLES, type Role, type Actor, type Tables } from './tables.js'

export const hasRole = ({ role }: { readonly role: Role }, least: Role): boolean =>
  ROLES.indexOf(role) >= ROLES.indexOf(least)

export const systemActor = (org: string): Actor => ({ org, user: 'server', role: 'member' })

/** A time as columns store it; default now. */
export const timeText = (ms = Date.now()): string => new Date(ms).toISOString()

/** Reads 64-bit integers as numbers and times as ISO strings. */
const types = new pg.TypeOverrides()
const { INT8, TIMESTAMPTZ } = pg.types.builtins
const timeOf = pg.types.getTypeParser(TIMESTAMPTZ) as (text: string) => Date
types.setTypeParser(INT8, Number)
types.setTypeParser(TIMESTAMPTZ, (text: string) => timeOf(text).toISOString())

/** The rows of one organization, in one transaction. */
export type OrgRows = Kysely<Tables>

/** Address of the database, with a user that may create roles. */
export interface DatabaseAddress {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly database: string
  readonly password?: string
  readonly ssl?: boolean
}

const SCHEMA = 'retake'
/** An arbitrary number, the same for all servers. */
const MIGRATION_LOCK = 7_244_116
const REQUEST_MS = 30_000

export class Database {
  /** Pool for accounts, sessions and organizations, which have their own schema. */
  readonly auth: pg.Pool
  /** Address with the role of the job queue. */
  readonly queue: DatabaseAddress
  readonly roles: Roles
  readonly #app: Kysely<Tables>
  readonly #appPool: pg.Pool
  readonly #gate: string
  readonly #owner: ReturnType<typeof ownerAccess>

  private constructor(
    owner: DatabaseAddress,
    roles: Roles,
    passwordOf: (role: string) => string,
    gate: string,
  ) {
    this.#gate = gate
    this.#owner = ownerAccess(owner)
    this.roles = roles
    const as = (role: string): DatabaseAddress => ({
      ...owner,
      user: role,
      ...(owner.password !== undefined && { password: passwordOf(role) }),
    })
    const settings = { idleTimeoutMillis: 30_000, connectionTimeoutMillis: 10_000 }
    const timeouts = { query_timeout: REQUEST_MS, statement_timeout: REQUEST_MS }
    this.#appPool = new pg.Pool({ ...as(roles.app), ...settings, ...timeouts, types, max: 12 })
    this.auth = new pg.Pool({ ...as(roles.auth), ...settings, ...timeouts, max: 6 })
    this.queue = as(roles.queue)
    // The pool replaces an idle connection that breaks. Without a listener, the error would end the
    // process.
    for (const pool of [this.#appPool, this.auth]) {
      pool.on('error', () => {})
      pool.on('connect', (client) => client.on('error', () => {}))
    }
    this.#app = new Kysely<Tables>({
      dialect: new PostgresDialect({ pool: this.#appPool }),
      plugins: [new CamelCasePlugin({ maintainNestedObjectKeys: true })],
    })
  }

  /**
   * Creates roles and schemas, migrates, and connects. Calls `beforeChange` if there is data to lose.
   * Refuses a database of a server with another secret before anything changes: the roles would get
   * other passwords, which locks that server out.
   */
  static async open(
    owner: DatabaseAddress,
    keys: ServerKeys,
    options: {
      readonly migrations?: readonly SchemaMigration[]
      readonly beforeChange?: () => Promise<void>
    } = {},
  ): Promise<Database> {
    const { migrations = allMigrations } = options
    const roles = rolesOf(owner.database)
    const passwordOf = (role: string): string => keys.key('database', role).toString('hex')
    const gate = keys.key('database', 'gate').toString('hex')
    const database = new Database(owner, roles, passwordOf, gate)
    try {
      await database.asOwner(async (client) => {
        await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
        const found = await storedGate(client)
        if (found !== undefined && !isSecret(found, gate))
          throw serverErrors.DATABASE_OTHER_SECRET(keys)
        await prepareRoles(client, roles, passwordOf)
        const { rows } = await client.query<{ count: number }>(
          `select coalesce(max(number), 0) as count from ${SCHEMA}.migration`,
        )
        const before = rows[0]?.count ?? 0
        if (before > migrations.length) throw serverErrors.DATABASE_NEWER(before, migrations.length)
        if (before > 0 && before < migrations.length) await options.beforeChange?.()
        // Uses one transaction, so that an interrupted upgrade changes nothing.
        const pending = migrations.slice(before)
        if (pending.length !== 0) {
          await client.query('begin')
          await client.query(`set local search_path = ${SCHEMA}`)
          try {
            for (const [index, { name, sql: text }] of pending.entries()) {
              await client.query(text(roles))
              await client.query('insert into migration (number, name) values ($1, $2)', [
                before + index + 1,
                name,
              ])
            }
            await client.query('commit')
          } catch (error) {
            await client.query('rollback')
            throw error
          }
        }
        if (found === undefined)
          await client.query(`insert into ${SCHEMA}.gate values ($1)`, [gate])
      })
      return database
    } catch (error) {
      await database.close()
      throw error
    }
  }

  /**
   * Runs `work` in a transaction that sees only the rows of one organization. Outside of such a
   * transaction, the role of the connection has no rights to any table.
   */
  async inOrg<T>({ org, user, role }: Actor, work: (rows: OrgRows) => Promise<T>): Promise<T> {
    return this.#explained(() =>
      this.#app.transaction().execute(async (transaction) => {
        await sql`select set_config('role', ${this.roles.member}, true),
          set_config('retake.org', ${org}, true),
          set_config('retake.user', ${user}, true),
          set_config('retake.role', ${role}, true),
          set_config('retake.proof', ${this.#proof(org, role)}, true)`.execute(transaction)
        return work(transaction.withSchema(SCHEMA))
      }),
    )
  }

  async organizations(): Promise<readonly { readonly id: string; readonly slug: string }[]> {
    const { rows } = await this.#explained(() =>
      this.auth.query<{ id: string; slug: string }>(
        'select id, slug from organization order by "createdAt", id',
      ),
    )
    return rows
  }

  async ping(): Promise<void> {
    await this.#explained(() => this.#appPool.query('select 1'))
  }

  asOwner<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    return this.#owner.asOwner(work)
  }

  /** Number of connections in use, of idle ones, and of requests that wait for one. */
  get connections(): { readonly used: number; readonly idle: number; readonly waiting: number } {
    const { totalCount, idleCount, waitingCount } = this.#appPool
    return { used: totalCount - idleCount, idle: idleCount, waiting: waitingCount }
  }

  /** Proves that the server set organization and role. `current_org` in the schema checks it. */
  #proof(org: string, role: string): string {
    return createHash('sha256').update([this.#gate, org, role, this.#gate].join('|')).digest('hex')
  }

  async close(): Promise<void> {
    await Promise.all([this.#app.destroy(), this.auth.end()])
  }

  async #explained<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw explainFailure(error)
    }
  }
}

/** Access as owner of the schemas. Row policies apply to it unless it is a superuser. */
export const ownerAccess = (owner: DatabaseAddress) => ({
  roles: rolesOf(owner.database),
  async asOwner<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = new pg.Client({ ...owner, connectionTimeoutMillis: 10_000 })
    client.on('error', () => {})
    try {
      await client.connect()
      return await work(client)
    } finally {
      await client.end().catch(() => {})
    }
  },
})

/**
 * The key of the gate, which is derived from the secret of the server that created the database, and
 * so identifies it without revealing it. Undefined if no server has completed a start.
 */
async function storedGate(client: pg.Client): Promise<string | undefined> {
  const { rows: tables } = await client.query<{ found: boolean }>(
    `select exists (select from pg_catalog.pg_tables
      where schemaname = '${SCHEMA}' and tablename = 'gate') as found`,
  )
  if (tables[0]?.found !== true) return undefined
  const { rows } = await client.query<{ secret: string }>(`select secret from ${SCHEMA}.gate`)
  return rows[0]?.secret
}

async function prepareRoles(
  client: pg.Client,
  roles: Roles,
  passwordOf: (role: string) => string,
): Promise<void> {
  const { rows } = await client.query<{ rolname: string }>(
    'select rolname from pg_roles where rolname = any($1)',
    [Object.values(roles)],
  )
  const existing = new Set(rows.map((row) => row.rolname))
  const { app, member, auth, queue } = roles
  for (const role of [app, member, auth, queue]) {
    if (!existing.has(role)) await client.query(`create role ${role} nologin`)
    const login =
      role === member ? 'nologin' : `login password ${pg.escapeLiteral(passwordOf(role))}`
    await client.query(`alter role ${role} ${login} noinherit`)
  }
  await client.query(`
    grant ${member} to ${app};
    create schema if not exists ${SCHEMA};
    revoke all on schema public from public;
    revoke temporary on database ${pg.escapeIdentifier(client.database ?? '')} from public;
    grant usage on schema ${SCHEMA} to ${member};
    alter role ${app} set search_path = pg_catalog;
    alter role ${auth} set search_path = auth;
    alter role ${queue} set search_path = queue;
    grant ${member}, ${auth}, ${queue} to current_user;
    create schema if not exists auth authorization ${auth};
    create schema if not exists queue authorization ${queue};
    create table if not exists ${SCHEMA}.migration (
      number integer primary key,
      name text not null,
      at timestamptz not null default now()
    );
  `)
}
