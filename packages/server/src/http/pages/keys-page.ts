import { type Context, Hono } from 'hono'
import { html } from 'hono/html'
import type { Organization } from '../../people/accounts.js'
import type { ServerEnv } from '../access.js'
import type { ScreenParts } from './layout.js'
import { readForm, fieldValue } from './account-pages.js'
import { check, choice, field, moment, postButton, postForm, htmlTable } from './layout.js'
import { type Actor, SCOPES } from '../../database/tables.js'
import { organizationFrame } from './organization-frame.js'

/** API keys of an organization. */
export function keysPages(parts: ScreenParts) {
  const { access, apiKeys, runs, layout } = parts
  return new Hono<ServerEnv>()
    .get('/:org/keys', async (c) => {
      const { actor, organization } = await access.member(c, 'read', 'member')
      return keysPage(c, actor, organization)
    })
    .post('/:org/keys', async (c) => {
      const { actor, organization } = await access.member(c, 'read', 'member')
      const form = await readForm(c)
      if (fieldValue(form, 'action') === 'revoke') {
        await apiKeys.revoke(actor, fieldValue(form, 'id'))
        return c.redirect(`${layout.at(organization.slug, 'keys')}?done=revoked`, 303)
      }
      const slug = fieldValue(form, 'project')
      const days = fieldValue(form, 'days')
      const { key } = await apiKeys.create(actor, {
        name: fieldValue(form, 'name'),
        scopes: form.getAll('scope'),
        project: slug === '' ? null : (await runs.project(actor, slug)).id,
        days: days === '' ? null : Number(days),
      })
      return keysPage(c, actor, organization, key)
    })

  async function keysPage(
    c: Context<ServerEnv>,
    actor: Actor,
    organization: Organization,
    made?: string,
  ): Promise<Response> {
    const here = layout.at(organization.slug, 'keys')
    const [keys, projects] = [await apiKeys.list(actor), await runs.projects(actor)]
    const projectName = (id: string | null): string =>
      id === null ? 'all' : (projects.find((each) => each.id === id)?.name ?? id)
    return layout.page(
      c,
      {
        title: 'API keys',
        ...organizationFrame(layout, organization, actor, here),
        body: html`<section>
            <div class="head"><h1>API keys</h1></div>
            ${
              made !== undefined &&
              html`<div class="note" role="status">
                <p>This is your new key. Copy it now: it will not be shown again.</p>
                <code class="secret">${made}</code>
              </div>`
            }
            <p class="muted">
              Programs read their key from <code>RETAKE_API_KEY</code>. Only a hash is stored.
            </p>
            ${
              keys.length === 0
                ? html`<p class="empty">No keys yet.</p>`
                : htmlTable('API keys', keys, [
                    ['Name', (key) => key.name],
                    ['Key', (key) => key.shown, 'mono'],
                    ['Scopes', (key) => key.scopes.join(', ')],
                    ['Project', (key) => projectName(key.project)],
                    ['Created by', (key) => key.createdBy],
                    ['Last used', (key) => (key.usedAt === null ? 'never' : moment(key.usedAt))],
                    ['Expires', (key) => key.expiresAt?.slice(0, 10) ?? 'never'],
                    [
                      'Actions',
                      (key) =>
                        postButton(here, 'Revoke', {
                          look: 'remove',
                          fields: { action: 'revoke', id: key.id },
                          about: key.name,
                        }),
                      'actions',
                    ],
                  ])
            }
          </section>
          <section>
            <h2>Create an API key</h2>
            ${postForm(
              here,
              html`${field('Name', 'name', { required: '', maxlength: '100', placeholder: 'Refunds CI' })}
                <fieldset>
                  <legend>Scopes</legend>
                  ${SCOPES.map((scope) => check(SCOPE_WORDS[scope], 'scope', scope, scope === 'read' || scope === 'push'))}
                </fieldset>
                ${choice('Project', 'project', [['', 'All projects'], ...projects.map(({ slug, name }) => [slug, name] as const)])}
                ${choice(
                  'Expires after',
                  'days',
                  [
                    ['30', '30 days'],
                    ['90', '90 days'],
                    ['365', '1 year'],
                    ['', 'never'],
                  ],
                  '90',
                )}
                <button class="primary">Create key</button>`,
            )}
          </section>`,
      },
      made === undefined ? 200 : 201,
    )
  }
}

const SCOPE_WORDS = {
  read: 'Read runs',
  push: 'Push and change runs, request approvals',
  jobs: 'Start jobs',
  approve: 'Decide on approvals',
} as const
