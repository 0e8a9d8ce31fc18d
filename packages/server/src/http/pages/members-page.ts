import { Hono } from 'hono'
import { html } from 'hono/html'
import { hasRole } from '../../database/database.js'
import { serverErrors } from '../../edge/errors.js'
import type { ServerEnv } from '../access.js'
import type { ScreenParts } from './layout.js'
import { readForm, fieldValue } from './account-pages.js'
import { choice, field, hiddenFields, postButton, postForm, htmlTable } from './layout.js'
import { type Role, ROLES } from '../../database/tables.js'
import { organizationFrame } from './organization-frame.js'
import { pageScript } from './page-script.js'

const ROLE_WORDS: Readonly<Record<Role, string>> = {
  viewer: 'Viewer: can read',
  member: 'Member: can push, comment and decide on approvals',
  admin: 'Admin: can also manage members, keys and settings',
  owner: 'Owner: can do everything',
}

/** Members of an organization, and invitations. */
export function membersPage(parts: ScreenParts) {
  const { access, accounts, members, layout } = parts
  return new Hono<ServerEnv>()
    .get('/:org/members', async (c) => {
      const { actor, organization } = await access.member(c, 'read', 'viewer')
      const here = layout.at(organization.slug, 'members')
      const all = await accounts.members(actor.org)
      const invitations = hasRole(actor, 'admin') ? await accounts.invitations(actor.org) : []
      const roles = ROLES.filter((role) => role !== 'owner' || actor.role === 'owner')
      const mayChange = (role: Role): boolean =>
        hasRole(actor, 'admin') && (role !== 'owner' || actor.role === 'owner')
      return layout.page(c, {
        title: 'Members',
        ...organizationFrame(layout, organization, actor, here),
        body: html`<section>
            <div class="head"><h1>Members</h1></div>
            ${htmlTable('Members', all, [
              [
                'Person',
                (each) => html`<b>${each.name}</b><span class="clip muted">${each.email}</span>`,
              ],
              [
                'Role',
                (each) =>
                  mayChange(each.role)
                    ? postForm(
                        here,
                        html`${hiddenFields({ user: each.id })}<select
                            name="role"
                            aria-label="Role of ${each.email}"
                          >
                            ${ROLES.filter((role) => roles.includes(role) || role === each.role).map((role) => html`<option value="${role}" ${role === each.role ? html` selected` : ''}>${role}</option>`)}</select
                          ><button
                            name="action"
                            value="role"
                            aria-label="Save the role of ${each.email}"
                          >
                            Save
                          </button>`,
                        'row',
                      )
                    : each.role,
              ],
              [
                'Actions',
                (each) =>
                  mayChange(each.role) &&
                  postButton(here, 'Remove', {
                    look: 'remove',
                    fields: { action: 'remove', user: each.id },
                    about: each.email,
                  }),
                'actions',
              ],
            ])}
          </section>
          ${
            invitations.length > 0 &&
            html`<section>
              <h2>Pending invitations</h2>
              ${htmlTable('Pending invitations', invitations, [
                ['Email', ({ email }) => email],
                ['Role', ({ role }) => role],
                ['Expires', ({ until }) => until.slice(0, 10)],
                [
                  'Actions',
                  ({ id, email }) =>
                    postButton(here, 'Withdraw', {
                      look: 'remove',
                      fields: { action: 'withdraw', invitation: id },
                      about: email,
                    }),
                  'actions',
                ],
              ])}
            </section>`
          }
          ${
            hasRole(actor, 'admin') &&
            html`<section>
              <h2>Invite a member</h2>
              ${postForm(
                here,
                html`${hiddenFields({ action: 'invite' })}${field('Email', 'email', { type: 'email', required: '', autocomplete: 'off' })}
                  ${choice(
                    'Role',
                    'role',
                    roles.map((role) => [role, ROLE_WORDS[role]] as const),
                    'member',
                  )}<button class="primary">Invite</button>`,
                'line',
              )}
            </section>`
          }`,
      })
    })
    .post('/:org/members', async (c) => {
      const { actor, organization } = await access.member(c, 'read', 'admin')
      const form = await readForm(c)
      const { headers } = c.req.raw
      const user = fieldValue(form, 'user')
      const role = fieldValue(form, 'role')
      const here = layout.at(organization.slug, 'members')
      switch (fieldValue(form, 'action')) {
        case 'invite': {
          const email = fieldValue(form, 'email')
          const link = await members.invite(actor, { email, role }, headers)
          if (link === undefined) return c.redirect(`${here}?done=invited`, 303)
          return layout.page(c, {
            title: 'Invitation',
            ...organizationFrame(layout, organization, actor, here),
            body: html`<h1>Invitation for ${email}</h1>
              <p>
                This server has no mail server, so it sent nothing. Send this link yourself, and
                only to ${email}: whoever opens it first joins with that address. It is valid for 7
                days.
              </p>
              ${field('Link', 'link', { value: link, readonly: '', class: 'mono' })}
              <p><button type="button" id="copy">Copy link</button></p>
              <p><a href="${here}">Back to the members</a></p>`,
            script: pageScript('copy-link'),
          })
        }
        case 'withdraw':
          await members.withdraw(actor, fieldValue(form, 'invitation'))
          return c.redirect(`${here}?done=removed`, 303)
        case 'role':
          await members.setRole(actor, { user, role }, headers)
          return c.redirect(`${here}?done=saved`, 303)
        case 'remove':
          await members.remove(actor, user, headers)
          return c.redirect(`${here}?done=removed`, 303)
        default:
          throw serverErrors.REQUEST_INVALID('The form', 'It has no such action.')
      }
    })
}
