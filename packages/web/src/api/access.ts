import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { RetakeError } from '@retake/tape/format'
import type { Context, MiddlewareHandler } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import { html } from 'hono/html'
import { viewerErrors } from './errors.js'
import { type GuardEnv, plainPage, statusOfError, withCode } from './responses.js'

type Page = Response | Promise<Response>
type Rule = (c: Context<GuardEnv>, access: Access) => void

/** Large enough for an edited model answer. */
const BODY_MAX_BYTES = 64 << 20

/** Checks every request before any route sees it. The first failing rule refuses it. */
export function guardRequests(access: Access): MiddlewareHandler<GuardEnv> {
  const beforeKey: readonly Rule[] = [checkMethod, checkHost, checkOrigin, checkFetchSite]
  const signInOver = signIn(access)
  return async (c, next) => {
    for (const rule of beforeKey) rule(c, access)
    if (access.password !== undefined && c.req.path === SIGN_IN_PATH) return signInOver(c)
    // The token is accepted only in a GET request, which opens the printed address.
    const { token } = access
    const given = c.req.method === 'GET' ? c.req.query('token') : undefined
    if (given !== undefined && token !== undefined && isSecret(given, token)) {
      // Redirects to the address without the token, to keep it out of history, bookmarks and
      // Referer.
      setSessionCookie(c, access)
      const { pathname, searchParams } = new URL(c.req.url)
      searchParams.delete('token')
      const query = searchParams.size > 0 ? `?${searchParams.toString()}` : ''

      // Two leading slashes would lead to another host.
      return c.redirect(`/${pathname.replace(/^\/+/, '')}${query}`, 303)
    }
    if (!hasKey(c, access)) {
      if (access.password === undefined) throw viewerErrors.VIEWER_NOT_SIGNED_IN()
      if (c.req.method !== 'GET' || c.req.path.startsWith('/api/'))
        throw viewerErrors.VIEWER_SIGN_IN_NEEDED()
      return showSignIn(c)
    }
    return next()
  }
}

/** Blocks CORS preflights, so that no other origin gets permission to send anything. */
const checkMethod: Rule = (c) => {
  if (!METHODS.has(c.req.method)) throw viewerErrors.VIEWER_METHOD_NOT_ALLOWED(c.req.method)
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])

/** Blocks DNS rebinding: a page whose name resolves to this server sends that name as Host. */
const checkHost: Rule = (c, { hosts, proxied }) => {
  const host = c.req.header('host')?.toLowerCase()
  if (host === undefined) throw viewerErrors.VIEWER_HOST_NOT_ALLOWED(host)
  if (!hosts.has(host) && !proxied.has(withoutPort(host)))
    throw viewerErrors.VIEWER_HOST_NOT_ALLOWED(host)
}

/** Blocks other origins for requests with an Origin header: fetch with CORS, forms, WebSockets. */
const checkOrigin: Rule = (c, { proxied }) => {
  const origin = c.req.header('origin')
  if (origin === undefined) return
  const host = c.req.header('host')?.toLowerCase() ?? ''
  const isOwn =
    origin === `http://${host}` || (proxied.has(withoutPort(host)) && origin === `https://${host}`)
  if (!isOwn) throw viewerErrors.VIEWER_ORIGIN_NOT_ALLOWED()
}

/**
 * Blocks other origins for requests without an Origin header: images, scripts, frames. Another port
 * of this machine is `same-site` and blocked too. Links from other sites to our pages are allowed as
 * top-level navigation.
 */
const checkFetchSite: Rule = (c) => {
  const site = c.req.header('sec-fetch-site')
  if (site === undefined || site === 'same-origin' || site === 'none') return
  const isLink =
    c.req.method === 'GET' &&
    c.req.header('sec-fetch-mode') === 'navigate' &&
    c.req.header('sec-fetch-dest') === 'document' &&
    !/^\/(api|assets)(\/|$)/.test(c.req.path)
  if (!isLink) throw viewerErrors.VIEWER_ORIGIN_NOT_ALLOWED()
}

/**
 * Blocks changes from forms and from scripts of other origins, which can set neither this header nor
 * this content type.
 */
export const checkChange: MiddlewareHandler = async (c, next) => {
  if (c.req.method === 'GET' || c.req.method === 'HEAD') return next()
  if (c.req.header('x-retake') !== '1') throw viewerErrors.VIEWER_CHANGE_NOT_MARKED()
  checkLength(c, BODY_MAX_BYTES)
  const hasBody = Number(c.req.header('content-length') ?? 0) > 0
  const [type = ''] = (c.req.header('content-type') ?? '').split(';')
  if (hasBody && type.trim().toLowerCase() !== 'application/json')
    throw viewerErrors.VIEWER_BODY_NOT_JSON()
  return next()
}

/** Blocks other users of this machine and network: all content requires a cookie or bearer token. */
function hasKey(c: Context<GuardEnv>, { cookie, session, token }: Access): boolean {
  const cookie_ = getCookie(c, cookie)
  if (cookie_ !== undefined && isSecret(cookie_, session)) return true
  const bearer = bearerOf(c)
  return bearer !== undefined && token !== undefined && isSecret(bearer, token)
}

const withoutPort = (host: string): string => host.replace(/:\d+$/, '')

const MINUTE_MS = 60_000

/** Limits attempts per key, such as an address. Allows bursts of `perMinute`. */
export class RateLimit {
  /** When all attempts of a key will be available again. */
  readonly #fullAt = new Map<string, number>()
  readonly #costMs: number
  readonly #now: () => number

  constructor(perMinute: number, now: () => number = Date.now) {
    this.#costMs = MINUTE_MS / perMinute
    this.#now = now
  }

  /** Seconds to wait before the next attempt; 0 if this one is allowed. */
  take(key: string): number {
    const now = this.#now()
    const before = Math.max(this.#fullAt.get(key) ?? now, now)
    const waitMs = before + this.#costMs - now - MINUTE_MS
    // Inserted again as the newest key, because the oldest are dropped first.
    this.#fullAt.delete(key)
    this.#fullAt.set(key, waitMs > 0 ? before : before + this.#costMs)
    if (this.#fullAt.size > 10_000) this.forget(this.#fullAt.keys().next().value ?? '')
    return waitMs > 0 ? Math.ceil(waitMs / 1000) : 0
  }

  forget(key: string): void {
    this.#fullAt.delete(key)
  }
}

/** Attempts per minute: from one address, and in total. */
const EACH = 10
const ALL = 100

export const SIGN_IN_PATH = '/sign-in'

const SLOW_MS = 1000
const FORM_MAX_BYTES = 4096

/**
 * Handles the sign-in form. A form cannot send our header, so this is the only change without it;
 * the Origin was checked before.
 */
export function signIn(access: Access): (c: Context<GuardEnv>) => Promise<Response> {
  // Attempts count before they are checked, so that parallel ones are limited too. Behind a proxy,
  // all users share one address and therefore its limit.
  const own = new RateLimit(EACH)
  const all = new RateLimit(ALL)
  return async (c) => {
    if (c.req.method === 'GET') return signInPage(c, '/')
    if (c.req.method !== 'POST') throw viewerErrors.VIEWER_METHOD_NOT_ALLOWED(c.req.method)
    checkLength(c, FORM_MAX_BYTES)
    const form = new URLSearchParams(await c.req.text())
    const page = pageOf(form.get('page'))
    const waitSeconds = own.take(addressOf(c)) || all.take('')
    if (waitSeconds > 0) {
      c.header('retry-after', String(waitSeconds))
      return signInPage(c, page, viewerErrors.VIEWER_TOO_MANY_PASSWORDS(waitSeconds))
    }
    const { password } = access
    if (password === undefined || !isSecret(form.get('password') ?? '', password)) {
      await pause(SLOW_MS)
      return signInPage(c, page, viewerErrors.VIEWER_WRONG_PASSWORD())
    }
    own.forget(addressOf(c))
    setSessionCookie(c, access)
    return c.redirect(page, 303)
  }
}

export const showSignIn = (c: Context<GuardEnv>): Page =>
  signInPage(c, pageOf(c.req.path + new URL(c.req.url).search))

/** A form without scripts: nothing else is served before signing in. */
function signInPage(c: Context<GuardEnv>, page: string, error?: RetakeError): Page {
  const body = html`${error && html`<p role="alert">${withCode(`${error.what} ${error.fix}`)}</p>`}
    <form method="post" action="${SIGN_IN_PATH}">
      <input type="hidden" name="page" value="${page}" />
      <label for="password">Password</label>
      <input
        id="password"
        name="password"
        type="password"
        autocomplete="current-password"
        required
        autofocus
      />
      <button>Sign in</button>
    </form>`
  // Without a referrer, browsers send the origin of the form as `null`.
  c.header('referrer-policy', 'same-origin')
  return plainPage(c, error ? statusOfError(error) : 401, 'Sign in to Retake', body)
}

/** A path of the viewer. Anything that could lead to another site becomes `/`. */
const pageOf = (page: string | null): string =>
  page !== null && /^\/(?![/\\])[^\s\\]*$/.test(page) ? page : '/'

export const bearerOf = (c: Context): string | undefined =>
  /^Bearer (.+)$/i.exec(c.req.header('authorization') ?? '')?.[1]

export const addressOf = (c: Context): string =>
  (c.env as { incoming?: { socket?: { remoteAddress?: string } } } | undefined)?.incoming?.socket
    ?.remoteAddress ?? ''

export interface Access {
  /** Part of the printed address; undefined if there is a password instead. */
  readonly token: string | undefined
  readonly password: string | undefined
  /** Value of the session cookie. Not the token, because cookies are sent to every port of a host. */
  readonly session: string
  readonly cookie: string
  /** Accepted values of the Host header, with port. */
  readonly hosts: ReadonlySet<string>
  /** Names used behind a proxy, accepted with any port and scheme. */
  readonly proxied: ReadonlySet<string>
}

interface AccessOptions {
  readonly port: number
  readonly hosts: readonly string[]
  readonly allowHosts: readonly string[]
  readonly password: string | undefined
}

export function createAccess({ port, hosts, allowHosts, password }: AccessOptions): Access {
  const names = hosts.map((host) => (host.includes(':') ? `[${host}]` : host).toLowerCase())
  return {
    token: password === undefined ? newSecret() : undefined,
    password,
    session: newSecret(),
    // Cookies ignore ports, and two viewers on one machine must not share a cookie.
    cookie: `retake_${port}`,
    hosts: new Set([
      ...names.map((name) => `${name}:${port}`),
      // Browsers omit the default port.
      ...(port === 80 ? names : []),
    ]),
    proxied: new Set(allowHosts.map((name) => name.toLowerCase())),
  }
}

const newSecret = (): string => randomBytes(24).toString('base64url')

/** Constant-time comparison that also hides the length of the secret. */
export function isSecret(given: string, secret: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(secret))
}

/** HttpOnly and SameSite=Strict, so neither scripts nor other sites can use the cookie. */
export function setSessionCookie(c: Context, { cookie, session }: Access): void {
  setCookie(c, cookie, session, {
    httpOnly: true,
    sameSite: 'Strict',
    path: '/',
    secure: c.req.header('origin')?.startsWith('https:') ?? false,
  })
}

/** Refuses large bodies by their `content-length`, before reading. */
export function checkLength(c: Context, limit: number): void {
  if (c.req.header('transfer-encoding') !== undefined) throw viewerErrors.VIEWER_LENGTH_MISSING()
  const bytes = Number(c.req.header('content-length') ?? 0)
  if (bytes > limit) throw viewerErrors.VIEWER_BODY_TOO_LARGE(bytes, limit)
}
