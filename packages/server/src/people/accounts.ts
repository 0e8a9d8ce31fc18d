import { createHmac, randomBytes } from 'node:crypto'
import { isSecret } from '@retake/web'
import { betterAuth, type BetterAuthOptions } from 'better-auth'
import { APIError } from 'better-auth/api'
import { getMigrations } from 'better-auth/db/migration'
import { bearer, deviceAuthorization, magicLink, organization } from 'better-auth/plugins'
import { createAccessControl } from 'better-auth/plugins/access'
import {
  adminAc,
  defaultStatements,
  memberAc,
  ownerAc,
} from 'better-auth/plugins/organization/access'
import { Kysely, PostgresDialect } from 'kysely'
import type { Database } from '../database/database.js'
import { serverErrors } from '../edge/errors.js'
import type { ServerKeys } from '../storage/server-keys.js'
import type { Log } from '../edge/log.js'
import type { Settings } from '../edge/settings.js'
import type { Mailer } from './mail.js'
import { SIGN_ON, signOnPlugins, signOnProblem } from './sign-on.js'
import type { Role } from '../database/tables.js'

export interface Person {
  readonly id: string
  readonly email: string
  readonly name: string
}

export interface PersonSession {
  readonly id: string
  readonly since: Date
  /** Updated once a day. */
  readonly usedAt: Date
  /** User agent of the browser or program. */
  readonly client: string
  readonly isCurrent: boolean
}

export interface Organization {
  readonly id: string
  readonly slug: string
  readonly name: string
}

export interface Membership {
  readonly organization: Organization
  readonly role: Role
}

const LINK_SECONDS = 10 * 60
const SESSION_SECONDS = 14 * 24 * 3600
/** A session ends after this time, even if it is in use. */
const SESSION_MAX_MS = 90 * 24 * 3600_000
const INVITATION_SECONDS = 7 * 24 * 3600

/** Path of the `better-auth` routes, of which only a few are served. */
export const AUTH_PATH = '/api/auth'

const access = createAccessControl(defaultStatements)
const roles = {
  owner: access.newRole(ownerAc.statements),
  admin: access.newRole(adminAc.statements),
  member: access.newRole(memberAc.statements),
  viewer: access.newRole(memberAc.statements),
}

interface AccountsOptions {
  readonly database: Database
  readonly keys: ServerKeys
  readonly log: Log
  readonly settings: Settings
  /** Public address without a trailing slash. */
  readonly url: string
  readonly mailer: Mailer
  /** Called before tables with data are changed. */
  readonly beforeChange: () => Promise<void>
}

/**
 * Signs session tokens. Tokens without a signature are refused, so database rows alone give no
 * access.
 */
const sessionSecret = (keys: ServerKeys): string => keys.key('sessions').toString('hex')

/** Browsers accept `__Host-` cookies only for this host and the root path, `__Secure-` only with TLS. */
export function cookiePrefix(url: string): '' | '__Host-' | '__Secure-' {
  const { protocol, pathname } = new URL(url)
  if (protocol !== 'https:') return ''
  return pathname === '/' ? '__Host-' : '__Secure-'
}

/** Discards the tokens of the sign-on provider, which are not needed after signing in. */
const NO_TOKENS = { accessToken: null, refreshToken: null, idToken: null }

function configure({ settings, keys, database, mailer, url, log }: AccountsOptions) {
  const { origin, protocol, pathname } = new URL(url)
  return {
    appName: 'Retake',
    baseURL: `${url}${AUTH_PATH}`,
    secret: sessionSecret(keys),
    database: {
      db: new Kysely({ dialect: new PostgresDialect({ pool: database.auth }) }),
      type: 'postgres',
    },
    trustedOrigins: [origin],
    session: { expiresIn: SESSION_SECONDS, updateAge: 24 * 3600 },
    advanced: {
      // The library supports only one of the prefixes.
      useSecureCookies: false,
      cookiePrefix: `${cookiePrefix(url)}retake`,
      defaultCookieAttributes: {
        secure: protocol === 'https:',
        httpOnly: true,
        // Links in emails are followed from other sites.
        sameSite: 'lax',
        path: pathname,
      },
    },
    // The server limits requests before they get here.
    rateLimit: { enabled: false },
    telemetry: { enabled: false },
    // Omits details, which contain tokens.
    logger: { level: 'error', log: (_, message) => log.warn(message) },
    // Our own page, which does not show the reason in the address.
    onAPIError: { errorURL: `${url}/sign-in` },
    account: {
      // Anyone who can choose their address at the provider could take over an account.
      accountLinking: { enabled: true, trustedProviders: settings.oidcTrustEmail ? [SIGN_ON] : [] },
    },
    databaseHooks: {
      account: {
        create: { before: async (account) => ({ data: { ...account, ...NO_TOKENS } }) },
        update: { before: async (account) => ({ data: { ...account, ...NO_TOKENS } }) },
      },
    },
    plugins: [
      magicLink({
        storeToken: 'hashed',
        expiresIn: LINK_SECONDS,
        disableSignUp: true,
        sendMagicLink: async ({ email, token }) => {
          await mailer.send(email, {
            subject: 'Sign in to Retake',
            text: 'Open this link to sign in. It works once, for 10 minutes. If you did not request it, ignore this email.',
            link: `${url}/sign-in/confirm?token=${encodeURIComponent(token)}`,
          })
        },
      }),
      organization({
        ac: access,
        roles,
        allowUserToCreateOrganization: true,
        invitationExpiresIn: INVITATION_SECONDS,
        requireEmailVerificationOnInvitation: false,
        sendInvitationEmail: async ({ id, email, organization: { name }, inviter }) => {
          await mailer.send(email, {
            subject: `Join ${name} on Retake`,
            text: `${inviter.user.email} invites you to ${name}. The invitation is valid for 7 days.`,
            link: invitationLink(url, keys, id),
          })
        },
      }),
      deviceAuthorization({ expiresIn: '10m', interval: '2s', verificationUri: `${url}/device` }),
      bearer({ requireSignature: true }),
      ...signOnPlugins(settings),
    ],
  } satisfies BetterAuthOptions
}

/**
 * Creates or changes the account tables in one transaction. Calls `beforeChange` if there is data to
 * lose.
 */
async function migrateAccounts(
  options: BetterAuthOptions,
  { auth }: Database,
  beforeChange: () => Promise<void>,
): Promise<void> {
  const { toBeCreated, toBeAdded, toBeAddedIndexes, compileMigrations } =
    await getMigrations(options)
  if (toBeCreated.length + toBeAdded.length + toBeAddedIndexes.length === 0) return
  const isNew = toBeCreated.some(({ table }) => table === 'user')
  if (!isNew) await beforeChange()
  await auth.query(await compileMigrations())
}

type Auth = ReturnType<typeof betterAuth<ReturnType<typeof configure>>>

export class Accounts {
  #auth: Auth
  /** One organization is created at a time, so that each request sees the ones before. */
  #creating: Promise<unknown> = Promise.resolve()
  readonly hasSso: boolean

  private constructor(
    auth: Auth,
    private readonly options: AccountsOptions,
  ) {
    this.#auth = auth
    const { oidcIssuer, oidcClientId } = options.settings
    this.hasSso = oidcIssuer !== undefined && oidcClientId !== undefined
  }

  static async open(options: AccountsOptions): Promise<Accounts> {
    const configured = configure(options)
    await migrateAccounts(configured, options.database, options.beforeChange)
    return new Accounts(betterAuth(configured), options)
  }

  /** The person who is signed in with a session cookie or token. */
  async person(headers: Headers): Promise<Person | undefined> {
    const session = await this.#auth.api.getSession({ headers })
    if (session === null) return undefined
    if (Date.now() - new Date(session.session.createdAt).getTime() > SESSION_MAX_MS)
      return undefined
    const { id, email, name } = session.user
    return { id, email, name }
  }

  async memberships(user: string): Promise<readonly Membership[]> {
    const { rows } = await this.options.database.auth.query<Organization & { role: Role }>(
      `select o.id, o.slug, o.name, m.role from member m
       join organization o on o.id = m."organizationId" where m."userId" = $1 order by o.name`,
      [user],
    )
    return rows.map(({ role, ...each }) => ({ organization: each, role }))
  }

  async organization(id: string): Promise<Organization | undefined> {
    const { rows } = await this.options.database.auth.query<Organization>(
      'select id, slug, name from organization where id = $1',
      [id],
    )
    return rows[0]
  }

  async members(org: string): Promise<(Person & { readonly role: Role })[]> {
    const { rows } = await this.options.database.auth.query<Person & { role: Role }>(
      `select u.id, u.email, u.name, m.role from member m join "user" u on u.id = m."userId"
       where m."organizationId" = $1 order by u.email`,
      [org],
    )
    return rows
  }

  /** True until the first account exists. */
  async isEmpty(): Promise<boolean> {
    const { rows } = await this.options.database.auth.query('select 1 from "user" limit 1')
    return rows.length === 0
  }

  /** Sends a link if the address has an account. Does not reveal whether it has one. */
  async sendLink(email: string, headers: Headers): Promise<void> {
    checkEmail(email)
    const found = await this.#userByEmail(email)
    if (found === undefined) return
    await this.#auth.api.signInMagicLink({ body: { email: found.email }, headers })
  }

  /** Redeems the token of a link. The response sets the session cookies. */
  async useLink(token: string, headers: Headers): Promise<Response> {
    const response = await this.#auth.api.magicLinkVerify({
      query: { token },
      headers,
      asResponse: true,
    })
    if (!isSignedIn(response)) throw serverErrors.LINK_INVALID()
    await this.#replaceSession(response, headers)
    return response
  }

  /** Ends the session of the request, and logs the new one. */
  async #replaceSession(response: Response, headers: Headers): Promise<void> {
    const before = await this.#auth.api.getSession({ headers })
    if (before !== null) {
      const { internalAdapter } = await this.#auth.$context
      await internalAdapter.deleteSession(before.session.token)
    }
    const now = await this.#auth.api.getSession({ headers: cookiesOf(response) })
    this.options.log.info('signed in', { who: now?.user.email })
  }

  /** Creates an account, signs it in, and creates an organization that it owns. */
  async createOwner(
    { email, name, organization: title, slug }: NewOwner,
    headers: Headers,
  ): Promise<Response> {
    checkEmail(email)
    checkSlug(slug)
    const user = await this.#createUser(email, name)
    await this.#auth.api.createOrganization({ body: { name: title, slug, userId: user.id } })
    return this.#signIn(email.toLowerCase(), headers)
  }

  /**
   * True for an owner of organizations, up to a number of them. Every organization has its own quota
   * and share of the workers, which members could otherwise bypass.
   */
  async mayCreateOrganization(user: string): Promise<boolean> {
    const owned = (await this.memberships(user)).filter(({ role }) => role === 'owner')
    return owned.length > 0 && owned.length < this.options.settings.organizationsPerOwner
  }

  async createOrganization(person: Person, title: string, slug: string): Promise<Organization> {
    checkSlug(slug)
    const creating = this.#creating.then(async () => {
      if (!(await this.mayCreateOrganization(person.id)))
        throw serverErrors.ORGANIZATION_LIMIT(this.options.settings.organizationsPerOwner)
      return explained(() =>
        this.#auth.api.createOrganization({ body: { name: title, slug, userId: person.id } }),
      )
    })
    this.#creating = creating.catch(() => {})
    const made = await creating
    return { id: made.id, slug: made.slug, name: made.name }
  }

  /**
   * Invites by email. `headers` must be those of a person who may invite. Without a mail server,
   * returns the link, which that person has to send.
   */
  async invite(
    org: string,
    email: string,
    role: Role,
    headers: Headers,
  ): Promise<string | undefined> {
    checkEmail(email)
    const { id } = await explained(() =>
      this.#auth.api.createInvitation({
        body: { email, role, organizationId: org, resend: true },
        headers,
      }),
    )
    const { settings, url, keys } = this.options
    return settings.smtpUrl === undefined ? invitationLink(url, keys, id) : undefined
  }

  /** The invitation as its recipient sees it; undefined if it is no longer valid. */
  async invitation(id: string) {
    type Found = { email: string; org: string; organization: string }
    const { rows } = await this.options.database.auth.query<Found>(
      `select i.email, o.id as org, o.name as organization from invitation i
       join organization o on o.id = i."organizationId"
       where i.id = $1 and i.status = 'pending' and i."expiresAt" > now()`,
      [id],
    )
    return rows[0]
  }

  /**
   * Accepts an invitation. The proof is only in the email, so whoever has it owns the address and
   * gets an account. A person with an account must be signed in, because invitations are valid longer
   * than sign-in links.
   */
  async acceptInvitation(
    { id, proof, name }: { readonly id: string; readonly proof: string; readonly name: string },
    headers: Headers,
  ): Promise<Response | 'sign in first'> {
    const found = await this.invitation(id)
    if (found === undefined || !isSecret(proof, invitationProof(this.options.keys, id)))
      throw serverErrors.LINK_INVALID()
    const email = found.email.toLowerCase()
    const person = await this.person(headers)
    if (person?.email !== email && (await this.#userByEmail(email)) !== undefined)
      return 'sign in first'
    if (person?.email !== email) await this.#createUser(email, name === '' ? email : name)
    const signedIn = await this.#signIn(email, headers)
    await this.#auth.api.acceptInvitation({
      body: { invitationId: id },
      headers: cookiesOf(signedIn),
    })
    return signedIn
  }

  /** Pending invitations. */
  async invitations(org: string): Promise<Invitation[]> {
    const { rows } = await this.options.database.auth.query<
      Omit<Invitation, 'until'> & { until: Date }
    >(
      `select id, email, role, "expiresAt" as until from invitation
       where "organizationId" = $1 and status = 'pending' and "expiresAt" > now() order by email`,
      [org],
    )
    return rows.map((row) => ({ ...row, until: row.until.toISOString() }))
  }

  /** Withdraws an invitation. Returns its address. */
  async withdrawInvitation(org: string, id: string): Promise<string> {
    const { rows } = await this.options.database.auth.query<{ email: string }>(
      `update invitation set status = 'canceled'
       where "organizationId" = $1 and id = $2 and status = 'pending' returning email`,
      [org, id],
    )
    if (rows[0] === undefined) throw serverErrors.NOT_FOUND('invitation')
    return rows[0].email
  }

  async setRole(org: string, user: string, role: Role, headers: Headers): Promise<void> {
    const memberId = await this.#memberId(org, user)
    await explained(() =>
      this.#auth.api.updateMemberRole({ body: { memberId, role, organizationId: org }, headers }),
    )
  }

  async removeMember(org: string, user: string, headers: Headers): Promise<void> {
    const memberIdOrEmail = await this.#memberId(org, user)
    await explained(() =>
      this.#auth.api.removeMember({ body: { memberIdOrEmail, organizationId: org }, headers }),
    )
  }

  /** Signs in the command line that shows this code. */
  async approveDevice(userCode: string, headers: Headers): Promise<void> {
    const code = userCode.replaceAll(/[^A-Za-z0-9]/g, '').toUpperCase()
    // The library requires a lookup before the approval.
    await explained(async () => {
      await this.#auth.api.deviceVerify({ query: { user_code: code }, headers })
      await this.#auth.api.deviceApprove({ body: { userCode: code }, headers })
    })
  }

  /** Sessions of a person, most recently used first. */
  async sessions(user: string, headers: Headers): Promise<PersonSession[]> {
    const current = (await this.#auth.api.getSession({ headers }))?.session.id
    const { rows } = await this.options.database.auth.query<Omit<PersonSession, 'isCurrent'>>(
      `select id, "createdAt" as since, "updatedAt" as "usedAt", coalesce("userAgent", '') as client
       from session where "userId" = $1 and "expiresAt" > now() and "createdAt" > $2
       order by "updatedAt" desc limit 100`,
      [user, new Date(Date.now() - SESSION_MAX_MS)],
    )
    return rows.map((row) => ({ ...row, isCurrent: row.id === current }))
  }

  /** Ends one session of a person, from the next request on. */
  async endSession(user: string, id: string): Promise<void> {
    await this.options.database.auth.query(`delete from session where "userId" = $1 and id = $2`, [
      user,
      id,
    ])
  }

  /** Ends the session of a request, or all sessions of its person. */
  async signOut(headers: Headers, sessions: 'this' | 'all' = 'this'): Promise<Response> {
    if (sessions === 'all') await this.#auth.api.revokeSessions({ headers })
    return this.#auth.api.signOut({ headers, asResponse: true })
  }

  /** The address of the single sign-on provider, and the cookies to return with. */
  async startSso(headers: Headers): Promise<{ readonly to: string; readonly answer: Response }> {
    const { oidcIssuer } = this.options.settings
    const problem = oidcIssuer && (await signOnProblem(oidcIssuer))
    if (problem !== undefined) throw serverErrors.SIGN_ON_FAILED(problem)
    const { socialProviders } = await this.#auth.$context
    // The library reads the provider only once, and it was unreachable then.
    if (socialProviders.length === 0) this.#auth = betterAuth(configure(this.options))
    const answer = await this.#auth.api.signInSocial({
      body: {
        provider: SIGN_ON,
        callbackURL: this.options.url,
        errorCallbackURL: `${this.options.url}/sign-in`,
      },
      headers,
      asResponse: true,
    })
    const { url: to } = (await answer.json()) as { url?: string }
    if (to === undefined) throw serverErrors.SIGN_ON_FAILED('it has no authorization endpoint')
    return { to, answer }
  }

  /** The `better-auth` routes that clients need: the device flow and the sign-on callback. */
  async handle(request: Request): Promise<Response | undefined> {
    const path = new URL(request.url).pathname
    const at = path.indexOf(AUTH_PATH)
    const route = at === -1 ? '' : path.slice(at + AUTH_PATH.length)
    if (!SERVED.has(route)) return undefined
    if (route === '/device/code')
      return this.#withSignature(await this.#auth.handler(request), 'device_code')
    if (route === '/device/token') return this.#exchangeCode(request)
    const response = await this.#auth.handler(request)
    if (isSignedIn(response)) await this.#replaceSession(response, request.headers)
    else {
      const to = response.headers.get('location') ?? ''
      this.options.log.warn('single sign-on refused', { why: /[?&]error=(\w+)/.exec(to)?.[1] })
    }
    return response
  }

  /** Adds signatures to codes and tokens, so that database rows alone give no access. */
  async #withSignature(
    response: Response,
    name: 'device_code' | 'access_token',
  ): Promise<Response> {
    if (!response.ok) return response
    const answer = (await response.json()) as Readonly<Record<string, string>>
    const signed = { ...answer, [name]: this.#signed(answer[name] ?? '') }
    return Response.json(signed, { headers: { 'cache-control': 'no-store' } })
  }

  async #exchangeCode(request: Request): Promise<Response> {
    const body = (await request.json().catch(() => null)) as { device_code?: unknown } | null
    const given = typeof body?.device_code === 'string' ? body.device_code : ''
    const code = given.split('.')[0] ?? ''
    const checked = { ...body, device_code: isSecret(given, this.#signed(code)) ? code : '-' }
    const { url, method, headers } = request
    const init = { method, headers: new Headers(headers), body: JSON.stringify(checked) }
    init.headers.delete('content-length')
    init.headers.set('content-type', 'application/json')
    const response = await this.#auth.handler(new Request(url, init))
    return this.#withSignature(response, 'access_token')
  }

  #signed(token: string): string {
    const signature = createHmac('sha256', sessionSecret(this.options.keys)).update(token)
    return `${token}.${signature.digest('base64')}`
  }

  /** Signs in without an email. The caller has verified the person. */
  async #signIn(email: string, headers: Headers): Promise<Response> {
    const token = await this.options.mailer.intercept(email, () =>
      this.#auth.api.signInMagicLink({ body: { email }, headers }),
    )
    return this.useLink(token, headers)
  }

  async #createUser(email: string, name: string): Promise<{ id: string }> {
    const { internalAdapter } = await this.#auth.$context
    return internalAdapter.createUser(
      { email: email.toLowerCase(), name, emailVerified: true },
      { method: 'magic-link' },
    )
  }

  async #userByEmail(email: string): Promise<Person | undefined> {
    const { rows } = await this.options.database.auth.query<Person>(
      'select id, email, name from "user" where email = $1',
      [email.toLowerCase()],
    )
    return rows[0]
  }

  async #memberId(org: string, user: string): Promise<string> {
    const { rows } = await this.options.database.auth.query<{ id: string }>(
      'select id from member where "organizationId" = $1 and "userId" = $2',
      [org, user],
    )
    const [found] = rows
    if (found === undefined) throw serverErrors.NOT_FOUND('member')
    return found.id
  }
}

const SERVED: ReadonlySet<string> = new Set([
  '/device/code',
  '/device/token',
  `/callback/${SIGN_ON}`,
])

export interface Invitation {
  readonly id: string
  readonly email: string
  readonly role: Role
  readonly until: string
}

/** Converts errors of `better-auth` to our own. */
async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof APIError)) throw error
    const { error_description: described, message } = (error.body ?? {}) as Readonly<
      Record<string, string | undefined>
    >
    const why = described ?? message ?? 'It was refused'
    throw serverErrors.REQUEST_INVALID('The request', `${why.replace(/\.$/, '')}.`)
  }
}

export interface NewOwner {
  readonly email: string
  readonly name: string
  readonly organization: string
  readonly slug: string
}

/** Names used by our own routes, below the root and below an organization. */
const RESERVED: ReadonlySet<string> = new Set([
  'api',
  'approvals',
  'assets',
  'audit',
  'badges',
  'device',
  'events',
  'healthz',
  'invitations',
  'jobs',
  'keys',
  'members',
  'metrics',
  'new',
  'organizations',
  'projects',
  'readyz',
  'settings',
  'setup',
  'sign-in',
  'sign-out',
  'unsubscribe',
  'workers',
])

export function checkSlug(slug: string): void {
  if (!/^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/.test(slug))
    throw serverErrors.REQUEST_INVALID(
      'The URL name',
      'Use 1 to 40 lowercase letters, digits and dashes.',
    )
  if (RESERVED.has(slug))
    throw serverErrors.REQUEST_INVALID('The URL name', `"${slug}" is reserved.`)
}

/** Checks only the syntax. A wrong address fails when an email is sent. */
export function checkEmail(email: string): void {
  if (email.length > 254 || !/^[^\s@<>(),;:\\"[\]]+@[^\s@<>(),;:\\"[\]]+$/.test(email))
    throw serverErrors.REQUEST_INVALID('The address', 'It is not an email address.')
}

const isSignedIn = (response: Response): boolean =>
  response.headers.getSetCookie().some((each) => /session_token=[^;]/.test(each))

function cookiesOf(response: Response): Headers {
  const pairs = response.headers.getSetCookie().map((each) => each.split(';')[0] ?? '')
  return new Headers({ cookie: pairs.join('; ') })
}

const invitationLink = (url: string, keys: ServerKeys, id: string): string =>
  `${url}/invitations/${encodeURIComponent(id)}?proof=${invitationProof(keys, id)}`

const invitationProof = (keys: ServerKeys, id: string): string =>
  createHmac('sha256', keys.key('links', 'invitation')).update(id).digest('base64url')

/** A random id that cannot be guessed. */
export const newId = (prefix: string): string => `${prefix}${randomBytes(16).toString('hex')}`
