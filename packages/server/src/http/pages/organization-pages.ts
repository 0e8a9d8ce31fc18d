import { type Context, Hono } from 'hono'
import { html } from 'hono/html'
import { argumentLines, bytesText, plural } from '@retake/tape/present'
import { answerStream, EVENTS_STREAM } from '@retake/web'
import { type Actor, type AuditEntry, hasRole, type Role, ROLES } from '../../database/database.js'
import { serverErrors } from '../../errors.js'
import {
  MODEL_PROVIDERS,
  modelLines,
  type ModelEndpoint,
  parseModels,
} from '../../jobs/model-endpoint.js'
import {
  DEFAULT_MODES,
  EVENTS,
  isNoticeEvent,
  MODES,
  type NoticeEvent,
} from '../../notify/notifications.js'
import type { Organization } from '../../people/accounts.js'
import { SCOPES } from '../../people/api-keys.js'
import type { TeamApproval } from '../../runs/approvals.js'
import { audit, auditLog, type StoredProject } from '../../runs/team-runs.js'
import type { ServerEnv } from '../access.js'
import type { RouteParts } from '../app.js'
import { needed, readForm, slugOf, fieldValue } from './account-pages.js'
import { dashboard } from './dashboard.js'
import {
  check,
  choice,
  field,
  hiddenFields,
  type Html,
  moment,
  money,
  postButton,
  postForm,
  htmlTable,
} from './layout.js'

const ROLE_WORDS: Readonly<Record<Role, string>> = {
  viewer: 'Viewer: can read',
  member: 'Member: can push, comment and decide on approvals',
  admin: 'Admin: can also manage members, keys and settings',
  owner: 'Owner: can do everything',
}

const AUDIT_PAGE = 100
const STREAM_MS = 10 * 60_000

/** How long computed figures are shared between viewers. */
const FIGURES_MS = 1500

/**
 * Updates the figures after a change. Waits until shared figures have expired, so that the new ones
 * include the change.
 */
const COPY = `document.getElementById('copy').onclick=async(e)=>{const l=document.querySelector('[name=link]');l.select();try{await navigator.clipboard.writeText(l.value)}catch{document.execCommand('copy')}e.target.textContent='Copied'}`

const LIVE = (events: string): string => `(()=>{let timer;const load=async()=>{timer=undefined;
try{const r=await fetch(location.pathname+'?part=live',{headers:{accept:'text/html'}});if(r.ok)document.getElementById('live').innerHTML=await r.text()}catch{}};
new EventSource(${JSON.stringify(events)}).onmessage=()=>timer??=setTimeout(load,${FIGURES_MS + 500})})()`

/** Counts down to the expiry of requests, and reloads the page when something changes. */
const COUNTDOWN = (
  events: string,
): string => `(()=>{const tick=()=>{for(const e of document.querySelectorAll('[data-until]')){const s=Math.max(0,Math.round((Date.parse(e.dataset.until)-Date.now())/1000));
e.textContent=s===0?'expired':s<90?s+' s left':Math.round(s/60)+' min left'}};tick();setInterval(tick,1000);
new EventSource(${JSON.stringify(events)}).onmessage=e=>{if(e.data==='approvals'&&!document.querySelector('input:focus'))location.reload()}})()`

export function organizationPages(parts: RouteParts) {
  const { access, accounts, apiKeys, approvals, database, members } = parts
  const { notifications, runs, layout, jobs, models, url } = parts
  const { base } = layout
  const tabsOf = ({ slug }: Organization, actor: Actor) => {
    const all = [
      { title: 'Overview', href: layout.at(slug) },
      { title: 'Approvals', href: layout.at(slug, 'approvals') },
      { title: 'Members', href: layout.at(slug, 'members') },
      { title: 'API keys', href: layout.at(slug, 'keys') },
      { title: 'Audit log', href: layout.at(slug, 'audit') },
      { title: 'Settings', href: layout.at(slug, 'settings') },
    ]
    return hasRole(actor, 'admin')
      ? all
      : all.filter(
          ({ title }) => title !== 'Audit log' && (actor.role !== 'viewer' || title !== 'API keys'),
        )
  }
  const frame = (organization: Organization, actor: Actor, here: string) => ({
    crumbs: [{ title: organization.name, href: layout.at(organization.slug) }],
    tabs: tabsOf(organization, actor),
    here,
  })
  const figures = new Map<string, { readonly at: number; readonly shown: Promise<Html> }>()
  const figuresOf = (
    actor: Actor,
    organization: Organization,
    projects: readonly StoredProject[],
  ): Promise<Html> => {
    const known = figures.get(actor.org)
    if (known !== undefined && Date.now() - known.at < FIGURES_MS) return known.shown
    const shown = dashboard(parts, actor, organization, projects)
    figures.set(actor.org, { at: Date.now(), shown })
    // Only callers that are already waiting share an error.
    shown.catch(() => figures.delete(actor.org))
    return shown
  }
  const record = (actor: Actor, action: string, target: string, details = {}): Promise<void> =>
    database.inOrg(actor, (rows) => audit(rows, actor, action, target, details))

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
      await record(actor, 'organization.create', made.slug)
      return c.redirect(`${layout.at(made.slug)}?done=created`, 303)
    })
    .get('/:org/', (c) => c.redirect(layout.at(c.req.param('org')), 301))
    .get('/:org', async (c) => {
      const { actor, organization } = await access.member(c, 'read', 'viewer')
      const projects = await runs.projects(actor)
      const live = await figuresOf(actor, organization, projects)
      if (c.req.query('part') === 'live') return c.html(live)
      return layout.page(c, {
        title: 'Overview',
        ...frame(organization, actor, layout.at(organization.slug)),
        body: html`<div class="head"><h1>${organization.name}</h1></div>
          ${projectList(organization, projects, actor.role)}
          <div id="live">${live}</div>`,
        script: LIVE(layout.at(organization.slug, 'events')),
      })
    })
    .get('/:org/events', async (c) => {
      const { actor } = await access.member(c, 'read', 'viewer')
      // Pages learn only what has changed, and then load the data that they may see.
      return answerStream(c, {
        ...EVENTS_STREAM,
        limitMs: STREAM_MS,
        watch: (send) => {
          const on =
            (what: string) =>
            ({ org }: { readonly org: string }): void => {
              if (org === actor.org) send(`data: ${what}\n\n`)
            }
          const stops = [
            runs.watch(on('runs')),
            approvals.watch(on('approvals')),
            jobs.watch(on('jobs')),
          ]
          return () => stops.forEach((stop) => stop())
        },
      })
    })
    .post('/:org/projects', async (c) => {
      const { actor, organization } = await access.member(c, 'push')
      const form = await readForm(c)
      const name = needed(form, 'name', 'The name')
      const { slug } = await runs.createProject(actor, { name, slug: slugOf(name) })
      return c.redirect(layout.at(organization.slug, slug), 303)
    })
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
        ...frame(organization, actor, here),
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
            ...frame(organization, actor, here),
            body: html`<h1>Invitation for ${email}</h1>
              <p>
                This server has no mail server, so it sent nothing. Send this link yourself, and
                only to ${email}: whoever opens it first joins with that address. It is valid for 7
                days.
              </p>
              ${field('Link', 'link', { value: link, readonly: '', class: 'mono' })}
              <p><button type="button" id="copy">Copy link</button></p>
              <p><a href="${here}">Back to the members</a></p>`,
            script: COPY,
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
    .get('/:org/audit', async (c) => {
      const { actor, organization } = await access.member(c, 'read', 'admin')
      const before = c.req.query('before') ?? ''
      const here = layout.at(organization.slug, 'audit')
      const older = /^\d{1,15}$/.test(before) ? { before: Number(before) } : {}
      const entries = await database.inOrg(actor, (rows) =>
        auditLog(rows, { limit: AUDIT_PAGE, ...older }),
      )
      return layout.page(c, {
        title: 'Audit log',
        ...frame(organization, actor, here),
        body: html`<div class="head"><h1>Audit log</h1></div>
          ${htmlTable('Audit log', entries, [
            ['When', (each) => moment(each.at)],
            ['Who', (each) => each.actor],
            ['Action', (each) => each.action, 'mono'],
            ['Target', (each) => each.target],
            ['Details', (each) => detailsText(each.details), 'mono small'],
          ])}
          ${entries.length === AUDIT_PAGE && html`<p class="after"><a class="button" href="${here}?before=${entries.at(-1)?.id ?? ''}">Older entries</a></p>`}`,
      })
    })
    .get('/:org/settings', async (c) => {
      const { actor, organization } = await access.member(c, 'read', 'viewer')
      return settingsPage(c, actor, organization)
    })
    .post('/:org/settings', async (c) => {
      const { actor, organization } = await access.member(c, 'read', 'viewer')
      const form = await readForm(c)
      const here = layout.at(organization.slug, 'settings')
      if (fieldValue(form, 'action') === 'notify') {
        const modes = Object.keys(EVENTS).map((event) => [event, fieldValue(form, event)] as const)
        const wrong = modes.find(([, mode]) => !Object.hasOwn(MODES, mode))
        if (wrong !== undefined)
          throw serverErrors.REQUEST_INVALID('The choice', `"${wrong[0]}" is missing.`)
        const { id } = access.person(c)
        await notifications.choose(actor.org, id, Object.fromEntries(modes))
        return c.redirect(`${here}?done=saved`, 303)
      }
      if (!hasRole(actor, 'admin'))
        throw serverErrors.NOT_ALLOWED('change these settings', actor.role)
      if (fieldValue(form, 'action') === 'model') {
        const key = fieldValue(form, 'key')
        await models.set(actor, {
          baseUrl: fieldValue(form, 'baseUrl'),
          provider: fieldValue(form, 'provider'),
          models: parseModels(fieldValue(form, 'models')),
          jobUsd: Number(fieldValue(form, 'jobUsd')),
          monthUsd: Number(fieldValue(form, 'monthUsd')),
          ...(key !== '' && { key }),
        })
        return c.redirect(`${here}?done=saved`, 303)
      }
      if (fieldValue(form, 'action') === 'remove-model') {
        await models.remove(actor)
        return c.redirect(`${here}?done=removed`, 303)
      }
      if (fieldValue(form, 'action') === 'remove') {
        await notifications.removeWebhook(actor, fieldValue(form, 'id'))
        return c.redirect(`${here}?done=removed`, 303)
      }
      const events = form.getAll('event').filter(isNoticeEvent)
      const secret = await notifications.addWebhook(actor, fieldValue(form, 'url'), events)
      return settingsPage(c, actor, organization, secret)
    })
    .get('/:org/approvals', async (c) => {
      const { actor, organization } = await access.member(c, 'read', 'viewer')
      const here = layout.at(organization.slug, 'approvals')
      const [all, projects] = [await approvals.list(actor), await runs.projects(actor)]
      const waiting = all.filter(({ state }) => state === 'waiting')
      const over = all.filter(({ state }) => state !== 'waiting').slice(0, 30)
      const mayDecide = actor.role !== 'viewer'
      return layout.page(c, {
        title: 'Approvals',
        ...frame(organization, actor, here),
        body: html`<section>
            <div class="head"><h1>Approvals</h1></div>
            ${waiting.length === 0 && html`<p class="empty">No calls are waiting for a decision. If a policy requires approval for a call, the call waits here while the guarded agent uses an API key of this organization.</p>`}
            ${waiting.map((each) => approvalCard(each, projects, here, mayDecide))}
            <details>
              <summary>Connect a guarded agent</summary>
              <p>
                With <code>approval: { ask: 'team' }</code> and these variables, its calls wait
                here. It accepts only decisions signed with this key.
              </p>
              <pre>
RETAKE_SERVER=${url}
RETAKE_PROJECT=${organization.slug}/${projects[0]?.slug ?? 'project'}
RETAKE_API_KEY=(a key with the scopes push and read)
RETAKE_APPROVAL_KEY=${approvals.publicKey(actor)}</pre>
            </details>
          </section>
          ${
            over.length > 0 &&
            html`<section>
              <h2>Decided and expired</h2>
              ${htmlTable('Decided and expired', over, [
                ['Requested', (each) => moment(each.requestedAt)],
                ['Call', (each) => each.call.tool, 'mono'],
                ['Outcome', approvalBadge],
                ['By', (each) => each.decidedBy],
                ['Reason', (each) => each.reason],
              ])}
            </section>`
          }`,
        script: COUNTDOWN(layout.at(organization.slug, 'events')),
      })
    })
    .post('/:org/approvals', async (c) => {
      const { actor, organization } = await access.member(c, 'read', 'member')
      const form = await readForm(c)
      const project = (await runs.projects(actor)).find(
        ({ id }) => id === fieldValue(form, 'project'),
      )
      if (project === undefined) throw serverErrors.NOT_FOUND('project')
      await approvals.decide(actor, project, fieldValue(form, 'id'), {
        approved: fieldValue(form, 'decision') === 'approve',
        reason: fieldValue(form, 'reason'),
      })
      return c.redirect(`${layout.at(organization.slug, 'approvals')}?done=decided`, 303)
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
        ...frame(organization, actor, here),
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

  async function settingsPage(
    c: Context<ServerEnv>,
    actor: Actor,
    organization: Organization,
    secret?: string,
  ): Promise<Response> {
    const here = layout.at(organization.slug, 'settings')
    const { caller } = c.var
    const modes =
      caller?.kind === 'person'
        ? await notifications.choices(actor, caller.person.id)
        : DEFAULT_MODES
    const [hooks, projects] = [await notifications.webhooks(actor), await runs.projects(actor)]
    return layout.page(
      c,
      {
        title: 'Settings',
        ...frame(organization, actor, here),
        body: html`<section>
            <div class="head"><h1>Settings</h1></div>
            <h2>Your notifications</h2>
            ${postForm(
              here,
              html`${hiddenFields({ action: 'notify' })}${Object.entries(EVENTS).map(([event, title]) => choice(title, event, Object.entries(MODES), modes[event as NoticeEvent]))}<button>
                  Save
                </button>`,
            )}
          </section>
          <section>
            <h2>Webhooks</h2>
            <p class="muted">
              Each event sends a request. Its <code>retake-signature</code> header contains the
              HMAC-SHA256 of <code>time.body</code>. Failed requests are retried for 15 hours.
            </p>
            ${
              secret !== undefined &&
              html`<div class="note" role="status">
                <p>
                  This secret signs requests to the webhook. Copy it now: it will not be shown
                  again.
                </p>
                <code class="secret">${secret}</code>
              </div>`
            }
            ${
              hooks.length > 0 &&
              html`${htmlTable('Webhooks', hooks, [
                  ['URL', (hook) => hook.url, 'mono'],
                  ['Events', (hook) => hook.events.join(', ')],
                  ['Last error', (hook) => hook.failed, 'danger'],
                  [
                    'Actions',
                    (hook) =>
                      hasRole(actor, 'admin') &&
                      postButton(here, 'Remove', {
                        look: 'remove',
                        fields: { action: 'remove', id: hook.id },
                        about: hook.url,
                      }),
                    'actions',
                  ],
                ])}
                <p></p>`
            }
            ${
              hasRole(actor, 'admin') &&
              postForm(
                here,
                html`${hiddenFields({ action: 'webhook' })}${field('Address', 'url', { type: 'url', required: '', placeholder: 'https://example.com/hooks/retake' })}
                  <fieldset>
                    <legend>Events</legend>
                    ${Object.entries(EVENTS).map(([event, title]) => check(title, 'event', event, true))}
                  </fieldset>
                  <button>Add webhook</button>`,
              )
            }
          </section>
          ${hasRole(actor, 'admin') && modelSection(await models.find(actor), here)}
          <section>
            <h2>Retention</h2>
            ${
              projects.length === 0
                ? html`<p class="muted">No projects yet.</p>`
                : htmlTable('Retention', projects, [
                    [
                      'Project',
                      ({ slug, name }) =>
                        html`<a href="${layout.at(organization.slug, slug, 'settings')}"
                          >${name}</a
                        >`,
                    ],
                    [
                      'Runs removed',
                      ({ retentionDays }) =>
                        retentionDays === null ? 'never' : `after ${plural(retentionDays, 'day')}`,
                    ],
                  ])
            }
            <p class="muted after">Storage used: ${bytesText(await runs.storageUsed(actor))}</p>
          </section>`,
      },
      secret === undefined ? 200 : 201,
    )
  }

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
      ${projectList(organization, projects, role)}
    </section>`
  }

  function projectList(
    organization: Organization,
    projects: readonly StoredProject[],
    role: Role,
  ): Html {
    return html`<ul class="cards">
        ${projects.map(
          ({ slug, name }) =>
            html`<li>
              <a class="card" href="${layout.at(organization.slug, slug)}"
                ><b>${name}</b><span class="muted mono">${organization.slug}/${slug}</span></a
              >
            </li>`,
        )}
      </ul>
      ${projects.length === 0 && html`<p class="muted">No projects yet.</p>`}
      <p></p>
      ${role !== 'viewer' && html`<details${projects.length === 0 ? html` open` : ''}><summary>Create a project in ${organization.name}</summary>${postForm(layout.at(organization.slug, 'projects'), html`${field('Name', 'name', { required: '', maxlength: '100', placeholder: 'Refunds' })}<button class="${projects.length === 0 ? 'primary' : ''}">Create</button>`, 'line')}</details><p></p>`}`
  }
}

/** The model that jobs can use. Its key is never shown. */
const modelSection = (endpoint: ModelEndpoint | undefined, here: string): Html =>
  html`<section>
    <h2>Model for jobs</h2>
    <p class="muted">
      Blame, fix and fork run agents again. Without a model, agents get only recorded answers. They
      never see the key: the server adds it to requests for the listed models.
    </p>
    ${endpoint !== undefined && html`<p>Spent this month: ${money(endpoint.spentUsd)} of ${money(endpoint.monthUsd)}. Set by ${endpoint.setBy} ${moment(endpoint.setAt)}.</p>`}
    ${postForm(
      here,
      html`${hiddenFields({ action: 'model' })}
        ${choice('Provider', 'provider', MODEL_PROVIDERS, endpoint?.provider)}
        ${field('Base URL', 'baseUrl', { type: 'url', required: '', value: endpoint?.baseUrl ?? '', placeholder: 'https://api.openai.com/v1' })}
        ${field('API key', 'key', { type: 'password', autocomplete: 'off', hint: endpoint === undefined ? '' : 'Leave empty to keep the stored key.' })}
        <label
          >Models<span class="hint"
            >One per line. If a model has no public price, add two: dollars per million input and
            output tokens.</span
          ><textarea name="models" required placeholder="gpt-5-mini">
${modelLines(endpoint?.models ?? [])}</textarea>
        </label>
        ${field('Budget per job (USD)', 'jobUsd', { type: 'number', min: '0.01', step: 'any', required: '', value: String(endpoint?.jobUsd ?? 1) })}
        ${field('Budget per month (USD)', 'monthUsd', { type: 'number', min: '0.01', step: 'any', required: '', value: String(endpoint?.monthUsd ?? 50) })}
        <button>Save model</button>`,
    )}
    ${endpoint !== undefined && postButton(here, 'Remove model', { look: 'remove', fields: { action: 'remove-model' } })}
  </section>`

const SCOPE_WORDS = {
  read: 'Read runs',
  push: 'Push and change runs, request approvals',
  jobs: 'Start jobs',
  approve: 'Decide on approvals',
} as const

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

const detailsText = (details: AuditEntry['details']): string =>
  Object.entries(details)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' · ')

const approvalBadge = ({ state }: TeamApproval): Html =>
  html`<span class="badge ${state === 'approved' ? 'good' : state === 'denied' ? 'danger' : ''}"
    >${state}</span
  >`

const approvalCard = (
  approval: TeamApproval,
  projects: readonly StoredProject[],
  here: string,
  mayDecide: boolean,
): Html => {
  const { call, run, requestedBy, expiresAt } = approval
  const project = projects.find(({ id }) => id === approval.project)
  return html`<article class="comment">
    <header>
      <b class="mono">${call.tool}</b> <span>${project?.name}</span>
      <span class="muted">run ${run}, ${requestedBy}</span>
      <span class="badge warning" data-until="${expiresAt}"
        >until ${expiresAt.slice(11, 16)} UTC</span
      >
    </header>
    <div class="inside">
      <p>Rule <code>${call.rule}</code> of guard <code>${call.guard}</code>: ${call.why}</p>
      <pre>${argumentLines(call.args).join('\n')}</pre>
      ${
        mayDecide &&
        postForm(
          here,
          html`${hiddenFields({ project: approval.project, id: approval.id })}
            ${field('Reason', 'reason', { maxlength: '500', hint: 'Sent to the program and added to the audit log', autocomplete: 'off' })}
            <button
              class="primary"
              name="decision"
              value="approve"
              aria-label="Approve ${call.tool}"
            >
              Approve</button
            ><button class="remove" name="decision" value="deny" aria-label="Deny ${call.tool}">
              Deny
            </button>`,
          'line',
        )
      }
    </div>
  </article>`
}
