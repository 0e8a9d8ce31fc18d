import { randomBytes } from 'node:crypto'
import type { Context, MiddlewareHandler } from 'hono'
import { RefusedError } from '../errors.js'
import type { Explained } from '../model/run-source.js'
import { escapeHtml } from '../report/make-report.js'

export interface GuardEnv {
  Variables: {
    /** Allows only the styles of this response. */
    nonce: string
  }
}

/**
 * Headers of every response, including refusals. Scripts come only from the server, so text of a
 * tape could not run even if it became markup. No page may frame ours (clickjacking), embed its
 * responses (side channels) or control its window; types are not sniffed; no referrer is sent.
 */
export const answerHeaders: MiddlewareHandler<GuardEnv> = async (c, next) => {
  const nonce = randomBytes(16).toString('base64')
  c.set('nonce', nonce)
  await next()
  const { headers } = c.res
  // A mounted viewer has set them already, with the nonce that its page uses.
  if (headers.has('content-security-policy')) return
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "connect-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ]
  headers.set('content-security-policy', policy.join('; '))
  headers.set('x-frame-options', 'DENY')
  headers.set('x-content-type-options', 'nosniff')
  headers.set('cross-origin-opener-policy', 'same-origin')
  headers.set('cross-origin-resource-policy', 'same-origin')
  if (!headers.has('referrer-policy')) headers.set('referrer-policy', 'no-referrer')
  if (!headers.has('cache-control')) headers.set('cache-control', 'no-store')
}

export type PlainPart =
  | { readonly text: string }
  | { readonly alert: string }
  | { readonly link: string; readonly href: string }
  | {
      readonly form: string
      readonly password: string
      readonly button: string
      readonly hidden: Readonly<Record<string, string>>
    }

/** A page without scripts, for browsers that are refused or not signed in. */
export function plainPage(
  c: Context<GuardEnv>,
  status: 400 | 401 | 403 | 404 | 405 | 411 | 413 | 415 | 421 | 422 | 429 | 500,
  title: string,
  parts: readonly PlainPart[],
): Response {
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
<style nonce="${c.get('nonce')}">${STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
${parts.map(partHtml).join('\n')}
</main>
</body>
</html>
`
  return c.html(html, status)
}

const STYLE = `
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }
body { margin: 0; display: grid; min-height: 100vh; place-items: center }
main { box-sizing: border-box; width: 100%; max-width: 30rem; padding: 1.5rem }
h1 { font-size: 1.1rem; margin: 0 0 .75rem }
p { margin: 0 0 .75rem }
[role=alert] { border-left: 3px solid; padding-left: .75rem }
form { display: grid; gap: .5rem }
input, button { font: inherit; padding: .4rem .6rem }
code { font-family: ui-monospace, monospace }
`

function partHtml(part: PlainPart): string {
  if ('text' in part) return `<p>${withCode(part.text)}</p>`
  if ('alert' in part) return `<p role="alert">${withCode(part.alert)}</p>`
  if ('link' in part)
    return `<p><a href="${escapeHtml(part.href)}">${escapeHtml(part.link)}</a></p>`
  const hidden = Object.entries(part.hidden).map(
    ([name, value]) =>
      `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`,
  )
  return `<form method="post" action="${escapeHtml(part.form)}">
${hidden.join('\n')}
<label for="password">${escapeHtml(part.password)}</label>
<input id="password" name="password" type="password" autocomplete="current-password" required autofocus>
<button>${escapeHtml(part.button)}</button>
</form>`
}

const withCode = (text: string): string =>
  escapeHtml(text).replaceAll(/`([^`]*)`/g, '<code>$1</code>')

/** Errors outside of the API, and refusals: a plain page for browsers, JSON for API clients. */
export function errorPage(error: unknown, c: Context<GuardEnv>): Response {
  if (/^\/api(\/|$)/.test(c.req.path)) return answerError(error, c)
  const status = statusOfError(error)
  if (status === 500) printStack(error)
  const { what, why, fix } = explained(error)
  return plainPage(c, status, what, [
    ...(why === undefined ? [] : [{ text: why }]),
    ...(fix === undefined ? [] : [{ text: fix }]),
    ...(status === 401 ? [reloadPage(c)] : []),
  ])
}

/** SameSite=Strict omits our cookie when a link is followed from elsewhere: reload the page from our own. */
const reloadPage = (c: Context) => ({
  link: 'If the viewer is already open in this browser, continue',
  href: `/${c.req.path.replace(/^\/+/, '')}${new URL(c.req.url).search}`,
})

type ErrorStatus = Parameters<typeof plainPage>[1]

/** Error codes that mean 404. */
const GONE: ReadonlySet<string> = new Set([
  'NOT_FOUND',
  'TAPE_MISSING',
  'UNKNOWN_RUN',
  'NO_SUCH_STEP',
  'TAPE_NO_SUCH_EVENT',
])

/** Explains any error to the user. An internal error shows only its message. */
export function explained(error: unknown): Explained {
  if (isExplained(error)) {
    const { code, what, why, fix } = error
    return { code, what, ...(why !== undefined && { why }), ...(fix !== undefined && { fix }) }
  }
  return {
    code: 'UNEXPECTED',
    what: error instanceof Error ? error.message : String(error),
    why: 'This is a bug in Retake.',
    fix: 'The output of the server shows where; please report it.',
  }
}

const isExplained = (error: unknown): error is Explained =>
  typeof error === 'object' && error !== null && 'code' in error && 'what' in error

export function statusOfError(error: unknown): ErrorStatus {
  if (error instanceof RefusedError) return error.status
  if (!isExplained(error)) return 500
  return GONE.has(error.code) ? 404 : 422
}

export function answerError(error: unknown, c: Context): Response {
  const status = statusOfError(error)
  if (status === 500) printStack(error)
  return c.json({ error: explained(error) }, status)
}

/** Prints the stack of an internal error for the person who started the server. */
export function printStack(error: unknown): void {
  process.stderr.write(`${(error instanceof Error ? error.stack : undefined) ?? String(error)}\n`)
}
