import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { planKept, RetakeError } from '@retake/engine'
import type { Divergence } from '@retake/engine'
import { originOf } from '@retake/tape'
import type { Step, Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { continueAgent } from '../continue-agent.js'
import type { Continued } from '../continue-agent.js'
import { readOutcome } from '../oracle/read-outcome.js'
import type { RunOutcome } from '../oracle/oracle.js'
import { viewRun } from '../view-run.js'
import { tokensOf } from './estimate.js'
import type { ForkJob } from './fork-pool.js'
import { stepValue } from './step-value.js'
import { unanswered } from './unanswered.js'
import { wasRateLimited } from './was-rate-limited.js'

/** What one fork came to, before anybody has judged it. */
export interface ForkRun {
  readonly outcome: RunOutcome
  /** It broke in a way that no oracle need be asked about. */
  readonly broke?: string
  /** The part that must be as recorded is not: the program is another one now. */
  readonly changed?: Divergence
  /** A provider has refused a request because there were too many. */
  readonly rateLimit?: { readonly retryAfterMs?: number }
  /** By label, what each recorded step came to; those that did not happen are missing. */
  readonly values: Readonly<Record<string, string>>
  /** Steps that were run again. */
  readonly liveSteps: number
  /** Recorded answers that were given to a changed question. */
  readonly forced: number
  readonly tokens: number
  /** Missing when the cost of a live step is not known. */
  readonly costUsd?: number
  /** Its tape, until `remove`. */
  readonly tape?: string
  /** Throws away what it left behind. */
  remove(): void
}

const NOTHING = { stdout: '', ended: false }

/** Runs one fork as a process of this machine. Its tape lies in a temporary folder. */
export async function runFork(job: ForkJob, signal: AbortSignal): Promise<ForkRun> {
  const tape = openTape(job.tape)
  const folder = mkdtempSync(path.join(realpathSync(tmpdir()), 'retake-fork-'))
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  const timeout = AbortSignal.timeout(job.timeoutMs)
  try {
    const plan = planKept(tape, { ...job.plan, folder })
    const continued = await continueAgent(tape, plan, {
      stdio: 'ignore',
      env: job.env,
      stopped: AbortSignal.any([signal, timeout]),
    })
    signal.throwIfAborted()
    const late = timeout.aborted ? `it took longer than ${job.timeoutMs / 1000} s` : undefined
    return { ...readFork(tape, job, continued, late), remove }
  } catch (error) {
    remove()
    signal.throwIfAborted()
    if (!(error instanceof RetakeError) || error.code !== 'REPLAY_WITHOUT_REPORT') throw error
    const broke = timeout.aborted ? `it took longer than ${job.timeoutMs / 1000} s` : 'it crashed'
    return { outcome: NOTHING, broke, values: {}, liveSteps: 0, forced: 0, tokens: 0, remove }
  }
}

function readFork(
  parent: Tape,
  { plan }: ForkJob,
  continued: Continued,
  late: string | undefined,
): Omit<ForkRun, 'remove'> {
  const { divergences, isLive, kept } = continued
  const [divergence] = divergences
  const nothing = { outcome: NOTHING, values: {}, liveSteps: 0, forced: 0, ...NOTHING_SPENT }
  if (divergence !== undefined && !isLive) return { ...nothing, changed: divergence }
  if (!isLive) return { ...nothing, broke: late ?? 'it ended before it came to a free step' }
  const tape = openTape(continued.tape)
  const view = viewRun(tape)
  const unasked = new Set([...plan.kept, ...Object.keys(plan.answers ?? {})])
  const matched = kept?.matched ?? {}
  const values: Record<string, string> = {}
  const bySeq = new Map(view.recordedSteps.map((step) => [step.seq, step]))
  for (const { label, seq } of viewRun(parent).recordedSteps) {
    const now = bySeq.get(matched[label] ?? (seq < tape.ownFrom ? seq : -1))
    if (now !== undefined) values[label] = stepValue(now)
  }
  const answered = new Set(
    Object.entries(matched).flatMap(([label, seq]) => (unasked.has(label) ? [seq] : [])),
  )
  const live = view.recordedSteps.filter(
    (step) => originOf(tape, step) === 'live' && !answered.has(step.seq),
  )
  const rateLimit = kept?.live === 0 ? undefined : wasRateLimited(tape, parent)
  const broke =
    late ??
    kept?.broken?.what ??
    (divergence && `it diverged: ${divergence.summary}`) ??
    (kept?.live === 0 ? undefined : unanswered(tape, parent))
  return {
    outcome: readOutcome(tape),
    ...(broke !== undefined && { broke }),
    ...(rateLimit && { rateLimit }),
    values,
    forced: kept?.forced.length ?? 0,
    tape: continued.tape,
    ...(kept?.live === 0 ? NOTHING_SPENT : spent(live)),
    liveSteps: kept?.live ?? live.length,
  }
}

const NOTHING_SPENT = { tokens: 0, costUsd: 0 }

/** What the steps cost that were really asked. */
function spent(live: readonly Step[]): Pick<ForkRun, 'tokens' | 'costUsd'> {
  const models = live.filter(({ kind }) => kind === 'model')
  const costs = models.map(({ costUsd }) => costUsd)
  return {
    tokens: models.reduce((sum, step) => sum + tokensOf(step), 0),
    ...(!costs.includes(undefined) && {
      costUsd: costs.reduce<number>((sum, each) => sum + (each ?? 0), 0),
    }),
  }
}
