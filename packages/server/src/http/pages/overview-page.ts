import { Hono } from 'hono'
import { html } from 'hono/html'
import { answerStream, EVENTS_STREAM } from '@retake/web'
import type { Organization } from '../../people/accounts.js'
import type { ServerEnv } from '../access.js'
import { needed, readForm, slugOf } from './account-pages.js'
import { dashboard } from './dashboard.js'
import { type Html, type ScreenParts } from './layout.js'
import { type Actor, type StoredProject } from '../../database/tables.js'
import { organizationFrame, projectList } from './organization-frame.js'
import { pageScript } from './page-script.js'

const STREAM_MS = 10 * 60_000

/** How long computed figures are shared between viewers. */
const FIGURES_MS = 1500

/** The overview of an organization, which updates itself. */
export function overviewPage(parts: ScreenParts) {
  const { access, approvals, runs, layout, jobs } = parts
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
  return new Hono<ServerEnv>()
    .get('/:org/', (c) => c.redirect(layout.at(c.req.param('org')), 301))
    .get('/:org', async (c) => {
      const { actor, organization } = await access.member(c, 'read', 'viewer')
      const projects = await runs.projects(actor)
      const live = await figuresOf(actor, organization, projects)
      if (c.req.query('part') === 'live') return c.html(live)
      return layout.page(c, {
        title: 'Overview',
        ...organizationFrame(layout, organization, actor, layout.at(organization.slug)),
        body: html`<div class="head"><h1>${organization.name}</h1></div>
          ${projectList(layout, organization, projects, actor.role)}
          <div id="live">${live}</div>`,
        script: pageScript('live', {
          events: layout.at(organization.slug, 'events'),
          waitMs: FIGURES_MS + 500,
        }),
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
}
