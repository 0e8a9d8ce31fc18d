import { Hono } from 'hono'
import { html } from 'hono/html'
import type { ServerEnv } from '../access.js'
import { moment, htmlTable, type ScreenParts } from './layout.js'
import { auditLog } from '../../database/audit.js'
import { type AuditEntry } from '../../database/tables.js'
import { organizationFrame } from './organization-frame.js'

const AUDIT_PAGE = 100

/** What members and keys did. */
export function auditPage(parts: ScreenParts) {
  const { access, database, layout } = parts
  return new Hono<ServerEnv>().get('/:org/audit', async (c) => {
    const { actor, organization } = await access.member(c, 'read', 'admin')
    const before = c.req.query('before') ?? ''
    const here = layout.at(organization.slug, 'audit')
    const older = /^\d{1,15}$/.test(before) ? { before: Number(before) } : {}
    const entries = await database.inOrg(actor, (rows) =>
      auditLog(rows, { limit: AUDIT_PAGE, ...older }),
    )
    return layout.page(c, {
      title: 'Audit log',
      ...organizationFrame(layout, organization, actor, here),
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
}

const detailsText = (details: AuditEntry['details']): string =>
  Object.entries(details)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' · ')
