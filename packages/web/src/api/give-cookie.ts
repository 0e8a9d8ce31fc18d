import type { Context } from 'hono'
import { setCookie } from 'hono/cookie'
import type { Access } from './access.js'

/** Scripts of a page cannot read the cookie, and no other site can have it sent along. */
export function giveCookie(c: Context, { cookie, session }: Access): void {
  setCookie(c, cookie, session, {
    httpOnly: true,
    sameSite: 'Strict',
    path: '/',
    secure: c.req.header('origin')?.startsWith('https:') ?? false,
  })
}
