import type { Context } from 'hono'
import { escapeHtml } from '../report/escape-html.js'
import type { GuardEnv } from './answer-headers.js'

/** What stands on a page that the server writes itself. */
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

/** A page without script for those who cannot have the viewer: refused, or not signed in yet. */
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

/** Text in back quotes is something to type. */
const withCode = (text: string): string =>
  escapeHtml(text).replaceAll(/`([^`]*)`/g, '<code>$1</code>')
