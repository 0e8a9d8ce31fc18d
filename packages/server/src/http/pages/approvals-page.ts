import { Hono } from 'hono'
import { html } from 'hono/html'
import { argumentLines } from '@retake/tape/present'
import { serverErrors } from '../../edge/errors.js'
import type { TeamApproval } from '../../runs/approvals.js'
import type { ServerEnv } from '../access.js'
import type { ScreenParts } from './layout.js'
import { readForm, fieldValue } from './account-pages.js'
import { field, hiddenFields, type Html, moment, postForm, htmlTable } from './layout.js'
import { type StoredProject } from '../../database/tables.js'
import { organizationFrame } from './organization-frame.js'
import { pageScript } from './page-script.js'

/** Guarded calls that wait for a decision. */
export function approvalsPage(parts: ScreenParts) {
  const { access, approvals, runs, layout, url } = parts
  return new Hono<ServerEnv>()
    .get('/:org/approvals', async (c) => {
      const { actor, organization } = await access.member(c, 'read', 'viewer')
      const here = layout.at(organization.slug, 'approvals')
      const [all, projects] = [await approvals.list(actor), await runs.projects(actor)]
      const waiting = all.filter(({ state }) => state === 'waiting')
      const over = all.filter(({ state }) => state !== 'waiting').slice(0, 30)
      const mayDecide = actor.role !== 'viewer'
      return layout.page(c, {
        title: 'Approvals',
        ...organizationFrame(layout, organization, actor, here),
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
        script: pageScript('countdown', { events: layout.at(organization.slug, 'events') }),
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
}

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
