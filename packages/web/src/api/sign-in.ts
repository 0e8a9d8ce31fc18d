import { setTimeout as pause } from 'node:timers/promises'
import type { Context } from 'hono'
import { methodNotAllowed, tooManyPasswords, wrongPassword } from '../errors.js'
import type { RefusedError } from '../errors.js'
import { isSecret, type Access } from './access.js'
import type { GuardEnv } from './answer-headers.js'
import { GuessLimit } from './guess-limit.js'
import { checkLength } from './check-length.js'
import { giveCookie } from './give-cookie.js'
import { plainPage, type PlainPart } from './plain-page.js'

export const SIGN_IN_PATH = '/sign-in'

/** A wrong password is answered after this. */
const SLOW_MS = 1000
const FORM_MAX_BYTES = 4096

/**
 * Answers the form of the sign-in page. It is the one change without our header: a
 * form cannot send one. Its Origin was checked before, so no other page can sign in.
 */
export function signIn(access: Access): (c: Context<GuardEnv>) => Promise<Response> {
  const guesses = new GuessLimit()
  return async (c) => {
    if (c.req.method === 'GET') return showSignIn(c)
    if (c.req.method !== 'POST') throw methodNotAllowed(c.req.method)
    checkLength(c, FORM_MAX_BYTES)
    const wait = guesses.take(addressOf(c))
    if (wait > 0) return showSignIn(c, tooManyPasswords(wait))
    const form = new URLSearchParams(await c.req.text())
    const { password } = access
    if (password === undefined || !isSecret(form.get('password') ?? '', password)) {
      await pause(SLOW_MS)
      return showSignIn(c, wrongPassword())
    }
    guesses.forgive(addressOf(c))
    giveCookie(c, access)
    return c.redirect(pageOf(form.get('page')), 303)
  }
}

/** A form without script, so that nothing is served to who is not signed in. */
export function showSignIn(c: Context<GuardEnv>, error?: RefusedError): Promise<Response> {
  const page = c.req.path === SIGN_IN_PATH ? '/' : c.req.path + new URL(c.req.url).search
  const parts: PlainPart[] = [
    ...(error ? [{ alert: `${error.what} ${error.fix}` }] : []),
    { form: SIGN_IN_PATH, password: 'Password', button: 'Sign in', hidden: { page } },
  ]
  // Without a referrer, a browser would call the origin of the form `null`.
  c.header('referrer-policy', 'same-origin')
  if (error?.status === 429) c.header('retry-after', '60')
  return Promise.resolve(plainPage(c, error?.status ?? 401, 'Sign in to Retake', parts))
}

/** A path of ours; anything that could lead elsewhere leads to the first page. */
const pageOf = (page: string | null): string =>
  page !== null && /^\/(?![/\\])[^\s\\]*$/.test(page) ? page : '/'

const addressOf = (c: Context<GuardEnv>): string =>
  (c.env as { incoming?: { socket?: { remoteAddress?: string } } } | undefined)?.incoming?.socket
    ?.remoteAddress ?? ''
