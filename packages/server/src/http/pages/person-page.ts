import { Hono } from 'hono'
import { html } from 'hono/html'
import type { Organization } from '../../people/accounts.js'
import type { ServerEnv } from '../access.js'
import type { ScreenParts } from './layout.js'
import { needed, readForm, slugOf } from './account-pages.js'
import { field, type Html, moment, postButton, postForm, htmlTable } from './layout.js'
import { audit } from '../../database/audit.js'
import { type Role, type StoredProject } from '../../database/tables.js'
import { projectList } from './organization-frame.js'

/** The organizations of a person, their projects, and the person's sessions. */
export function personPage(parts: ScreenParts) {
  const { access, accounts, database, runs, layout } = parts
  const { base } = layout
  return new Hono<ServerEnv>()
    .get('/', async (c) => {
      const { id } = access.person(c)
      const memberships = await accounts.memberships(id)
      const sections = await Promise.all(
        memberships.map(async ({ organization, role }) => {
          const actor = { org: organization.id, user: id, role }
          return organizationSection(organization, await runs.projects(actor), role)
        }),
      )
      const sessions = await accounts.sessions(id, c.req.raw.headers)
      const mayCreate = await accounts.mayCreateOrganization(id)
      return layout.page(c, {
        title: 'Your projects',
        body: html`<h1 class="skip">Your projects</h1>
          ${sections}
          ${sections.length === 0 && html`<p class="empty">You are not a member of any organization. Ask for an invitation.</p>`}
          ${
            mayCreate &&
            html`<details>
              <summary>Create organization</summary>
              ${postForm(`${base}/organizations`, html`${field('Name', 'name', { required: '', maxlength: '100' })}<button>Create</button>`, 'line')}
            </details>`
          }
          <details>
            <summary>Your sessions</summary>
            ${htmlTable('Your sessions', sessions, [
              [
                'Program',
                ({ client }) => html`<span title="${client}">${programName(client)}</span>`,
              ],
              ['Signed in', ({ since }) => moment(since)],
              ['Last used', ({ usedAt }) => moment(usedAt)],
              [
                'End',
                ({ id: session, isCurrent, client }) =>
                  isCurrent
                    ? 'this session'
                    : postButton(`${base}/sign-out`, 'End', {
                        fields: { session },
                        about: programName(client),
                      }),
                'actions',
              ],
            ])}
            <p class="muted">Lost a device? This ends all of your sessions, including this one.</p>
            ${postButton(`${base}/sign-out`, 'Sign out on all devices', { fields: { sessions: 'all' } })}
          </details>`,
      })
    })
    .post('/organizations', async (c) => {
      const who = access.person(c)
      const form = await readForm(c)
      const title = needed(form, 'name', 'The name')
      const made = await accounts.createOrganization(who, title, slugOf(title))
      const actor = { org: made.id, user: who.email, role: 'owner' } as const
      await database.inOrg(actor, (rows) => audit(rows, actor, 'organization.create', made.slug))
      return c.redirect(`${layout.at(made.slug)}?done=created`, 303)
    })

  function organizationSection(
    organization: Organization,
    projects: readonly StoredProject[],
    role: Role,
  ): Html {
    return html`<section>
      <div class="head">
        <h2>
          <a href="${layout.at(organization.slug)}">${organization.name}</a>
          <span class="badge">${role}</span>
        </h2>
      </div>
      ${projectList(layout, organization, projects, role)}
    </section>`
  }
}

/** Browser and operating system. The order matters, because browsers also name others. */
function programName(client: string): string {
  const find = (names: readonly (readonly [RegExp, string])[]): string | undefined =>
    names.find(([pattern]) => pattern.test(client))?.[1]
  const browser = find([
    [/\bEdgA?\//, 'Edge'],
    [/\bOPR\//, 'Opera'],
    [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
    [/(?:Chrome|Chromium|CriOS)\//, 'Chrome'],
    [/\bSafari\//, 'Safari'],
  ])
  const system = find([
    [/\bWindows\b/, 'Windows'],
    [/\bAndroid\b/, 'Android'],
    [/\biP(?:hone|ad)\b/, 'iOS'],
    [/\bMac OS X\b/, 'macOS'],
    [/\bLinux\b/, 'Linux'],
  ])
  if (browser === undefined) return client.slice(0, 40) || 'unknown'
  return system === undefined ? browser : `${browser} on ${system}`
}
