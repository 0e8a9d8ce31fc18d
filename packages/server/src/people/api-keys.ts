import { createHash, randomBytes } from 'node:crypto'
import { type Database, systemActor, timeText } from '../database/database.js'
import { serverErrors } from '../edge/errors.js'
import { newId } from './accounts.js'
import { audit } from '../database/audit.js'
import { type Actor, SCOPES, type ApiKey } from '../database/tables.js'

export interface KeyOwner {
  readonly org: string
  readonly key: ApiKey
}

/** `rtk_<organization>_<secret>`. The organization is for lookup; only the secret gives access. */
const KEY = /^rtk_([A-Za-z0-9]{8,64})_([A-Za-z0-9_-]{43})$/
const USED_EVERY_MS = 60_000
const DAY_MS = 86_400_000

/** All columns except the hash. */
const COLUMNS = [
  'id',
  'name',
  'shown',
  'project',
  'scopes',
  'createdBy',
  'createdAt',
  'expiresAt',
  'usedAt',
] as const

const hashOf = (key: string): string => createHash('sha256').update(key).digest('hex')

/** Keys for programs. Only their hashes are stored. */
export class ApiKeys {
  constructor(private readonly database: Database) {}

  /** Creates a key. It is shown once and cannot be read again. */
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
    await this.database.inOrg(actor, async (rows) => {
      await rows
        .insertInto('apiKey')
        .values({
          org: actor.org,
          id,
          name,
          hash: hashOf(key),
          shown: `${key.slice(0, 8)}…${key.slice(-4)}`,
          project,
          scopes,
          createdBy: actor.user,
          expiresAt: days === null ? null : timeText(Date.now() + days * DAY_MS),
        })
        .execute()
      await audit(rows, actor, 'key.create', name, { id, scopes, project })
    })
    return { key, id }
  }

  async list(actor: Actor): Promise<ApiKey[]> {
    return this.database.inOrg(actor, (rows) =>
      rows.selectFrom('apiKey').select(COLUMNS).orderBy('createdAt', 'desc').execute(),
    )
  }

  async revoke(actor: Actor, id: string): Promise<void> {
    await this.database.inOrg(actor, async (rows) => {
      const removed = await rows
        .deleteFrom('apiKey')
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
    const key = await this.database.inOrg(systemActor(org), async (rows) => {
      const found = await rows
        .selectFrom('apiKey')
        .select(COLUMNS)
        .where('hash', '=', hashOf(given))
        .executeTakeFirst()
      const now = Date.now()
      if (found === undefined || (found.expiresAt !== null && Date.parse(found.expiresAt) <= now))
        return undefined
      if (found.usedAt === null || now - Date.parse(found.usedAt) > USED_EVERY_MS)
        await rows
          .updateTable('apiKey')
          .set({ usedAt: timeText() })
          .where('id', '=', found.id)
          .execute()
      return found
    })
    return key && { org, key }
  }
}
