import { randomBytes } from 'node:crypto'
import type { Context, MiddlewareHandler } from 'hono'
import { html, raw } from 'hono/html'
import { STATUS } from './errors.js'
import type { Explained } from '../model/run-source.js'

export interface GuardEnv {
  Variables: {
    /** CSP nonce of this response. */
    nonce: string
  }
}

/**
 * Adds security headers to every response, including refusals. Even if text of a tape became markup,
 * it could not run. Other pages may not frame ours (clickjacking), embed its responses (side channels)
 * or control its window. Types are not sniffed, and no referrer is sent.
 */
export const securityHeaders =
  ({
    scripts = () => "'self'",
    more = {},
  }: {
    /** CSP source of scripts, for the nonce of a response. */
    readonly scripts?: (nonce: string) => string
    /** Further headers, unless the response already has them. */
    readonly more?: Readonly<Record<string, string>>
  } = {}): MiddlewareHandler<GuardEnv> =>
  async (c, next) => {
    const nonce = randomBytes(16).toString('base64')
    c.set('nonce', nonce)
    await next()
    const policy = [
      "default-src 'none'",
      `script-src ${scripts(nonce)}`,
      `style-src 'self' 'nonce-${nonce}'`,
      "connect-src 'self'",
      "img-src 'self' data:",
      "font-src 'self'",
      "worker-src 'self'",
      "base-uri 'none'",
      "form-action 'self'",
      "frame-ancestors 'none'",
    ]
    const headers = {
      'content-security-policy': policy.join('; '),
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    }
    for (const [name, value] of Object.entries(headers))
      if (!c.res.headers.has(name)) c.res.headers.set(name, value)
    for (const [name, value] of Object.entries(more)) c.res.headers.set(name, value)
  }

type Html = ReturnType<typeof html>

/** A page without scripts, for refusals and before signing in. */
export const plainPage = (
  c: Context<GuardEnv>,
  status: ErrorStatus,
  title: string,
  body: Html,
): Response | Promise<Response> =>
  c.html(
    html`<!doctype html>
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="color-scheme" content="light dark" />
          <title>${title}</title>
          <link rel="icon" href="data:," />
          <style nonce="${c.get('nonce')}">
            ${raw(STYLE)}
          </style>
        </head>
        <body>
          <main>
            <h1>${title}</h1>
            ${body}
          </main>
        </body>
      </html>`,
    status,
  )

/** Text between backquotes is code. */
export const withCode = (text = ''): (string | Html)[] =>
  text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))

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

/** Answers an error: JSON below `/api`, otherwise a plain page. */
export function errorPage(error: unknown, c: Context<GuardEnv>): Response | Promise<Response> {
  if (/^\/api(\/|$)/.test(c.req.path)) return answerError(error, c)
  const status = statusOfError(error)
  if (status === 500) printStack(error)
  const { what, why, fix } = explained(error)
  // SameSite=Strict omits the cookie for links on other sites. A link on our own page sends it.
  const reload = `/${c.req.path.replace(/^\/+/, '')}${new URL(c.req.url).search}`
  const body = html`<p>${withCode(why)}</p>
    <p>${withCode(fix)}</p>
    ${status === 401 && html`<p><a href="${reload}">If the viewer is already open in this browser, continue</a></p>`}`
  return plainPage(c, status, what, body)
}

type ErrorStatus = (typeof STATUS)[string] | 422 | 500

/** Explains an error to the user. For an internal error, shows only its message. */
export function explained(error: unknown): Explained {
  if (isExplained(error)) {
    const { code, what, why, fix } = error
    return { code, what, ...(why !== undefined && { why }), ...(fix !== undefined && { fix }) }
  }
  return {
    code: 'UNEXPECTED',
    what: error instanceof Error ? error.message : String(error),
    why: 'This is a bug in Retake.',
    fix: 'Report it with the stack trace in the output of the server.',
  }
}

const isExplained = (error: unknown): error is Explained =>
  typeof error === 'object' && error !== null && 'code' in error && 'what' in error

export function statusOfError(error: unknown): ErrorStatus {
  return isExplained(error) ? (STATUS[error.code] ?? 422) : 500
}

export function answerError(error: unknown, c: Context): Response {
  const status = statusOfError(error)
  if (status === 500) printStack(error)
  return c.json({ error: explained(error) }, status)
}

/** Prints the stack of an internal error to the terminal. */
export function printStack(error: unknown): void {
  process.stderr.write(`${(error instanceof Error ? error.stack : undefined) ?? String(error)}\n`)
}

/** Heartbeats reveal a dead connection to the reader and keep proxies from closing it. */
const HEARTBEAT_MS = 10_000
/** A reader that lags by this many texts is disconnected. It catches up when it reconnects. */
const WAITING_MAX = 1000

export const EVENTS_STREAM = {
  type: 'text/event-stream',
  first: 'retry: 3000\n\n',
  alive: ': alive\n\n',
} as const

export function answerStream(
  c: Context,
  options: {
    readonly type: 'application/x-ndjson' | 'text/event-stream'
    readonly first: string
    readonly alive: string
    /** Ends the stream after this time. The reader reconnects, and its access is checked again. */
    readonly limitMs?: number
    /** Starts sending. Returns a function that stops it. */
    readonly watch: (send: (text: string) => void, end: () => void) => () => void
  },
): Response {
  const { type, first, alive, limitMs, watch } = options
  const encoder = new TextEncoder()
  let stop = (): void => {}
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        let isOpen = true
        const send = (text: string): void => {
          if (!isOpen) return
          controller.enqueue(encoder.encode(text))
          if ((controller.desiredSize ?? 0) >= 0) return
          stop()
          controller.error(new Error('the reader is too slow'))
        }
        const end = (): void => {
          if (!isOpen) return
          stop()
          controller.close()
        }
        send(first)
        const heartbeat = setInterval(() => send(alive), HEARTBEAT_MS)
        const limit = limitMs === undefined ? undefined : setTimeout(end, limitMs)
        const unwatch = watch(send, end)
        stop = () => {
          isOpen = false
          clearInterval(heartbeat)
          clearTimeout(limit)
          unwatch()
        }
      },
      cancel: () => stop(),
    },
    new CountQueuingStrategy({ highWaterMark: WAITING_MAX }),
  )
  return c.body(body, 200, { 'content-type': `${type}; charset=utf-8` })
}
