import { createHash, randomBytes } from 'node:crypto'
import type { Actor, Database } from '../database/database.js'
import { serverErrors } from '../errors.js'
import { audit } from '../runs/team-runs.js'
import { newId } from './accounts.js'

/** What a key allows: reading runs, adding and changing them, starting jobs, deciding approvals. */
export const SCOPES = ['read', 'push', 'jobs', 'approve'] as const
export type Scope = (typeof SCOPES)[number]

export interface ApiKey {
  readonly id: string
  readonly name: string
  readonly shown: string
  /** Id of the only project it may be used for; null: all. */
  readonly project: string | null
  readonly scopes: readonly Scope[]
  readonly createdBy: string
  readonly createdAt: string
  readonly expiresAt: string | null
  readonly usedAt: string | null
}

export interface KeyOwner {
  readonly org: string
  readonly key: ApiKey
}

/** `rtk_<organization>_<secret>`. The organization tells where to look; only the secret gives access. */
const KEY = /^rtk_([A-Za-z0-9]{8,64})_([A-Za-z0-9_-]{43})$/
const USED_EVERY_MS = 60_000
const DAY_MS = 86_400_000

const hashOf = (key: string): string => createHash('sha256').update(key).digest('hex')

/** Keys for programs. Only their hashes are stored. */
export class ApiKeys {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Makes a key. It is shown once, and cannot be read again. */
  async create(
    actor: Actor,
    options: {
      readonly name: string
      readonly scopes: readonly string[]
      readonly project: string | null
      readonly days: number | null
    },
  ): Promise<{ readonly key: string; readonly id: string }> {
    const { name, project, days } = options
    const scopes = SCOPES.filter((scope) => options.scopes.includes(scope))
    if (scopes.length === 0 || scopes.length !== new Set(options.scopes).size)
      throw serverErrors.REQUEST_INVALID('The list of scopes', `Choose from ${SCOPES.join(', ')}.`)
    if (name.trim() === '' || name.length > 100)
      throw serverErrors.REQUEST_INVALID('The name', 'It must have 1 to 100 characters.')
    if (days !== null && !(Number.isInteger(days) && days > 0 && days <= 3650))
      throw serverErrors.REQUEST_INVALID('The number of days', 'It must be from 1 to 3650.')
    const key = `rtk_${actor.org}_${randomBytes(32).toString('base64url')}`
    const id = newId('k')
    await this.#database.inOrg(actor, async (rows) => {
      await rows
        .insertInto('api_key')
        .values({
          org: actor.org,
          id,
          name,
          hash: hashOf(key),
          shown: `${key.slice(0, 8)}…${key.slice(-4)}`,
          project,
          scopes,
          created_by: actor.user,
          expires_at: days === null ? null : new Date(Date.now() + days * DAY_MS),
          used_at: null,
        })
        .execute()
      await audit(rows, actor, 'key.create', name, { id, scopes, project })
    })
    return { key, id }
  }

  async list(actor: Actor): Promise<ApiKey[]> {
    const rows = await this.#database.inOrg(actor, (each) =>
      each.selectFrom('api_key').selectAll().orderBy('created_at', 'desc').execute(),
    )
    return rows.map(keyOf)
  }

  async revoke(actor: Actor, id: string): Promise<void> {
    await this.#database.inOrg(actor, async (rows) => {
      const removed = await rows
        .deleteFrom('api_key')
        .where('id', '=', id)
        .returning('name')
        .executeTakeFirst()
      if (removed === undefined) throw serverErrors.NOT_FOUND('key')
      await audit(rows, actor, 'key.revoke', removed.name, { id })
    })
  }

  /** The owner of a key; undefined if it is not valid. */
  async find(given: string): Promise<KeyOwner | undefined> {
    const org = KEY.exec(given)?.[1]
    if (org === undefined) return undefined
    const system: Actor = { org, user: 'server', role: 'member' }
    const row = await this.#database.inOrg(system, async (rows) => {
      const found = await rows
        .selectFrom('api_key')
        .selectAll()
        .where('hash', '=', hashOf(given))
        .executeTakeFirst()
      const now = Date.now()
      if (found === undefined || (found.expires_at !== null && found.expires_at.getTime() <= now))
        return undefined
      if (found.used_at === null || now - found.used_at.getTime() > USED_EVERY_MS)
        await rows
          .updateTable('api_key')
          .set({ used_at: new Date() })
          .where('id', '=', found.id)
          .execute()
      return found
    })
    return row && { org, key: keyOf(row) }
  }
}

const keyOf = (row: {
  id: string
  name: string
  shown: string
  project: string | null
  scopes: string[]
  created_by: string
  created_at: Date
  expires_at: Date | null
  used_at: Date | null
}): ApiKey => ({
  id: row.id,
  name: row.name,
  shown: row.shown,
  project: row.project,
  scopes: row.scopes as Scope[],
  createdBy: row.created_by,
  createdAt: row.created_at.toISOString(),
  expiresAt: row.expires_at?.toISOString() ?? null,
  usedAt: row.used_at?.toISOString() ?? null,
})
