import { text } from 'node:stream/consumers'
import { type Context, Hono } from 'hono'
import { html } from 'hono/html'
import { plural, RUN_STATUS_WORDS } from '@retake/tape/present'
import { mountViewer } from '@retake/web'
import { hasRole } from '../../database/database.js'
import { serverErrors } from '../../edge/errors.js'
import type { Organization } from '../../people/accounts.js'
import type { LiveRun, TeamRuns } from '../../runs/team-runs.js'
import type { Member, ServerEnv } from '../access.js'
import { needed, readForm, fieldValue } from './account-pages.js'
import { jobItem } from './job-item.js'
import {
  count,
  duration,
  field,
  hiddenFields,
  type Html,
  moment,
  money,
  postButton,
  postForm,
  type ScreenParts,
} from './layout.js'
import type { Actor, TeamJob, StoredProject, TeamRunRow } from '../../database/tables.js'

const PATCHES_MAX = 5
const PATCH_BYTES_MAX = 50_000
const VIEWERS_MAX = 100
type Viewer = ReturnType<typeof mountViewer>

/** Jobs that can be started on the page. */
const KINDS = ['replay', 'verify', 'blame', 'fix', 'scan'] as const

/** Runs of a project: the list, the viewer, and the comments and jobs of a run. */
export function projectPages(parts: ScreenParts) {
  const { access, runs, repositories, layout, jobs, url } = parts
  /**
   * Mounted viewers by member and project, least recently used first. Mounting a viewer takes longer
   * than most of its responses.
   */
  const viewers = new Map<string, Viewer>()
  const pathOf = ({ slug }: Organization, project: StoredProject): string =>
    layout.at(slug, project.slug)
  const runPath = (organization: Organization, project: StoredProject, run: string): string =>
    `${pathOf(organization, project)}/runs/${encodeURIComponent(run)}`
  const frame = (organization: Organization, project: StoredProject, here: string) => ({
    tabs: [
      { title: 'Runs', href: pathOf(organization, project) },
      { title: 'Project settings', href: `${pathOf(organization, project)}/settings` },
    ],
    here,
  })
  const crumbs = (organization: Organization) => [
    { title: organization.name, href: layout.at(organization.slug) },
  ]
  return new Hono<ServerEnv>()
    .get('/:org/:project/', (c) =>
      c.redirect(layout.at(c.req.param('org'), c.req.param('project')), 301),
    )
    .get('/:org/:project', async (c) => {
      const { actor, organization, project } = await access.project(c, 'read')
      const here = pathOf(organization, project)
      const { q = '', before } = c.req.query()
      const found = await listOrProblem(runs, actor, project, q, before)
      const filters = await runs.savedFilters(actor, project)
      const mayWrite = actor.role !== 'viewer'
      const isFirst = q === '' && before === undefined
      const live = isFirst ? await runs.liveRuns(actor, project) : []
      const isEmpty = found.runs.length === 0 && live.length === 0
      return layout.page(c, {
        title: project.name,
        crumbs: crumbs(organization),
        ...frame(organization, project, here),
        body: html`<h1 class="skip">Runs of ${project.name}</h1>
          <form class="search" method="get" action="${here}" role="search">
            <input
              name="q"
              value="${q}"
              aria-label="Search runs"
              placeholder="status:failed tool:refund wrong price"
              maxlength="500"
              spellcheck="false"
            />
            <button class="primary">Search</button>
            ${q !== '' && html`<a class="button" href="${here}">Clear</a>`}
          </form>
          <p class="row small">
            ${filters.map(
              ({ name, query }) =>
                html`<a
                  class="badge${query === q ? ' accent' : ''}"
                  href="${here}?q=${encodeURIComponent(query)}"
                  >${name}</a
                >`,
            )}
          </p>
          ${searchHelp(here, q, mayWrite, filters.find(({ query }) => query === q)?.name)}
          ${found.problem !== undefined && html`<p class="note bad" role="alert">${found.problem}</p>`}
          ${
            isEmpty && isFirst
              ? html`<div class="empty">
                  <h2>No runs yet</h2>
                  ${pushHelp(url, organization, project)}
                </div>`
              : isEmpty
                ? html`<p class="empty">No runs match.</p>`
                : html`<ul class="runs">
                    ${live.map((run) => liveItem(run, runPath(organization, project, run.id)))}
                    ${found.runs.map((run) => runItem(run, runPath(organization, project, run.id), here))}
                  </ul>`
          }
          ${found.next !== undefined && html`<p class="after"><a class="button" href="${here}?${new URLSearchParams({ ...(q !== '' && { q }), before: found.next }).toString()}">Older runs</a></p>`}`,
      })
    })
    .post('/:org/:project/filters', async (c) => {
      const { actor, organization, project } = await access.project(c, 'push')
      const form = await readForm(c)
      const query = fieldValue(form, 'q')
      const name = fieldValue(form, 'name')
      if (fieldValue(form, 'remove') === '') await runs.saveFilter(actor, project, { name, query })
      else await runs.removeFilter(actor, project, name)
      return c.redirect(`${pathOf(organization, project)}?q=${encodeURIComponent(query)}`, 303)
    })
    .get('/:org/:project/settings', async (c) => {
      const { actor, organization, project } = await access.project(c, 'read')
      const here = `${pathOf(organization, project)}/settings`
      const badge = `${url}/badges/${organization.id}.${project.badgeToken}.svg`
      const isAdmin = hasRole(actor, 'admin')
      return layout.page(c, {
        title: 'Project settings',
        crumbs: [
          ...crumbs(organization),
          { title: project.name, href: pathOf(organization, project) },
        ],
        ...frame(organization, project, here),
        body: html`<div class="head"><h1>Project settings</h1></div>
          <section>
            <h2>Retention</h2>
            <p>
              ${project.retentionDays === null ? 'Runs are never removed.' : `Runs are removed after ${plural(project.retentionDays, 'day')}.`}
              Runs tagged <code>pin</code> or <code>hold</code> are kept.
            </p>
            ${
              isAdmin &&
              postForm(
                `${pathOf(organization, project)}/settings`,
                html`${field('Days', 'days', { type: 'number', min: '1', max: '36500', value: project.retentionDays === null ? '' : String(project.retentionDays), hint: 'Leave empty to keep runs forever' })}<button>
                    Save
                  </button>`,
                'line',
              )
            }
          </section>
          <section>
            <h2>Badge</h2>
            <p>Anyone who knows this URL can see the badge, but nothing else.</p>
            <p>
              <img
                src="${layout.base}/badges/${organization.id}.${project.badgeToken}.svg"
                alt="Share of successful runs in the last 7 days"
              />
            </p>
            <pre>[![runs](${badge})](${url}/${organization.slug}/${project.slug})</pre>
          </section>
          <section>
            <h2>Push runs</h2>
            ${pushHelp(url, organization, project)}
          </section>`,
      })
    })
    .post('/:org/:project/settings', async (c) => {
      const { actor, organization, project } = await access.project(c, 'push', 'admin')
      const days = fieldValue(await readForm(c), 'days')
      if (days !== '' && !/^[1-9]\d{0,4}$/.test(days))
        throw serverErrors.REQUEST_INVALID('The number of days', 'It must be a whole number.')
      await runs.setRetention(actor, project, days === '' ? null : Number(days))
      return c.redirect(`${pathOf(organization, project)}/settings?done=saved`, 303)
    })
    .get('/:org/:project/runs/:run/team', async (c) => {
      const member = await access.project(c, 'read')
      const row = await runs.run(member.actor, member.project, c.req.param('run'))
      return teamPage(c, member, row)
    })
    .post('/:org/:project/runs/:run/team', async (c) => {
      const { actor, organization, project } = await access.project(c, 'push')
      const { run } = c.req.param()
      const here = `${runPath(organization, project, run)}/team`
      const form = await readForm(c)
      switch (fieldValue(form, 'action')) {
        case 'comment': {
          const step = fieldValue(form, 'step')
          await runs.addComment(actor, project, run, {
            step: step === '' ? null : step,
            text: fieldValue(form, 'text'),
          })
          return c.redirect(`${here}?done=commented`, 303)
        }
        case 'tags': {
          const tags = fieldValue(form, 'tags')
            .split(/[\s,]+/)
            .filter((each) => each !== '')
          const note = fieldValue(form, 'note')
          await runs.setTags(actor, project, run, { tags, note: note === '' ? null : note })
          return c.redirect(`${here}?done=saved`, 303)
        }
        case 'job': {
          const kind = needed(form, 'kind', 'The job')
          const expect = kind === 'blame' || kind === 'fix' ? fieldValue(form, 'expect') : ''
          await jobs.start(actor, project, { run, kind, options: expect === '' ? {} : { expect } })
          return c.redirect(`${here}?done=started`, 303)
        }
        case 'stop': {
          await jobs.cancel(actor, project, fieldValue(form, 'job'))
          return c.redirect(here, 303)
        }
        case 'remove': {
          await runs.remove(actor, project, run)
          return c.redirect(`${pathOf(organization, project)}?done=removed`, 303)
        }
        default:
          throw serverErrors.REQUEST_INVALID('The form', 'It has no such action.')
      }
    })
    .all('/:org/:project/:part{runs|compare|api}/*', async (c) => {
      const member = await access.project(c, 'read')
      const { organization, project, actor } = member
      const path = pathOf(organization, project)
      const target = new URL(c.req.url)
      target.pathname = target.pathname.slice(path.length)
      const run = /^\/runs\/([^/]+)/.exec(target.pathname)?.[1]
      // An unknown run leads to an error page instead of an empty viewer.
      const id = run && decodeURIComponent(run)
      if (id !== undefined && !runs.cache.isLive(actor.org, project.id, id))
        await runs.run(actor, project, id)
      return viewerOf(member).fetch(new Request(target, c.req.raw), c.env)
    })

  function viewerOf({
    actor,
    organization,
    project,
  }: Member & { readonly project: StoredProject }): Viewer {
    const key = JSON.stringify([actor, organization, project])
    const path = pathOf(organization, project)
    const viewer =
      viewers.get(key) ??
      mountViewer(
        {
          ...repositories.for(actor, project),
          parent: {
            title: `${organization.slug}/${project.slug}`,
            href: path,
            run: { title: 'Comments and jobs', href: `${path}/runs/{run}/team` },
          },
        },
        { base: path, assets: `${layout.base}/assets` },
      )
    viewers.delete(key)
    viewers.set(key, viewer)
    const [oldest] = viewers.keys()
    if (viewers.size > VIEWERS_MAX) viewers.delete(oldest ?? '')
    return viewer
  }

  async function patchesOf(
    actor: Actor,
    project: StoredProject,
    ownJobs: readonly TeamJob[],
  ): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>()
    for (const { id, result } of ownJobs.slice(0, PATCHES_MAX)) {
      const file = result?.files?.find(
        ({ name, bytes }) => name.endsWith('.patch') && bytes <= PATCH_BYTES_MAX,
      )
      if (file === undefined) continue
      const { content } = await jobs.readFile(actor, project, id, file.name)
      found.set(id, await text(content))
    }
    return found
  }

  async function teamPage(
    c: Context<ServerEnv>,
    { actor, organization, project }: Member & { readonly project: StoredProject },
    row: TeamRunRow,
  ): Promise<Response> {
    const run = runPath(organization, project, row.id)
    const here = `${run}/team`
    const step = c.req.query('step') ?? ''
    const comments = await runs.comments(actor, project, row.id)
    const ownJobs = await jobs.list(actor, project, { run: row.id })
    const patches = await patchesOf(actor, project, ownJobs)
    const files = layout.at('api', 'v1', organization.slug, 'projects', project.slug, 'jobs')
    const mayWrite = actor.role !== 'viewer'
    const details: readonly (readonly [title: string, value: Html | string])[] = [
      ['Run', html`<span class="mono">${row.id}</span>`],
      ['Started', moment(row.startedAt)],
      ['Pushed', html`${moment(row.pushedAt)} by ${row.pushedBy}`],
      ['Steps', `${count(row.steps)} in ${duration(row.durationMs)}`],
      ...(row.costUsd === null ? [] : [['Cost', money(row.costUsd)] as const]),
      ...(row.models.length === 0 ? [] : [['Models', row.models.join(', ')] as const]),
      ...(row.tools.length === 0 ? [] : [['Tools', row.tools.join(', ')] as const]),
      ...(row.parent === null
        ? []
        : [
            [
              'Continues',
              html`<a href="${runPath(organization, project, row.parent)}/team">${row.parent}</a>`,
            ] as const,
          ]),
    ]
    return layout.page(c, {
      title: row.name,
      crumbs: [
        ...crumbs(organization),
        { title: project.name, href: pathOf(organization, project) },
      ],
      body: html`<div class="head">
          <h1>${row.name} ${statusBadge(row.status)}</h1>
          <a class="button primary" href="${run}">Open in viewer</a>
        </div>
        ${row.failure !== null && html`<pre class="danger">${row.failure}</pre>`}
        <div class="two">
          <section>
            <h2>Comments</h2>
            ${comments.length === 0 && html`<p class="muted">No comments yet.</p>`}
            ${comments.map(
              (each) =>
                html`<article class="comment" id="${each.id}">
                  <header>
                    <b>${each.author}</b> ${moment(each.at)}
                    ${each.step !== null && html`<a href="${run}?step=${encodeURIComponent(each.step)}">step ${each.step}</a>`}
                  </header>
                  <p>${each.text}</p>
                </article>`,
            )}
            ${
              mayWrite &&
              postForm(
                here,
                html`${hiddenFields({ action: 'comment' })}
                  <label>Comment<textarea name="text" required maxlength="10000"></textarea></label>
                  ${field('Step', 'step', { value: step, hint: 'Step number from the viewer. Leave empty to comment on the whole run.', maxlength: '100', autocomplete: 'off' })}
                  <button class="primary">Add comment</button>`,
              )
            }
          </section>
          <div>
            <section>
              <h2>Details</h2>
              <dl>
                ${details.map(
                  ([title, value]) =>
                    html`<dt>${title}</dt>
                      <dd>${value}</dd>`,
                )}
              </dl>
            </section>
            <section>
              <h2>Tags and note</h2>
              ${
                mayWrite
                  ? postForm(
                      here,
                      html`${hiddenFields({ action: 'tags' })}
                        ${field('Tags', 'tags', { value: row.tags.join(' '), hint: 'Separate tags with spaces. Retention does not remove runs tagged pin or hold.' })}
                        <label
                          >Note<textarea name="note" maxlength="10000">
${row.note ?? ''}</textarea></label
                        ><button>Save</button>`,
                    )
                  : html`<p>${row.tags.map((tag) => html`<span class="badge">${tag}</span> `)}</p>
                      <p>${row.note ?? ''}</p>`
              }
            </section>
            <section>
              <h2>Jobs</h2>
              ${ownJobs.length === 0 && html`<p class="muted">No jobs yet.</p>`}
              ${ownJobs.map((job) => jobItem(job, { here, viewer: run, files, mayWrite, patch: patches.get(job.id) }))}
              ${
                mayWrite &&
                postForm(
                  here,
                  html`${hiddenFields({ action: 'job' })}
                    ${field('Expected output', 'expect', { hint: 'Text that a correct run prints. Needed for blame and fix unless the run itself failed.', maxlength: '1000' })}
                    <div class="row">
                      ${KINDS.map((kind) => html`<button name="kind" value="${kind}">${kind.charAt(0).toUpperCase() + kind.slice(1)}</button>`)}
                    </div>`,
                )
              }
            </section>
            ${
              mayWrite &&
              html`<section>
                <h2>Remove</h2>
                <details>
                  <summary>Remove this run from the server</summary>
                  <p>You cannot undo this here. Copies on other machines are not removed.</p>
                  ${postButton(here, 'Remove run', { look: 'remove', fields: { action: 'remove' } })}
                </details>
              </section>`
            }
          </div>
        </div>`,
    })
  }
}

export const statusBadge = (status: string): Html => {
  const words = Object.hasOwn(RUN_STATUS_WORDS, status)
    ? RUN_STATUS_WORDS[status as keyof typeof RUN_STATUS_WORDS]
    : undefined
  return html`<span class="badge ${words?.tone ?? ''}" title="${words?.title ?? ''}"
    >${status}</span
  >`
}

async function listOrProblem(
  runs: TeamRuns,
  actor: Actor,
  project: StoredProject,
  query: string,
  before: string | undefined,
): Promise<{ readonly runs: TeamRunRow[]; readonly next?: string; readonly problem?: string }> {
  try {
    return await runs.list(actor, project, { query, ...(before !== undefined && { before }) })
  } catch (error) {
    const { code, why } = error as { code?: string; why?: string }
    if (code !== 'REQUEST_INVALID') throw error
    return { runs: [], problem: why ?? '' }
  }
}

const liveItem = ({ name, steps, startedAt }: LiveRun, path: string): Html =>
  html`<li>
    <div><a class="name" href="${path}">${name}</a> ${statusBadge('recording')}</div>
    <div class="facts">${moment(startedAt)} · ${plural(steps, 'step')}</div>
  </li>`

const runItem = (run: TeamRunRow, path: string, list: string): Html => {
  const said = run.failure ?? run.lastLine ?? run.input
  return html`<li>
    <div>
      <a class="name" href="${path}">${run.name}</a> ${statusBadge(run.status)}
      ${run.parent !== null && html`<span class="badge">${run.branchKind ?? 'branch'}</span>`}
      ${run.tags.map((tag) => html` <a class="badge accent" href="${list}?q=${encodeURIComponent(`tag:${tag}`)}">${tag}</a>`)}
      ${said !== null && html`<span class="clip small ${run.failure === null ? 'muted' : 'danger'}" title="${said.slice(0, 1000)}">${said.slice(0, 300)}</span>`}
    </div>
    <div class="facts">
      ${moment(run.startedAt)} · ${plural(run.steps, 'step')} ·
      ${duration(run.durationMs)}${run.costUsd === null ? '' : ` · ${money(run.costUsd)}`}<br />
      <span class="clip">${run.models.slice(0, 2).join(', ')}</span
      ><a href="${path}/team" aria-label="Comments and jobs of ${run.name}">Comments and jobs</a>
    </div>
  </li>`
}

const searchHelp = (here: string, q: string, mayWrite: boolean, saved: string | undefined): Html =>
  html`<details class="small">
      <summary>How to search${q !== '' && mayWrite ? ', and save this search' : ''}</summary>
      <dl>
        <dt><code>refund wrong</code></dt>
        <dd>
          runs that contain words beginning with these, in prompts, answers, arguments, output,
          errors, names or notes
        </dd>
        <dt><code>status:failed</code></dt>
        <dd><code>done</code>, <code>failed</code> or <code>killed</code></dd>
        <dt><code>model:</code> <code>tool:</code> <code>tag:</code></dt>
        <dd>the full name of a model, tool or tag</dd>
        <dt><code>name:</code></dt>
        <dd>part of a run's name</dd>
        <dt><code>cluster:</code> <code>parent:</code></dt>
        <dd>failures with the same cause; branches of a run</dd>
        <dt><code>since:7d</code></dt>
        <dd>
          started within this time: <code>30m</code>, <code>2h</code>, <code>7d</code>,
          <code>4w</code>
        </dd>
      </dl>
      ${
        q !== '' &&
        mayWrite &&
        html`${postForm(`${here}/filters`, html`${hiddenFields({ q })}${field('Save this search for the team as', 'name', { required: '', maxlength: '60', ...(saved !== undefined && { value: saved }) })}<button>Save</button>`, 'line')}
        ${saved !== undefined && postButton(`${here}/filters`, 'Remove saved search', { look: 'remove', fields: { name: saved, q, remove: '1' } })}`
      }
    </details>
    <p></p>`

const pushHelp = (url: string, { slug }: Organization, project: StoredProject): Html =>
  html`<p>On your machine, in the agent's folder:</p>
    <pre>
npx retake login ${url} --org ${slug}
npx retake push last --project ${slug}/${project.slug}</pre>
    <p>
      In CI, create an API key and set <code>RETAKE_SERVER</code>, <code>RETAKE_PROJECT</code> and
      <code>RETAKE_API_KEY</code>.
    </p>`
