import type { Actor, AuditEntry } from './tables.js'
import type { OrgRows } from './database.js'

export async function audit(
  rows: OrgRows,
  actor: Actor,
  action: string,
  target: string,
  details: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  await rows
    .insertInto('audit')
    .values({ org: actor.org, actor: actor.user, action, target, details })
    .execute()
}

export const auditLog = (
  rows: OrgRows,
  { limit, before = Number.MAX_SAFE_INTEGER }: { readonly limit: number; readonly before?: number },
): Promise<AuditEntry[]> =>
  rows
    .selectFrom('audit')
    .select(['id', 'at', 'actor', 'action', 'target', 'details'])
    .where('id', '<', before)
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
