import { html, raw } from 'hono/html'
import { plural } from '@retake/tape/present'
import type { TeamJobs } from '../../jobs/jobs.js'
import type { Organization } from '../../people/accounts.js'
import type { DayActivity } from '../../runs/team-runs.js'
import { count, duration, type Html, moment, money, htmlTable, type ScreenParts } from './layout.js'
import { jobBadge } from './job-item.js'
import type { Actor, StoredProject } from '../../database/tables.js'

const DAYS = 14
const DAY_MS = 86_400_000

/** Overview of an organization: two weeks of figures, failures by cause, jobs and workers. */
export async function dashboard(
  { runs, approvals, jobs, layout }: ScreenParts,
  actor: Actor,
  organization: Organization,
  projects: readonly StoredProject[],
): Promise<Html> {
  const since = new Date(Math.floor(Date.now() / DAY_MS - DAYS + 1) * DAY_MS)
  const [activity, clusters, requests, recent] = await Promise.all([
    runs.activity(actor, undefined, since),
    runs.clusters(actor, undefined, since),
    approvals.list(actor),
    jobs.list(actor),
  ])
  // Days without runs are not in the database.
  const days = Array.from({ length: DAYS }, (_, index): DayActivity => {
    const day = new Date(since.getTime() + index * DAY_MS).toISOString().slice(0, 10)
    const none = { day, runs: 0, failed: 0, costUsd: 0, p50Ms: 0, p95Ms: 0 }
    return activity.find((each) => each.day === day) ?? none
  })
  const waiting = requests.filter(({ state }) => state === 'waiting')
  const slugOf = (id: string): string => projects.find((each) => each.id === id)?.slug ?? ''
  const total = (of: (day: DayActivity) => number): number =>
    days.reduce((sum, day) => sum + of(day), 0)
  const all = total(({ runs: each }) => each)
  const failed = total((day) => day.failed)
  const latest = days.findLast((day) => day.runs > 0)
  const figure = (title: string, value: string, chart: Html, note = ''): Html =>
    html`<div class="card">
      <h2>${title}</h2>
      <div class="value">${value}</div>
      <div class="muted small">${note}</div>
      ${chart}
    </div>`
  return html`${
      waiting.length > 0 &&
      html`<p class="note warn">
        <a href="${layout.at(organization.slug, 'approvals')}"
          >${plural(waiting.length, 'call')} waiting for approval</a
        >
      </p>`
    }
    <section>
      <div class="head"><h2>Last ${DAYS} days</h2></div>
      <div class="figures">
        ${figure(
          'Runs',
          count(all),
          bars(days, ({ runs: each }) => each, 'Runs per day', count),
          '',
        )}
        ${figure(
          'Failed',
          count(failed),
          bars(days, (day) => day.failed, 'Failed runs per day', count, 'var(--danger)'),
          all === 0 ? '' : `${Math.round((failed / all) * 100)} % of all runs`,
        )}
        ${figure(
          'Cost',
          money(total((day) => day.costUsd)),
          bars(days, (day) => day.costUsd, 'Cost per day', money),
        )}
        ${figure('Time per run', latest === undefined ? '–' : duration(latest.p50Ms), lines(days), latest === undefined ? '' : `median on ${latest.day}; 95 % within ${duration(latest.p95Ms)}`)}
      </div>
    </section>
    <div class="two">
      <section>
        <h2>Failures by cause</h2>
        ${
          clusters.length === 0
            ? html`<p class="muted">No failures in this period.</p>`
            : htmlTable('Failures by cause', clusters.slice(0, 10), [
                [
                  'Runs',
                  (each) =>
                    html`<a
                      href="${layout.at(organization.slug, slugOf(each.project))}?q=${encodeURIComponent(`cluster:${each.cluster}`)}"
                      aria-label="${plural(each.count, 'run')} with this cause"
                      >${count(each.count)}</a
                    >`,
                  'number',
                ],
                [
                  'Latest failure',
                  (each) =>
                    html`<a
                        href="${layout.at(organization.slug, slugOf(each.project), 'runs', each.run)}"
                        >${(each.failure ?? each.cluster).slice(0, 160)}</a
                      ><span class="clip muted small">${slugOf(each.project)}</span>`,
                ],
                ['Last seen', (each) => moment(each.last)],
              ])
        }
      </section>
      <section>
        <h2>Jobs</h2>
        ${
          recent.length === 0
            ? html`<p class="muted">No jobs yet. Start one from a run's page.</p>`
            : htmlTable('Jobs', recent.slice(0, 8), [
                ['Job', (job) => job.kind],
                [
                  'Run',
                  (job) =>
                    html`<a
                      class="mono"
                      href="${layout.at(organization.slug, slugOf(job.project), 'runs', job.run, 'team')}"
                      >${job.run}</a
                    >`,
                ],
                ['State', (job) => jobBadge(job.state)],
                ['Started', (job) => moment(job.createdAt)],
              ])
        }
        <p></p>
        ${workers(jobs)}
      </section>
    </div>`
}

function workers(jobs: TeamJobs): Html {
  const known = jobs.workers()
  if (known.length === 0) return html`<p class="muted">No workers connected.</p>`
  return html`<h2>Workers</h2>
    ${htmlTable('Workers', known, [
      ['Name', (each) => each.name],
      ['Busy', (each) => `${each.running} of ${each.slots}`, 'number'],
      ['Sandbox', (each) => (each.hasSandbox ? 'yes' : html`<span class="warning">no</span>`)],
      ['Last seen', (each) => moment(new Date(each.seenAt))],
    ])}`
}

const [WIDTH, HEIGHT] = [DAYS * 10, 36]

function bars(
  days: readonly DayActivity[],
  of: (day: DayActivity) => number,
  title: string,
  text: (value: number) => string,
  colour = 'var(--accent)',
): Html {
  const most = Math.max(...days.map(of), Number.MIN_VALUE)
  const bar = (day: DayActivity, index: number): Html => {
    const height = (of(day) / most) * (HEIGHT - 2)
    return html`<rect
      x="${index * 10 + 1}"
      y="${(HEIGHT - height).toFixed(1)}"
      width="8"
      height="${height.toFixed(1)}"
      fill="${raw(colour)}"
      ><title>${day.day}: ${text(of(day))}</title></rect
    >`
  }
  return chart(`${title}: ${days.map((day) => text(of(day))).join(', ')}`, days.map(bar))
}

/** The median and the 95th percentile of each day. */
function lines(days: readonly DayActivity[]): Html {
  const used = days.map((day, index) => ({ ...day, index })).filter((day) => day.runs > 0)
  const most = Math.max(...used.map((day) => day.p95Ms), 1)
  const y = (ms: number): string => (HEIGHT - 1 - (ms / most) * (HEIGHT - 3)).toFixed(1)
  // A single day becomes a short line.
  const path = (of: (day: DayActivity) => number): string =>
    used
      .map(
        (day, at) =>
          `${at === 0 ? `M${day.index * 10 + 2}` : 'L'}${at === 0 ? ` ${y(of(day))}L` : ''}${day.index * 10 + 8} ${y(of(day))}`,
      )
      .join('')
  const times = used.map((day) => `${day.day} ${duration(day.p50Ms)}, ${duration(day.p95Ms)}`)
  return chart(`Median and 95th percentile of the time per run: ${times.join('; ')}`, [
    line(
      path((day) => day.p95Ms),
      'var(--line-field)',
      1.5,
    ),
    line(
      path((day) => day.p50Ms),
      'var(--accent)',
      1.5,
    ),
  ])
}

const chart = (label: string, content: readonly Html[]): Html =>
  html`<svg
    viewBox="0 0 ${WIDTH} ${HEIGHT}"
    preserveAspectRatio="none"
    role="img"
    aria-label="${label}"
  >
    ${line(`M0 ${HEIGHT}H${WIDTH}`, 'var(--line-strong)', 1)} ${content}
  </svg>`

const line = (path: string, colour: string, width: number): Html =>
  html`<path
    d="${path}"
    fill="none"
    stroke="${raw(colour)}"
    stroke-width="${width}"
    vector-effect="non-scaling-stroke"
  />`
