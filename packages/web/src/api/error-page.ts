import type { Context } from 'hono'
import { answerError, explained, printStack, statusOfError } from './answer-error.js'
import type { GuardEnv } from './answer-headers.js'
import { plainPage } from './plain-page.js'

/** Errors outside of the API, and refusals: a plain page for people, JSON for what asks the API. */
export function errorPage(error: unknown, c: Context<GuardEnv>): Response {
  if (/^\/api(\/|$)/.test(c.req.path)) return answerError(error, c)
  const status = statusOfError(error)
  if (status === 500) printStack(error)
  const { what, why, fix } = explained(error)
  return plainPage(c, status, what, [
    ...(why === undefined ? [] : [{ text: why }]),
    ...(fix === undefined ? [] : [{ text: fix }]),
    ...(status === 401 ? [goOn(c)] : []),
  ])
}

/** A browser sends our cookie only with links of our own pages: one followed from elsewhere is followed again. */
const goOn = (c: Context) => ({
  link: 'If the viewer is open in this browser already, go on',
  href: `/${c.req.path.replace(/^\/+/, '')}${new URL(c.req.url).search}`,
})
