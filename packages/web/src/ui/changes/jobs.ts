import { randomUUID } from 'node:crypto'
import type { ContinuePlan, Divergence } from '@retake/engine'
import { discardOverlay, isOverlay } from '@retake/engine/plans'
import { type Tape, clipText, defined, attempt } from '@retake/tape'
import type { BranchFactsView, DivergenceView, Job } from '../../api/run-repository.js'
import {
  checkContinuable,
  continueAgent,
  type Continued,
  continuedFacts,
} from '@retake/runner/agent'
import { mismatchTexts, offlineTailEnded, ReplayDiverged } from '@retake/engine/errors'
import { cliErrors } from '@retake/runner/errors'
import { explain } from '@retake/runner/command-line'
import { openOwnTape, openTape } from '@retake/tape/node'
import { cost, plural } from '@retake/tape/present'
import { fromHere } from '@retake/runner/terminal'
import { stepAt, viewRun, type BranchFacts } from '@retake/runner/runs'

/** Facts of a branch for a page. Unknown facts are missing. */
export const factsView = ({ savedUsd, paidUsd, ...facts }: BranchFacts): BranchFactsView => ({
  ...facts,
  ...defined({ savedUsd, paidUsd }),
})

/** Longer texts of a mismatch are cut: a page shows where they begin to differ. */
const TEXT_MAX = 20_000

function divergenceView(tape: Tape, divergence: Divergence): DivergenceView {
  const { seq, summary, explanation, site, mismatches } = divergence
  const step = stepAt(viewRun(tape), seq)
  return {
    seq,
    ...(step && { step: step.label }),
    summary,
    explanation,
    ...(site !== undefined && { site: fromHere(site) }),
    mismatches: mismatches.map((mismatch) => {
      const [recorded = '', current = ''] = mismatchTexts(mismatch, { indent: 2 }).map(
        (text) => text && clipText(text, TEXT_MAX),
      )
      return { field: mismatch.field, recorded, current }
    }),
  }
}

type JobOutcome = Pick<
  Job,
  'state' | 'written' | 'identical' | 'exit' | 'facts' | 'error' | 'divergence' | 'summary'
>

function jobOutcome(parent: Tape, continued: Continued): JobOutcome {
  const { divergences, isLive, left, code, signal } = continued
  const exit = { code, ...(signal && { signal }) }
  const [divergence] = divergences
  if (divergence !== undefined) {
    const view = divergenceView(parent, divergence)
    const where = view.step === undefined ? '' : `, step ${view.step}`
    return {
      state: 'failed',
      written: isLive,
      exit,
      divergence: view,
      error: explain(isLive ? offlineTailEnded(divergence) : new ReplayDiverged(divergence)),
      summary: `diverged at event ${view.seq}${where}: ${view.summary}`,
    }
  }
  if (!isLive)
    return {
      state: 'done',
      written: false,
      identical: true,
      exit,
      summary: 'identical: everything was served, nothing differs, so there is no branch',
    }
  const facts = factsView(continuedFacts(parent, continued, openTape(continued.tape)))
  const end = signal ? `killed by ${signal}` : `exit code ${code}`
  return {
    state: 'done',
    written: true,
    exit,
    facts,
    ...(left && { divergence: divergenceView(parent, left) }),
    summary: [
      end,
      `${facts.served} served, ${facts.live} live`,
      `saved ${sumOf(facts.savedRequests, facts.savedUsd)}`,
      `paid ${sumOf(facts.paidRequests, facts.paidUsd)}`,
      ...(facts.lost > 0 ? [`${plural(facts.lost, 'step')} lost`] : []),
    ].join(' · '),
  }
}

const sumOf = (requests: number, usd: number | undefined): string =>
  `${plural(requests, 'request')}${usd === undefined ? '' : ` (${cost(usd)})`}`

const RUNNING_MAX = 4
const WAITING_MAX = 32
const ENDED_MAX = 100
/** Interval of checks for the branch on disk. */
const LOOK_MS = 100

interface Entry {
  job: Job
  readonly tape: Tape
  readonly plan: ContinuePlan
  readonly stopping: AbortController
  /** Resolves when its process is gone. Set once it has started. */
  ended?: Promise<void>
}

/**
 * Forks and reruns started from a page, each in its own process. A few run concurrently, the others
 * wait. The agent's output is only on its tape.
 */
export class LocalJobs {
  readonly #entries = new Map<string, Entry>()
  #isClosed = false

  constructor(private readonly notify: (job: Job) => void) {}

  /** Newest first. */
  list(): readonly Job[] {
    return [...this.#entries.values()].map(({ job }) => job).toReversed()
  }

  /** Throws errors that are known before anything runs; the job reports the rest. */
  start(tape: Tape, plan: ContinuePlan, planned: Pick<Job, 'kind' | 'at' | 'name'>): Job {
    checkContinuable(tape, plan)
    if (this.#isClosed) throw cliErrors.SERVER_CLOSING()
    if (this.#count('waiting') >= WAITING_MAX) throw cliErrors.TOO_MANY_JOBS(WAITING_MAX)
    const job: Job = {
      id: randomUUID(),
      ...planned,
      parent: tape.run.id,
      run: plan.branch?.id ?? tape.run.id,
      state: 'waiting',
      written: false,
      startedAt: Date.now(),
    }
    this.#entries.set(job.id, { job, tape, plan, stopping: new AbortController() })
    this.#startWaiting()
    return this.#entry(job.id).job
  }

  /** Resolves when its process has ended. */
  async stop(id: string): Promise<void> {
    const entry = this.#entry(id)
    entry.stopping.abort()
    if (entry.job.state === 'waiting')
      this.#end(entry, { state: 'stopped', written: false, summary: 'stopped before it began' })
    await entry.ended
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#entries.keys()].map((id) => this.stop(id)))
  }

  #entry(id: string): Entry {
    const entry = this.#entries.get(id)
    if (entry === undefined) throw cliErrors.NO_SUCH_JOB(id)
    return entry
  }

  #count(state: Job['state']): number {
    return [...this.#entries.values()].filter(({ job }) => job.state === state).length
  }

  #startWaiting(): void {
    for (const entry of this.#entries.values()) {
      if (this.#isClosed || this.#count('running') >= RUNNING_MAX) return
      if (entry.job.state !== 'waiting') continue
      this.#update(entry, { state: 'running' })
      entry.ended = this.#run(entry)
    }
  }

  async #run(entry: Entry): Promise<void> {
    const { tape, plan, stopping } = entry
    const looking = setInterval(() => {
      if (!entry.job.written && isWritten(plan)) this.#update(entry, { written: true })
    }, LOOK_MS)
    looking.unref()
    let outcome: JobOutcome
    try {
      const continued = await continueAgent(tape, plan, {
        stdio: ['ignore', 'ignore', 'ignore'],
        stopped: stopping.signal,
      })
      outcome = jobOutcome(tape, continued)
    } catch (error) {
      outcome = {
        state: 'failed',
        written: isWritten(plan),
        error: explain(error) ?? explain(cliErrors.JOB_FAILED(error)),
      }
    } finally {
      clearInterval(looking)
    }
    this.#end(entry, stopping.signal.aborted ? stopped(plan, outcome) : outcome)
  }

  #end(entry: Entry, outcome: JobOutcome): void {
    const { overlay } = entry.plan
    // Removes the files of a branch that was not written.
    if (!outcome.written && overlay !== undefined && isOverlay(overlay)) discardOverlay(overlay)
    this.#update(entry, { ...outcome, endedAt: Date.now() })
    const ended = [...this.#entries.values()].filter(({ job }) => job.endedAt !== undefined)
    for (const { job } of ended.slice(0, Math.max(0, ended.length - ENDED_MAX)))
      this.#entries.delete(job.id)

    this.#startWaiting()
  }

  #update(entry: Entry, change: Partial<Job>): void {
    entry.job = { ...entry.job, ...change }
    this.notify(entry.job)
  }
}

/** True if its tape can be read. A new file has no complete event for a moment. */
const isWritten = ({ branch }: ContinuePlan): boolean =>
  branch !== undefined && attempt(() => openOwnTape(branch.path)) !== undefined

/** The outcome of a stopped job, whatever the process reported. */
function stopped(plan: ContinuePlan, { facts, exit }: JobOutcome): JobOutcome {
  const written = isWritten(plan)
  return {
    state: 'stopped',
    written,
    ...(facts && { facts }),
    ...(exit && { exit }),
    summary: written
      ? 'stopped; the branch contains what was recorded'
      : 'stopped before it went live',
  }
}
