import { getCookie } from 'hono/cookie'
import type { Context, MiddlewareHandler } from 'hono'
import {
  bodyNotJson,
  changeNotMarked,
  hostNotAllowed,
  methodNotAllowed,
  notSignedIn,
  originNotAllowed,
  signInNeeded,
} from '../errors.js'
import { isSecret, type Access } from './access.js'
import type { GuardEnv } from './answer-headers.js'
import { checkLength } from './check-length.js'
import { giveCookie } from './give-cookie.js'
import { showSignIn, signIn, SIGN_IN_PATH } from './sign-in.js'

type Rule = (c: Context<GuardEnv>, access: Access) => void

/** An edited answer of a model may be large; nothing else is. */
const BODY_MAX_BYTES = 64 << 20

/**
 * Decides about every request before any route sees it: page, assets and API alike.
 * The rules come in this order; the first that does not hold refuses.
 */
export function guardRequests(access: Access): MiddlewareHandler<GuardEnv> {
  const beforeKey: readonly Rule[] = [checkMethod, checkHost, checkOrigin, checkFetchSite]
  const signInOver = signIn(access)
  return async (c, next) => {
    for (const rule of beforeKey) rule(c, access)
    if (access.password !== undefined && c.req.path === SIGN_IN_PATH) return signInOver(c)
    checkChange(c)
    if (hasToken(c, access)) return letIn(c, access)
    if (!hasKey(c, access)) return refuseEntry(c, access)
    return next()
  }
}

/** Stops preflights: a page that asks whether it may send something gets no answer that allows it. */
const checkMethod: Rule = (c) => {
  if (!METHODS.has(c.req.method)) throw methodNotAllowed(c.req.method)
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])

/** Stops DNS rebinding: a page whose own name was made to lead here sends that name as Host. */
const checkHost: Rule = (c, { hosts, proxied }) => {
  const host = c.req.header('host')?.toLowerCase()
  if (host === undefined) throw hostNotAllowed(host)
  if (!hosts.has(host) && !proxied.has(withoutPort(host))) throw hostNotAllowed(host)
}

/** Stops pages of other origins where the browser names them: fetch with CORS, forms, WebSockets. */
const checkOrigin: Rule = (c, { proxied }) => {
  const origin = c.req.header('origin')
  if (origin === undefined) return
  const host = c.req.header('host')?.toLowerCase() ?? ''
  const isOwn =
    origin === `http://${host}` || (proxied.has(withoutPort(host)) && origin === `https://${host}`)
  if (!isOwn) throw originNotAllowed()
}

/**
 * Stops pages of other origins where the browser sends no Origin: images, scripts,
 * frames. Another port of this machine is `same-site` and refused as well. A link
 * from elsewhere to one of our pages is followed, in a tab of its own.
 */
const checkFetchSite: Rule = (c) => {
  const site = c.req.header('sec-fetch-site')
  if (site === undefined || site === 'same-origin' || site === 'none') return
  const isLink =
    c.req.method === 'GET' &&
    c.req.header('sec-fetch-mode') === 'navigate' &&
    c.req.header('sec-fetch-dest') === 'document' &&
    !/^\/(api|assets)(\/|$)/.test(c.req.path)
  if (!isLink) throw originNotAllowed()
}

/**
 * Stops what a form or a script without permission can send: it can set neither this
 * header nor this type. What is sent has a length, and a limit.
 */
function checkChange(c: Context<GuardEnv>): void {
  if (c.req.method === 'GET' || c.req.method === 'HEAD') return
  if (c.req.header('x-retake') !== '1') throw changeNotMarked()
  checkLength(c, BODY_MAX_BYTES)
  const hasBody = Number(c.req.header('content-length') ?? 0) > 0
  const [type = ''] = (c.req.header('content-type') ?? '').split(';')
  if (hasBody && type.trim().toLowerCase() !== 'application/json') throw bodyNotJson()
}

/** The token in the address: only in the first request, which a person makes. */
function hasToken(c: Context<GuardEnv>, { token }: Access): boolean {
  const given = c.req.method === 'GET' ? c.req.query('token') : undefined
  return given !== undefined && token !== undefined && isSecret(given, token)
}

/** Leaves the token behind, so that it stands in no history, bookmark or Referer. */
function letIn(c: Context<GuardEnv>, access: Access): Response {
  giveCookie(c, access)
  const { pathname, searchParams } = new URL(c.req.url)
  searchParams.delete('token')
  const query = searchParams.size > 0 ? `?${searchParams.toString()}` : ''
  // Two slashes would lead to another host.
  return c.redirect(`/${pathname.replace(/^\/+/, '')}${query}`, 303)
}

/** Stops everybody else on this machine and network: a key is needed for all that is served. */
function hasKey(c: Context<GuardEnv>, { cookie, session, token }: Access): boolean {
  const held = getCookie(c, cookie)
  if (held !== undefined && isSecret(held, session)) return true
  const bearer = /^Bearer (.+)$/i.exec(c.req.header('authorization') ?? '')?.[1]
  return bearer !== undefined && token !== undefined && isSecret(bearer, token)
}

function refuseEntry(c: Context<GuardEnv>, access: Access): Response {
  if (access.password === undefined) throw notSignedIn()
  if (c.req.method !== 'GET' || c.req.path.startsWith('/api/')) throw signInNeeded()
  return showSignIn(c)
}

const withoutPort = (host: string): string => host.replace(/:\d+$/, '')
