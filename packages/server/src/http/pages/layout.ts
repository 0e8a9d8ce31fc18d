import { cost, count, duration, relativeTime } from '@retake/tape/present'
import type { Context } from 'hono'
import { html, raw } from 'hono/html'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { escapeHtml, type Explained, withCode } from '@retake/web'
import type { ServerEnv } from '../access.js'
import { type PageScript, pageScript } from './page-script.js'
import { STYLE_NAME } from './style.js'
import type { RouteParts } from '../route-parts.js'

export type Html = ReturnType<typeof html>
type Part = Html | string | number | undefined | false | readonly Part[]

interface Link {
  readonly title: string
  readonly href: string
}

export interface PageParts {
  readonly title: string
  /** Pages above this one. */
  readonly crumbs?: readonly Link[]
  /** Sibling pages. The one with the address `here` is marked as current. */
  readonly tabs?: readonly Link[]
  readonly here?: string
  readonly body: Part
  readonly isNarrow?: boolean
  readonly script?: PageScript
}

const THEME = pageScript('theme')

/** Not a tagged template, because bundlers rewrite those that contain `</script>`. */
const inlineScript = (nonce: string, { code, data }: PageScript) =>
  raw(
    `<script nonce="${nonce}"${Object.entries(data)
      .map(([name, value]) => ` ${name}="${escapeHtml(value)}"`)
      .join('')}>${code}</script>`,
  )

export interface ScreenParts extends RouteParts {
  readonly layout: PageLayout
}

export class PageLayout {
  constructor(
    /** Path of the public address; empty at the root. */
    readonly base: string,
    private readonly viewerStyle: string,
  ) {}

  get first(): string {
    return this.base === '' ? '/' : this.base
  }

  at(...parts: readonly string[]): string {
    return `${this.base}/${parts.map(encodeURIComponent).join('/')}`
  }

  page(c: Context<ServerEnv>, parts: PageParts, status: ContentfulStatusCode = 200): Response {
    const { title, crumbs = [], tabs, here, body, isNarrow = false, script } = parts
    const { nonce, caller } = c.var
    const email = caller?.kind === 'person' ? caller.person.email : undefined
    const done = DONE[c.req.query('done') ?? '']
    const page = html`<!doctype html>
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="color-scheme" content="light dark" />
          <title>${title} · Retake</title>
          <link rel="icon" href="data:," />
          ${inlineScript(nonce, THEME)}
          <link rel="stylesheet" href="${this.base}/assets/${this.viewerStyle}" />
          <link rel="stylesheet" href="${this.base}/assets/${STYLE_NAME}" />
        </head>
        <body>
          <a class="skip" href="#main">Skip to content</a>
          <header class="top">
            <nav class="crumbs" aria-label="Breadcrumb">
              <ol>
                <li><a href="${this.first}">Retake</a></li>
                ${crumbs.map((each) => html`<li><a href="${each.href}">${each.title}</a></li>`)}
                <li><span aria-current="page">${title}</span></li>
              </ol>
            </nav>
            ${
              email !== undefined &&
              html`<div class="who">
                <span class="mail clip">${email}</span>
                <form method="post" action="${this.base}/sign-out" class="inline">
                  <button class="plain">Sign out</button>
                </form>
              </div>`
            }
          </header>
          ${
            tabs !== undefined &&
            html`<nav class="tabs" aria-label="Pages">
              ${tabs.map(
                ({ title: name, href }) =>
                  html`<a href="${href}" ${href === here ? raw('aria-current="page"') : ''}
                    >${name}</a
                  >`,
              )}
            </nav>`
          }
          <main id="main" ${isNarrow ? raw('class="narrow"') : ''} tabindex="-1">
            ${done !== undefined && html`<p class="note" role="status">${done}</p>`} ${body}
          </main>
          ${script !== undefined && inlineScript(nonce, script)}
        </body>
      </html>`
    return c.html(page, status) as Response
  }

  errorPage(c: Context<ServerEnv>, error: Explained, status: ContentfulStatusCode): Response {
    return this.page(
      c,
      {
        title: error.what.replace(/\.$/, ''),
        isNarrow: true,
        body: html`<h1>${error.what}</h1>
          ${[error.why, error.fix].map((each) => each !== undefined && html`<p>${withCode(each)}</p>`)}
          <p><a class="button" href="${this.first}">Back to your projects</a></p>`,
      },
      status,
    )
  }
}

/** Messages after a change, by the value of `?done=`. Free text in a URL could mislead users. */
const DONE: Readonly<Record<string, string>> = {
  created: 'Created.',
  saved: 'Saved.',
  removed: 'Removed.',
  invited: 'Invitation sent.',
  revoked: 'Key revoked. Programs can no longer use it.',
  commented: 'Comment added.',
  decided: 'Your decision was sent to the waiting program.',
  started: 'Job started.',
  ended: 'Session ended.',
  'signed-out': 'You have signed out.',
}

export const postForm = (action: string, body: Part, className = 'stack'): Html =>
  html`<form method="post" action="${action}" class="${className}">${body}</form>`

export const hiddenFields = (fields: Fields): Html[] =>
  Object.entries(fields).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
  )

export const postButton = (
  action: string,
  text: string,
  { look = '', fields = {}, about = '' }: { look?: string; fields?: Fields; about?: string } = {},
): Html =>
  postForm(
    action,
    html`${hiddenFields(fields)}<button
        class="${look}"
        ${about === '' ? '' : html`aria-label="${`${text} ${about}`}"`}
      >
        ${text}
      </button>`,
    'inline',
  )

type Fields = Readonly<Record<string, string>>

export const field = (
  label: string,
  name: string,
  options: Fields & { readonly hint?: string } = {},
): Html => {
  const { hint, ...attributes } = options
  return html`<label
    >${label}${hint !== undefined && html`<span class="hint">${hint}</span>`}
    <input
      name="${name}"
      ${Object.entries(attributes).map(([key, value]) => html` ${raw(key)}="${value}"`)}
  /></label>`
}

export const choice = (
  label: string,
  name: string,
  options: readonly (readonly [value: string, title: string])[],
  chosen?: string,
): Html =>
  html`<label
    >${label}<select name="${name}">
      ${options.map(
        ([value, title]) =>
          html`<option value="${value}" ${value === chosen ? raw('selected') : ''}>
            ${title}
          </option>`,
      )}
    </select></label
  >`

export const check = (label: string, name: string, value: string, isOn: boolean): Html =>
  html`<label class="check"
    ><input
      type="checkbox"
      name="${name}"
      value="${value}"
      ${isOn ? raw('checked') : ''}
    />${label}</label
  >`

type Column<T> = readonly [
  title: string,
  cell: (row: T) => Part | null,
  look?: 'number' | 'mono' | 'mono small' | 'danger' | 'actions',
]

/** A table that scrolls horizontally on a small screen. */
export const htmlTable = <T>(
  label: string,
  rows: readonly T[],
  columns: readonly Column<T>[],
): Html =>
  html`<div class="scroll" role="region" aria-label="${label}" tabindex="0">
    <table>
      <thead>
        <tr>
          ${columns.map(([title, , look]) => html`<th class="${look === 'number' ? look : ''}">${look === 'actions' ? html`<span class="skip">${title}</span>` : title}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>
              ${columns.map(([, cell, look = '']) => html`<td class="${look}">${cell(row) ?? ''}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`

/** The age of a moment, with the exact time as a tooltip. */
export const moment = (at: string | Date): Html => {
  const time = new Date(at)
  return html`<time
    datetime="${time.toISOString()}"
    title="${time.toISOString().slice(0, 16).replace('T', ' ')} UTC"
    >${relativeTime(time.getTime(), Date.now())}</time
  >`
}

export const money = (usd: number | null): string => cost(usd ?? undefined)
export { count, duration }
