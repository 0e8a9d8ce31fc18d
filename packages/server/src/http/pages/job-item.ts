import { html } from 'hono/html'
import type { BlameFindings, FixClaim, FixView } from '@retake/tape'
import {
  confidenceText,
  fixWords,
  namedFindings,
  ROLE_WORDS,
  verdictSentence,
} from '@retake/tape/present'
import { type Html, moment, money, postButton } from './layout.js'
import type { TeamJob, JobResult } from '../../database/tables.js'

const JOB_TONES: Readonly<Record<string, string>> = {
  done: 'good',
  failed: 'danger',
  running: 'accent',
}
export const jobBadge = (state: string): Html =>
  html`<span class="badge ${JOB_TONES[state] ?? ''}">${state}</span>`

/** A job with its result. `patch` is the patch of its best fix. */
export const jobItem = (
  job: TeamJob,
  {
    here,
    viewer,
    files,
    mayWrite,
    patch,
  }: {
    readonly here: string
    /** Address of the run in the viewer. */
    readonly viewer: string
    /** Address of the files of jobs. */
    readonly files: string
    readonly mayWrite: boolean
    readonly patch: string | undefined
  },
): Html => {
  const { result, state, progress } = job
  const isOpen = state === 'waiting' || state === 'running'
  return html`<div class="comment">
    <p class="row small">
      ${job.kind} ${jobBadge(state)} ${moment(job.createdAt)}
      <span class="muted">${job.createdBy}</span>
    </p>
    ${progress !== null && html`<p role="status">${progress}</p>`}
    ${result?.error !== undefined && html`<p class="danger">${result.error.what} ${result.error.why} ${result.error.fix}</p>`}
    ${answer(job, viewer)} ${result?.hint !== undefined && html`<p>${result.hint}</p>`}
    ${patch !== undefined && html`<pre>${patch}</pre>`}
    ${(result?.files ?? []).map(({ name }) => html`<p><a href="${files}/${job.id}/files/${encodeURIComponent(name)}">${name}</a></p>`)}
    ${result?.costUsd !== undefined && html`<p class="muted">Model cost: ${money(result.costUsd)}</p>`}
    ${
      result?.output !== undefined &&
      result.output !== '' &&
      html`<details>
        <summary class="small">Output</summary>
        <pre>${result.output}</pre>
      </details>`
    }
    ${mayWrite && isOpen && postButton(here, 'Stop', { fields: { action: 'stop', job: job.id }, about: job.kind })}
  </div>`
}

/** The result in one sentence. Untrusted code may have written it, so it can have any shape. */
function answer({ kind, result }: TeamJob, viewer: string): Html | undefined {
  if (result?.summary === undefined || result.error !== undefined) return undefined
  try {
    if (kind === 'blame') return blamed(result, viewer)
    if (kind === 'fix') {
      const { reason, fixes } = (result.summary as FixSummary).result
      const [best] = fixes
      if (best?.verdict.claim === undefined) return html`<p>${reason}</p>`
      const { status, claim } = best.verdict
      return html`<p><b>${best.candidate.title}</b> (${fixWords({ verdict: status, claim })})</p>
        <p>${best.candidate.why}</p>
        <p>${best.verdict.reason}</p>`
    }
    return kind === 'replay' || kind === 'verify' ? replayed(result) : undefined
  } catch {
    return undefined
  }
}

interface ReplaySummary {
  /** Set for a replay. */
  readonly identical?: boolean
  readonly divergences?: readonly { readonly summary: string }[]
  /** Set for a verification. */
  readonly integrity?: string
  readonly replay?: string
}

function replayed({ summary }: JobResult): Html {
  const { identical, divergences, integrity, replay } = summary as ReplaySummary
  if (integrity !== undefined)
    return html`<p>
      The tape is ${integrity}${replay !== undefined && `; its replay: ${replay}`}.
    </p>`
  return html`<p>
    ${identical === true ? 'The replay is identical.' : `The replay is not identical. ${divergences?.[0]?.summary ?? ''}`}
  </p>`
}

interface BlameSummary {
  readonly findings?: BlameFindings
  readonly steps?: readonly {
    readonly label: string
    readonly did?: string
    readonly free?: string
  }[]
  readonly reason?: string
}

function blamed(result: JobResult, viewer: string): Html {
  const { findings, steps = [], reason } = result.summary as BlameSummary
  if (findings === undefined) return html`<p>Nothing to blame: the run passes (${reason}).</p>`
  const sentence = verdictSentence(namedFindings(findings, steps))
  return html`<p>${sentence} ${findings.why}</p>
    <p class="muted">${confidenceText(findings)}</p>
    <ul>
      ${findings.steps
        .filter(({ role }) => role !== 'clear')
        .map(
          ({ label, role, responsibility }) =>
            html`<li>
              <a href="${viewer}?step=${encodeURIComponent(label)}">step ${label}</a>
              ${ROLE_WORDS[role]} (${Math.round(100 * responsibility)} %)
            </li>`,
        )}
    </ul>`
}

interface FixSummary {
  readonly result: {
    readonly reason: string
    readonly fixes: readonly {
      readonly candidate: { readonly title: string; readonly why: string }
      readonly verdict: {
        readonly status: FixView['verdict']
        readonly claim?: FixClaim
        readonly reason: string
      }
    }[]
  }
}
