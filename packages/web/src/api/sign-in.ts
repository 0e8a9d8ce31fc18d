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
    if (c.req.method === 'GET') return signInPage(c, '/')
    if (c.req.method !== 'POST') throw methodNotAllowed(c.req.method)
    checkLength(c, FORM_MAX_BYTES)
    const form = new URLSearchParams(await c.req.text())
    const page = pageOf(form.get('page'))
    const waitSeconds = guesses.take(addressOf(c))
    if (waitSeconds > 0) {
      c.header('retry-after', String(waitSeconds))
      return signInPage(c, page, tooManyPasswords(waitSeconds))
    }
    const { password } = access
    if (password === undefined || !isSecret(form.get('password') ?? '', password)) {
      await pause(SLOW_MS)
      return signInPage(c, page, wrongPassword())
    }
    guesses.forgive(addressOf(c))
    giveCookie(c, access)
    return c.redirect(page, 303)
  }
}

/** In place of the page that was asked for, and leading there. */
export const showSignIn = (c: Context<GuardEnv>): Response =>
  signInPage(c, pageOf(c.req.path + new URL(c.req.url).search))

/** A form without script, so that nothing is served to who is not signed in. */
function signInPage(c: Context<GuardEnv>, page: string, error?: RefusedError): Response {
  const parts: PlainPart[] = [
    ...(error ? [{ alert: `${error.what} ${error.fix}` }] : []),
    { form: SIGN_IN_PATH, password: 'Password', button: 'Sign in', hidden: { page } },
  ]
  // Without a referrer, a browser would call the origin of the form `null`.
  c.header('referrer-policy', 'same-origin')
  return plainPage(c, error?.status ?? 401, 'Sign in to Retake', parts)
}

/** A path of ours; anything that could lead elsewhere leads to the first page. */
const pageOf = (page: string | null): string =>
  page !== null && /^\/(?![/\\])[^\s\\]*$/.test(page) ? page : '/'

const addressOf = (c: Context<GuardEnv>): string =>
  (c.env as { incoming?: { socket?: { remoteAddress?: string } } } | undefined)?.incoming?.socket
    ?.remoteAddress ?? ''
