import { type Context, Hono } from 'hono'
import { html } from 'hono/html'
import { bytesText, plural } from '@retake/tape/present'
import { hasRole } from '../../database/database.js'
import { serverErrors } from '../../edge/errors.js'
import { MODEL_PROVIDERS, modelLines, parseModels } from '../../jobs/model-endpoint.js'
import { DEFAULT_MODES, EVENTS, isNoticeEvent, MODES } from '../../notify/notifications.js'
import type { Organization } from '../../people/accounts.js'
import type { ServerEnv } from '../access.js'
import { readForm, fieldValue } from './account-pages.js'
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
  type ScreenParts,
} from './layout.js'
import { type Actor, type ModelEndpoint, type NoticeEvent } from '../../database/tables.js'
import { organizationFrame } from './organization-frame.js'

/** Notifications, webhooks, the model of jobs, and retention. */
export function settingsPages(parts: ScreenParts) {
  const { access, notifications, runs, layout, models } = parts
  return new Hono<ServerEnv>()
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
        ...organizationFrame(layout, organization, actor, here),
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
