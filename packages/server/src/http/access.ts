import { addressOf, bearerOf, type RateLimit } from '@retake/web'
import type { Context, MiddlewareHandler } from 'hono'
import { hasRole } from '../database/database.js'
import { serverErrors } from '../edge/errors.js'
import type { Accounts, Organization, Person } from '../people/accounts.js'
import type { ApiKeys } from '../people/api-keys.js'
import type { TeamRuns } from '../runs/team-runs.js'
import type { Settings } from '../edge/settings.js'
import type { Actor, Role, ApiKey, Scope, StoredProject } from '../database/tables.js'

export type Caller =
  | { readonly kind: 'person'; readonly person: Person }
  | { readonly kind: 'key'; readonly org: string; readonly key: ApiKey }

export interface Member {
  readonly actor: Actor
  readonly organization: Organization
  readonly caller: Caller
}

export interface ServerEnv {
  Variables: {
    nonce: string
    /** Also in the log and in the response header `x-request-id`. */
    requestId: string
    caller: Caller | undefined
  }
}

export class MemberAccess {
  constructor(
    private readonly accounts: Accounts,
    private readonly keys: ApiKeys,
    private readonly runs: TeamRuns,
  ) {}

  /** Identifies the caller by an API key in the header, or else by a session. */
  readonly identify: MiddlewareHandler<ServerEnv> = async (c, next) => {
    const bearer = bearerOf(c)
    if (bearer?.startsWith('rtk_')) {
      const found = await this.keys.find(bearer)
      if (found === undefined) throw serverErrors.NOT_SIGNED_IN()
      c.set('caller', { kind: 'key', ...found })
    } else {
      const person = await this.accounts.person(c.req.raw.headers)
      c.set('caller', person && { kind: 'person', person })
    }
    await next()
  }

  person(c: Context<ServerEnv>): Person {
    const { caller } = c.var
    if (caller?.kind !== 'person') throw serverErrors.NOT_SIGNED_IN()
    return caller.person
  }

  /**
   * The member who requests the organization in the path: an API key with this scope, or a person.
   * If `role` is given, only people with at least that role. For others, the organization seems not
   * to exist.
   */
  async member(c: Context<ServerEnv>, scope: Scope, role?: Role): Promise<Member> {
    const { caller } = c.var
    const slug = c.req.param('org') ?? ''
    if (caller === undefined) throw serverErrors.NOT_SIGNED_IN()
    if (caller.kind === 'key') {
      const organization = await this.accounts.organization(caller.org)
      if (organization?.slug !== slug) throw serverErrors.NOT_FOUND('organization')
      // A stolen key must not be able to create keys.
      if (role !== undefined) throw serverErrors.PERSON_NEEDED()
      if (!caller.key.scopes.includes(scope)) throw serverErrors.SCOPE_MISSING(scope)
      const ownRole: Role = caller.key.scopes.some((each) => each !== 'read') ? 'member' : 'viewer'
      const actor = { org: caller.org, user: `key ${caller.key.name}`, role: ownRole }
      return { actor, organization, caller }
    }
    const memberships = await this.accounts.memberships(caller.person.id)
    const found = memberships.find(({ organization }) => organization.slug === slug)
    if (found === undefined) throw serverErrors.NOT_FOUND('organization')
    if (!hasRole(found, role ?? (scope === 'read' ? 'viewer' : 'member')))
      throw serverErrors.NOT_ALLOWED('do this', found.role)
    const actor = { org: found.organization.id, user: caller.person.email, role: found.role }
    return { actor, organization: found.organization, caller }
  }

  /** Like `member`, for the project in the path. A key may be limited to one project. */
  async project(
    c: Context<ServerEnv>,
    scope: Scope,
    role?: Role,
  ): Promise<Member & { readonly project: StoredProject }> {
    const member = await this.member(c, scope, role)
    const project = await this.runs.project(member.actor, c.req.param('project') ?? '')
    const { caller } = member
    if (caller.kind === 'key' && caller.key.project !== null && caller.key.project !== project.id)
      throw serverErrors.NOT_FOUND('project')
    return { ...member, project }
  }

  /** Refuses keys that are limited to one project. */
  checkWholeOrganization({ caller }: Member): void {
    if (caller.kind === 'key' && caller.key.project !== null) throw serverErrors.KEY_LIMITED()
  }
}

/**
 * Refuses changes sent by a page of another origin, which could act as its visitor or sign the
 * visitor in as somebody else. Programs send neither origin nor cookies.
 */
export const checkOrigin =
  (origin: string): MiddlewareHandler<ServerEnv> =>
  async (c, next) => {
    const isChange = c.req.method !== 'GET' && c.req.method !== 'HEAD'
    if (isChange) {
      const [site, from] = [c.req.header('sec-fetch-site'), c.req.header('origin')]
      const isUnnamed = from === undefined && site === undefined
      const isOwn = from === origin || (from === undefined && site === 'same-origin')
      if (!isOwn && (!isUnnamed || c.req.header('cookie') !== undefined))
        throw serverErrors.ORIGIN_REFUSED()
    }
    await next()
  }

export function checkRate(limit: RateLimit, key: string): void {
  const seconds = limit.take(key)
  if (seconds > 0) throw serverErrors.TOO_MANY_REQUESTS(seconds)
}

/** Address of the client; that of the proxy if proxies are not trusted. */
export function clientAddress(c: Context, { trustProxy }: Settings): string {
  const forwarded = trustProxy
    ? c.req.header('x-forwarded-for')?.split(',').at(-1)?.trim()
    : undefined
  return forwarded ?? addressOf(c)
}
