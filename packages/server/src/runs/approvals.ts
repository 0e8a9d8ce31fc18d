import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'
import { type Selectable, sql } from 'kysely'
import { type Database, timeText } from '../database/database.js'
import { serverErrors } from '../edge/errors.js'
import type { RetakeParts } from '../edge/parts.js'
import type { ServerKeys } from '../storage/server-keys.js'
import { audit } from '../database/audit.js'
import type { Actor, Tables, StoredProject, RequestedCall } from '../database/tables.js'

export interface TeamApproval {
  readonly id: string
  /** Id of the project. */
  readonly project: string
  readonly run: string
  readonly call: RequestedCall
  readonly requestedBy: string
  readonly requestedAt: string
  readonly expiresAt: string
  readonly state: 'waiting' | 'approved' | 'denied' | 'expired'
  readonly decidedBy?: string
  readonly decidedAt?: string
  readonly reason?: string
  /** Signature of the decision and of the call that was shown, with the organization's key. */
  readonly signature?: string
}

export interface ApprovalChange {
  readonly org: string
  readonly approval: TeamApproval
}

const EXPIRY_MAX_MS = 24 * 3600_000
const CALL_MAX = 100_000
const LISTED = 100
const REASON_MAX = 500
/** PKCS #8 prefix of a 32-byte Ed25519 key (RFC 8410). */
const ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex')

/** Decisions about guarded calls of programs on other machines. */
export class TeamApprovals {
  readonly #listeners = new Set<(change: ApprovalChange) => void>()

  constructor(
    private readonly database: Database,
    private readonly keys: ServerKeys,
    private readonly texts: RetakeParts['approvals'],
  ) {}

  /** Public key that verifies the decisions of an organization, as one line. */
  publicKey({ org }: Actor): string {
    const key = createPublicKey(this.#privateKey(org))
    return key.export({ type: 'spki', format: 'der' }).toString('base64')
  }

  /** Derived like all keys of the server. Waiting programs do not have it. */
  #privateKey(org: string): KeyObject {
    const seed = this.keys.key('approvals', org)
    return createPrivateKey({
      key: Buffer.concat([ED25519, seed]),
      format: 'der',
      type: 'pkcs8',
    })
  }

  watch(listener: (change: ApprovalChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Adds a request. Repeating the same request adds nothing. */
  async request(
    actor: Actor,
    project: StoredProject,
    {
      run,
      call,
      expiresMs,
    }: { readonly run: string; readonly call: RequestedCall; readonly expiresMs: number },
  ): Promise<TeamApproval> {
    const texts = ['tool', 'guard', 'rule', 'why', 'digest'] as const
    const missing = texts.find((name) => typeof call[name] !== 'string')
    if (!['string', 'undefined'].includes(typeof call.nonce))
      throw serverErrors.REQUEST_INVALID('The call', 'The field "nonce" must be a string.')
    if (missing !== undefined || !Number.isSafeInteger(call.event))
      throw serverErrors.REQUEST_INVALID(
        'The call',
        `The field "${missing ?? 'event'}" is missing.`,
      )
    if (JSON.stringify(call).length > CALL_MAX)
      throw serverErrors.TOO_LARGE('The call', JSON.stringify(call).length, CALL_MAX)

    if (!(expiresMs >= 1000 && expiresMs <= EXPIRY_MAX_MS))
      throw serverErrors.REQUEST_INVALID(
        'The field "expiresMs"',
        'It must be from 1 second to a day.',
      )
    const id = createHash('sha256')
      .update(JSON.stringify([actor.user, run, call.digest, call.event, call.nonce ?? '']))
      .digest('hex')
      .slice(0, 32)
    const { row, isNew } = await this.database.inOrg(actor, async (rows) => {
      const made = await rows
        .insertInto('waitingApproval')
        .values({
          org: actor.org,
          project: project.id,
          id,
          run,
          request: { ...call, requestedBy: actor.user },
          expiresAt: timeText(Date.now() + expiresMs),
        })
        .onConflict((conflict) => conflict.columns(['org', 'project', 'id']).doNothing())
        .returningAll()
        .executeTakeFirst()
      if (made !== undefined) return { row: made, isNew: true }
      const known = rows.selectFrom('waitingApproval').selectAll().where('id', '=', id)
      const found = await known.where('project', '=', project.id).executeTakeFirstOrThrow()
      return { row: found, isNew: false }
    })
    const approval = approvalOf(row)
    if (isNew) this.#notify(actor.org, approval)
    return approval
  }

  async find(actor: Actor, project: StoredProject, id: string): Promise<TeamApproval> {
    const row = await this.database.inOrg(actor, (rows) =>
      rows
        .selectFrom('waitingApproval')
        .selectAll()
        .where('project', '=', project.id)
        .where('id', '=', id)
        .executeTakeFirst(),
    )
    if (row === undefined) throw serverErrors.NOT_FOUND('approval')
    return approvalOf(row)
  }

  /** Resolves when the request is decided or expired, or on timeout. */
  async wait(
    actor: Actor,
    project: StoredProject,
    id: string,
    options: { readonly waitMs: number; readonly signal?: AbortSignal },
  ): Promise<TeamApproval> {
    const { signal, waitMs } = options
    let wake = (): void => {}
    const changed = new Promise<void>((resolve) => (wake = resolve))
    // Listen before reading, so that no decision is missed.
    const unwatch = this.watch((change) => {
      if (change.org === actor.org && change.approval.id === id) wake()
    })
    const timers = [setTimeout(wake, waitMs)]
    signal?.addEventListener('abort', wake, { once: true })
    try {
      const now = await this.find(actor, project, id)
      if (now.state !== 'waiting') return now
      const left = Date.parse(now.expiresAt) - Date.now()
      timers.push(setTimeout(wake, Math.min(waitMs, left + 5)))
      await changed
      return await this.find(actor, project, id)
    } finally {
      unwatch()
      for (const timer of timers) clearTimeout(timer)
      signal?.removeEventListener('abort', wake)
    }
  }

  /** Waiting requests first, then the newest; from all projects if `project` is missing. */
  async list(actor: Actor, project?: StoredProject): Promise<TeamApproval[]> {
    const rows = await this.database.inOrg(actor, (each) => {
      const all = each.selectFrom('waitingApproval').selectAll()
      return (project === undefined ? all : all.where('project', '=', project.id))
        .orderBy(sql`decision is null and expires_at > now()`, 'desc')
        .orderBy('requestedAt', 'desc')
        .limit(LISTED)
        .execute()
    })
    return rows.map(approvalOf)
  }

  /** Only the first decision counts. Throws if the call no longer waits. */
  async decide(
    actor: Actor,
    project: StoredProject,
    id: string,
    { approved, reason }: { readonly approved: boolean; readonly reason?: string },
  ): Promise<TeamApproval> {
    const before = await this.find(actor, project, id)
    if (before.requestedBy === actor.user) throw serverErrors.OWN_REQUEST()
    const given =
      reason === undefined || reason === '' ? {} : { reason: reason.slice(0, REASON_MAX) }
    if (this.texts === undefined) throw serverErrors.NOT_FOUND('approval')
    const digest = this.texts.digest(before.call)
    const text = this.texts.text({ approved, by: actor.user, ...given }, digest)
    const signature = sign(null, Buffer.from(text), this.#privateKey(actor.org))
    const row = await this.database.inOrg(actor, async (rows) => {
      const decided = await rows
        .updateTable('waitingApproval')
        .set({
          decision: approved ? 'approved' : 'denied',
          decidedBy: actor.user,
          decidedAt: timeText(),
          reason: given.reason ?? null,
          signature: signature.toString('base64url'),
        })
        .where('project', '=', project.id)
        .where('id', '=', id)
        .where('decision', 'is', null)
        .where('expiresAt', '>', timeText())
        .returningAll()
        .executeTakeFirst()
      if (decided !== undefined)
        await audit(rows, actor, approved ? 'approval.approve' : 'approval.deny', before.run, {
          id,
          tool: before.call.tool,
          reason: decided.reason,
        })
      return decided
    })
    if (row === undefined) throw serverErrors.APPROVAL_OVER()
    const approval = approvalOf(row)
    this.#notify(actor.org, approval)
    return approval
  }

  #notify(org: string, approval: TeamApproval): void {
    for (const listener of this.#listeners) listener({ org, approval })
  }
}

function approvalOf(row: Selectable<Tables['waitingApproval']>): TeamApproval {
  const { id, project, run, requestedAt, expiresAt, decision } = row
  const { requestedBy, ...call } = row.request
  const isOver = Date.parse(expiresAt) <= Date.now()
  return {
    id,
    project,
    run,
    call,
    requestedBy,
    requestedAt,
    expiresAt,
    state: decision ?? (isOver ? 'expired' : 'waiting'),
    ...(row.decidedBy !== null && { decidedBy: row.decidedBy }),
    ...(row.decidedAt !== null && { decidedAt: row.decidedAt }),
    ...(row.reason !== null && { reason: row.reason }),
    ...(row.signature !== null && { signature: row.signature }),
  }
}
