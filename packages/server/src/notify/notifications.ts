import { randomBytes } from 'node:crypto'
import { plural } from '@retake/tape/present'
import { reason } from '@retake/engine/errors'
import { type Database, type OrgRows, systemActor, timeText } from '../database/database.js'
import { serverErrors } from '../edge/errors.js'
import type { TeamJobs } from '../jobs/jobs.js'
import type { Log } from '../edge/log.js'
import { type Accounts, newId } from '../people/accounts.js'
import type { Mailer } from '../people/mail.js'
import { type TeamRuns } from '../runs/team-runs.js'
import type { TeamApprovals } from '../runs/approvals.js'
import type { ServerKeys, SignedTokens } from '../storage/server-keys.js'
import { checkPublic, postSigned } from '../edge/outside-request.js'
import { audit } from '../database/audit.js'
import type { Actor, NoticeEvent, Notice, Webhook } from '../database/tables.js'

export const EVENTS = {
  failure: 'A run failed',
  cluster: 'A new kind of failure',
  fix: 'A fix was found',
  approval: 'A call needs approval',
} as const

export const isNoticeEvent = (text: string): text is NoticeEvent => Object.hasOwn(EVENTS, text)

export const MODES = { none: 'Never', each: 'By email', daily: 'Daily summary' } as const
export type NoticeMode = keyof typeof MODES

export const DEFAULT_MODES: Readonly<Record<NoticeEvent, NoticeMode>> = {
  failure: 'daily',
  cluster: 'each',
  fix: 'each',
  approval: 'each',
}

const TICK_MS = 2000
const ATTEMPTS_MAX = 8
const BATCH = 50
/** Failures within half a minute share an email. */
const GATHER_MS = 30_000
/** Hour of the daily summary, in UTC. */
const DIGEST_HOUR = 7
/** Longer than all attempts of a delivery take. */
const HISTORY_MS = 14 * 86_400_000

/**
 * Sends emails and webhooks. A notice is stored with its deliveries before anything is sent, so that
 * a restart loses none. A delivery whose success was not stored is sent again.
 */
export class Notifications {
  readonly #tokens: SignedTokens
  /** When the next delivery of each organization may be due. */
  readonly #pending = new Map<string, number>()
  readonly #stops: (() => void)[] = []
  #working: Promise<void> = Promise.resolve()

  constructor(
    private readonly database: Database,
    private readonly accounts: Accounts,
    private readonly mailer: Mailer,
    private readonly log: Log,
    keys: ServerKeys,
    private readonly options: { readonly allowPrivate: boolean; readonly url: string },
  ) {
    this.#tokens = keys.tokens('links', 'unsubscribe')
  }

  /** Watches runs, approvals and jobs, and delivers notices, until `close`. */
  async start({
    runs,
    approvals,
    jobs,
  }: {
    readonly runs: TeamRuns
    readonly approvals: TeamApprovals
    readonly jobs: TeamJobs
  }): Promise<void> {
    for (const { id } of await this.database.organizations()) this.#pending.set(id, 0)
    const publish = (org: string, project: string, make: (slug: string) => Notice): void => {
      void this.#publishFor(org, project, make)
    }
    this.#stops.push(
      runs.watch(({ org, project, kind, row, isNewCluster }) => {
        if (kind !== 'pushed' || row === undefined || row.status === 'done') return
        const isNew = isNewCluster === true
        publish(org, project, (slug) => ({
          event: isNew ? 'cluster' : 'failure',
          project: slug,
          run: row.id,
          title: isNew ? `New kind of failure in ${slug}` : `A run in ${slug} failed`,
          text: `${row.name}: ${row.failure ?? row.status}`.slice(0, 1000),
          path: `${slug}/runs/${encodeURIComponent(row.id)}`,
        }))
      }),
      jobs.watch(({ org, job }) => {
        const { kind, state, result, run } = job
        const { result: found } = (result?.summary ?? {}) as { result?: { status?: string } }
        // A workaround does not count as a fix.
        if (kind !== 'fix' || state !== 'done' || found?.status !== 'repaired') return
        publish(org, job.project, (slug) => ({
          event: 'fix',
          project: slug,
          run,
          title: `A fix for ${slug} was found`,
          text: `Run ${run} passes with it. The run's page shows the patch, and how far it is shown to work.`,
          path: `${slug}/runs/${encodeURIComponent(run)}/team`,
        }))
      }),
      approvals.watch(({ org, approval }) => {
        const { run, call, state, expiresAt } = approval
        if (state !== 'waiting') return
        publish(org, approval.project, (slug) => ({
          event: 'approval',
          project: slug,
          run,
          title: `${call.tool} is waiting for approval`,
          text: `Rule ${call.rule} requires it: ${call.why} It waits until ${expiresAt.slice(11, 16)} UTC.`,
          path: 'approvals',
        }))
      }),
    )
    const timer = setInterval(() => {
      this.#working = this.#working.then(() => this.deliver())
    }, TICK_MS).unref()
    this.#stops.push(() => clearInterval(timer))
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop()
    await this.#working
  }

  async #publishFor(org: string, project: string, make: (slug: string) => Notice): Promise<void> {
    try {
      const row = await this.database.inOrg(systemActor(org), (rows) =>
        rows.selectFrom('project').select('slug').where('id', '=', project).executeTakeFirst(),
      )
      if (row !== undefined) await this.publish(org, make(row.slug))
    } catch (error) {
      this.log.error('notification failed', error, { org })
    }
  }

  /** Stores a notice and its deliveries. */
  async publish(org: string, notice: Notice, now = Date.now()): Promise<void> {
    const members = await this.accounts.members(org)
    await this.database.inOrg(systemActor(org), async (rows) => {
      const modes = await modesOf(rows)
      const hooks = await rows.selectFrom('webhook').select(['id', 'events']).execute()
      const id = newId('n')
      const isUrgent = notice.event === 'approval'
      const today = new Date(now).setUTCHours(DIGEST_HOUR, 0, 0, 0)
      const nextDigest = today > now ? today : today + 86_400_000
      const deliveries = [
        ...members.flatMap(({ id: user }) => {
          const mode = modes(user, notice.event)
          if (mode === 'none') return []
          const due = mode === 'daily' ? nextDigest : isUrgent ? now : now + GATHER_MS
          return [{ channel: 'mail', target: user, dueAt: timeText(due) }]
        }),
        ...hooks
          .filter(({ events }) => events.includes(notice.event))
          .map((hook) => ({ channel: 'webhook', target: hook.id, dueAt: timeText(now) })),
      ]
      if (deliveries.length === 0) return
      await rows
        .insertInto('notice')
        .values({ org, id, ...notice })
        .execute()
      await rows
        .insertInto('delivery')
        .values(
          deliveries.map((each) => ({
            org,
            id: newId('d'),
            notice: id,
            state: 'waiting',
            ...each,
          })),
        )
        .execute()
      const soonest = Math.min(...deliveries.map(({ dueAt: due }) => Date.parse(due)))
      this.#pending.set(org, Math.min(this.#pending.get(org) ?? Infinity, soonest))
    })
  }

  async deliver(now = Date.now()): Promise<void> {
    for (const [org, due] of this.#pending) {
      if (due > now) continue
      try {
        const next = await this.#deliverOrg(org, now)
        if (next === undefined) this.#pending.delete(org)
        else this.#pending.set(org, next)
      } catch (error) {
        this.log.error('could not deliver notifications', error, { org })
        this.#pending.set(org, now + 30_000)
      }
    }
  }

  /** Delivers what is due. Returns when the next delivery is due. */
  async #deliverOrg(org: string, now: number): Promise<number | undefined> {
    const actor = systemActor(org)
    const due = await this.database.inOrg(actor, (rows) =>
      rows
        .selectFrom('delivery')
        .innerJoin('notice', (join) =>
          join.onRef('notice.org', '=', 'delivery.org').onRef('notice.id', '=', 'delivery.notice'),
        )
        .select([
          'delivery.id',
          'delivery.channel',
          'delivery.target',
          'delivery.attempts',
          'notice.id as notice',
          'notice.event',
          'notice.project',
          'notice.run',
          'notice.title',
          'notice.text',
          'notice.path',
          'notice.at',
        ])
        .where('delivery.state', '=', 'waiting')
        .where('delivery.dueAt', '<=', timeText(now))
        .orderBy('delivery.dueAt')
        .limit(BATCH)
        .execute(),
    )
    // A user gets one email for all notices that are due.
    const groups = new Map<string, typeof due>()
    for (const each of due) {
      const key = each.channel === 'mail' ? `mail ${each.target}` : each.id
      groups.set(key, [...(groups.get(key) ?? []), each])
    }
    for (const group of groups.values()) {
      const [first] = group
      if (first === undefined) continue
      const send = first.channel === 'mail' ? this.#mail(org, group) : this.#post(org, first)
      const failure = await send.then(
        () => undefined,
        (error: unknown) => reason(error),
      )
      await this.#store(actor, group, failure, now)
    }
    return this.database.inOrg(actor, async (rows) => {
      const old = timeText(now - HISTORY_MS)
      await rows.deleteFrom('notice').where('at', '<', old).execute()
      const next = await rows
        .selectFrom('delivery')
        .select('dueAt')
        .where('state', '=', 'waiting')
        .orderBy('dueAt')
        .limit(1)
        .executeTakeFirst()
      return next && Date.parse(next.dueAt)
    })
  }

  async #store(
    actor: Actor,
    group: readonly { readonly id: string; readonly attempts: number }[],
    failure: string | undefined,
    now: number,
  ): Promise<void> {
    const attempts = Math.max(...group.map((each) => each.attempts)) + 1
    const isLast = attempts >= ATTEMPTS_MAX
    await this.database.inOrg(actor, (rows) =>
      rows
        .updateTable('delivery')
        .set({
          attempts,
          state: failure === undefined ? 'sent' : isLast ? 'failed' : 'waiting',
          error: failure?.slice(0, 500) ?? null,
          // 10 s, 40 s, 3 min, 11 min, 43 min, 3 h, 11 h.
          ...(failure !== undefined && { dueAt: timeText(now + 10_000 * 4 ** (attempts - 1)) }),
        })
        .where(
          'id',
          'in',
          group.map(({ id }) => id),
        )
        .execute(),
    )
    if (failure !== undefined)
      this.log.warn('notification not delivered', { org: actor.org, why: failure })
  }

  async #mail(org: string, notices: readonly StoredNotice[]): Promise<void> {
    const [first] = notices
    const organization = await this.accounts.organization(org)
    const members = await this.accounts.members(org)
    const to = members.find(({ id }) => id === first?.target)
    // The user may no longer be a member.
    if (first === undefined || to === undefined || organization === undefined) return
    const events = new Set(notices.map(({ event }) => event))
    const addressOf = (notice: StoredNotice): string =>
      `${this.options.url}/${organization.slug}/${notice.path}`
    const lines = notices.map((each) => `${each.title}\n${each.text}\n${addressOf(each)}`)
    const isOne = notices.length === 1
    const unsubscribe = this.unsubscribeLink(org, to.id, events.size === 1 ? first.event : 'all')
    await this.mailer.send(to.email, {
      subject: isOne
        ? `${organization.name}: ${first.title}`
        : `${organization.name}: ${plural(notices.length, 'notification')}`,
      text: isOne ? `${first.title}\n${first.text}` : lines.join('\n\n'),
      link: isOne ? addressOf(first) : `${this.options.url}/${organization.slug}`,
      unsubscribe,
    })
  }

  async #post(org: string, delivery: StoredNotice): Promise<void> {
    const hook = await this.database.inOrg(systemActor(org), (rows) =>
      rows
        .selectFrom('webhook')
        .select(['url', 'secret'])
        .where('id', '=', delivery.target)
        .executeTakeFirst(),
    )
    const organization = await this.accounts.organization(org)
    if (hook === undefined || organization === undefined) return
    const { event, project, run, title, text, path, at, id } = delivery
    const body = JSON.stringify({
      event,
      organization: organization.slug,
      project,
      run,
      title,
      text,
      url: `${this.options.url}/${organization.slug}/${path}`,
      at,
    })
    await postSigned({ ...hook, body, id }, this.options)
  }

  // Choices

  async choices(actor: Actor, user: string): Promise<Readonly<Record<NoticeEvent, NoticeMode>>> {
    const modes = await this.database.inOrg(actor, modesOf)
    return Object.fromEntries(
      Object.keys(EVENTS).map((event) => [event, modes(user, event as NoticeEvent)]),
    ) as Record<NoticeEvent, NoticeMode>
  }

  async choose(
    org: string,
    user: string,
    modes: Readonly<Partial<Record<NoticeEvent, NoticeMode>>>,
  ): Promise<void> {
    // As the server, because viewers may not write to their organization.
    await this.database.inOrg(systemActor(org), async (rows) => {
      for (const [event, mode] of Object.entries(modes))
        await rows
          .insertInto('notificationChoice')
          .values({ org, userId: user, event, mode })
          .onConflict((conflict) =>
            conflict.columns(['org', 'userId', 'event']).doUpdateSet({ mode }),
          )
          .execute()
    })
  }

  /** A link that works without signing in. */
  unsubscribeLink(org: string, user: string, event: string): string {
    return `${this.options.url}/unsubscribe?token=${this.#tokens.make(org, user, event)}`
  }

  readUnsubscribe(token: string) {
    const [org, user, event] = this.#tokens.read(token) ?? []
    if (org === undefined || user === undefined || event === undefined)
      throw serverErrors.LINK_INVALID()
    const title = isNoticeEvent(event) ? EVENTS[event] : 'everything in this organization'
    return { org, user, event, title: title.charAt(0).toLowerCase() + title.slice(1) }
  }

  async unsubscribe(token: string): Promise<void> {
    const { org, user, event } = this.readUnsubscribe(token)
    const events = isNoticeEvent(event) ? [event] : Object.keys(EVENTS)
    await this.choose(org, user, Object.fromEntries(events.map((each) => [each, 'none'])))
  }

  // Webhooks

  async webhooks(actor: Actor): Promise<(Webhook & { readonly failed?: string })[]> {
    return this.database.inOrg(actor, async (rows) => {
      const hooks = await rows
        .selectFrom('webhook')
        .select(['id', 'url', 'events'])
        .orderBy('url')
        .execute()
      const failures = await rows
        .selectFrom('delivery')
        .select(['target', 'error'])
        .where('channel', '=', 'webhook')
        .where('error', 'is not', null)
        .orderBy('dueAt', 'desc')
        .limit(100)
        .execute()
      return hooks.map((hook) => {
        const failed = failures.find(({ target }) => target === hook.id)?.error
        return { ...hook, ...(typeof failed === 'string' && { failed }) }
      })
    })
  }

  /** Returns the secret that signs its requests. It is shown only once. */
  async addWebhook(actor: Actor, url: string, events: readonly string[]): Promise<string> {
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol) || url.length > 2000)
      throw serverErrors.REQUEST_INVALID('The address', 'It must start with https:// or http://.')
    const chosen = events.filter(isNoticeEvent)
    if (chosen.length === 0)
      throw serverErrors.REQUEST_INVALID('The list of events', 'Choose at least one.')
    await checkPublic('The address', url, this.options)
    const secret = `whsec_${randomBytes(24).toString('base64url')}`
    await this.database.inOrg(actor, async (rows) => {
      const id = newId('w')
      await rows
        .insertInto('webhook')
        .values({ org: actor.org, id, url, secret, events: chosen, createdBy: actor.user })
        .execute()
      await audit(rows, actor, 'webhook.create', new URL(url).origin, { id, events: chosen })
    })
    return secret
  }

  async removeWebhook(actor: Actor, id: string): Promise<void> {
    await this.database.inOrg(actor, async (rows) => {
      const removed = await rows
        .deleteFrom('webhook')
        .where('id', '=', id)
        .returning('url')
        .executeTakeFirst()
      if (removed === undefined) throw serverErrors.NOT_FOUND('webhook')
      await audit(rows, actor, 'webhook.remove', new URL(removed.url).origin, { id })
    })
  }
}

interface StoredNotice extends Notice {
  readonly id: string
  readonly target: string
  readonly at: string
}

async function modesOf(rows: OrgRows) {
  const chosen = await rows
    .selectFrom('notificationChoice')
    .select(['userId', 'event', 'mode'])
    .execute()
  const modes = new Map(chosen.map((each) => [`${each.userId} ${each.event}`, each.mode]))
  return (user: string, event: NoticeEvent): NoticeMode =>
    (modes.get(`${user} ${event}`) as NoticeMode | undefined) ?? DEFAULT_MODES[event]
}
