import { install } from '../boundaries/install.js'
import type { SettledDoubt } from '../kernel/settle-doubts.js'
import type { ContinuePlan, PinnedReport, Simulator } from '../player/plan.js'
import { continueRun } from '../player/play.js'
import { errors } from '../errors.js'
import type { RecordedRun } from './record.js'
import { runToEnd, stoppable } from './run-to-end.js'
import { currentSession, outsideRuns } from '../kernel/scope.js'
import { type Divergence, withText } from '../texts/divergence-text.js'
import {
  type ForkPlanOptions,
  type PinnedForkOptions,
  planFork,
  planPinned,
  planRerun,
  planResume,
  type ResumePlanOptions,
} from '../player/make-plan.js'
import { openForReplay } from '../runs/open-for-replay.js'
import { loadSimulator } from '../player/free-answers.js'

/** The result of a run that was first served from a tape and then live. */
export interface ContinuedResult<T> {
  readonly output: T
  /** The tape of this run, or the served tape if nothing had to be recorded. */
  readonly run: RecordedRun
  readonly servedEvents: number
  /** The difference that made it go live, if any. */
  readonly divergence: Divergence | undefined
  readonly settled: readonly SettledDoubt[]
  readonly pinned?: PinnedReport
}

/**
 * Calls `agent` as the run of the plan. Throws the agent's error, or the reason why the tape does
 * not match.
 */
export async function runContinued<T>(
  plan: ContinuePlan,
  agent: () => T | Promise<T>,
  { simulator }: { readonly simulator?: Simulator | undefined } = {},
): Promise<ContinuedResult<T>> {
  install()
  if (currentSession() !== undefined) throw errors.RUN_INSIDE_RUN()
  const { stopped, stop } = stoppable()
  const continued = outsideRuns(() =>
    continueRun(plan, {
      keepAlive: true,
      simulator,
      onStopped: stop,
      onFailed: stop,
    }),
  )
  const { session, tape, settled } = continued
  try {
    const output = await Promise.race([stopped, runToEnd(session, agent)])
    const pinned = continued.pinned()
    const { id, name, path } =
      session.isLive && plan.branch ? plan.branch : { ...tape.run, path: tape.path }
    return {
      output,
      run: { id, name, path },
      servedEvents: session.position,
      divergence: session.left && withText(session.left),
      settled,
      ...(pinned && { pinned }),
    }
  } finally {
    continued.abandon()
  }
}

export type ForkOptions = ForkPlanOptions

/**
 * Runs `agent` again from a step of an earlier run. Everything before the step is served, the step
 * itself is changed or sent again, and everything after it is live and recorded on a new tape. The
 * parent's tape does not change.
 */
export async function fork<T>(
  tape: string,
  agent: () => T | Promise<T>,
  options: ForkOptions,
): Promise<ContinuedResult<T>> {
  const plan = outsideRuns(() => planFork(openForReplay(tape), options))
  return runContinued(plan, agent)
}

export type ResumeOptions = ResumePlanOptions

/**
 * Continues a run that was stopped: its tape is served, then `agent` is live and recorded. A killed
 * run continues on its own tape, a run that ended with an error on a branch. Steps in doubt are
 * never repeated unless `inDoubt` says so.
 */
export async function resume<T>(
  tape: string,
  agent: () => T | Promise<T>,
  options: ResumeOptions = {},
): Promise<ContinuedResult<T>> {
  const plan = outsideRuns(() => planResume(openForReplay(tape), options))
  return runContinued(plan, agent)
}

/**
 * Runs today's `agent` against a tape. Matching requests are served; from the first difference on,
 * `agent` is live and recorded as a branch.
 */
export async function rerun<T>(
  tape: string,
  agent: () => T | Promise<T>,
): Promise<ContinuedResult<T>> {
  const plan = outsideRuns(() => planRerun(openForReplay(tape)))
  return runContinued(plan, agent)
}

export interface ForkPinnedOptions extends Omit<PinnedForkOptions, 'simulator'> {
  /** The function itself, or the file of a module that exports it. */
  readonly simulator?: Simulator | string
}

/**
 * Runs `agent` again with some steps of an earlier run pinned to their answers and the others free.
 * Everything before the first free step is served, and everything after it is recorded on a new
 * tape. The earlier tape does not change.
 */
export async function forkPinned<T>(
  tape: string,
  agent: () => T | Promise<T>,
  { simulator, ...options }: ForkPinnedOptions,
): Promise<ContinuedResult<T>> {
  const file = typeof simulator === 'string' ? { simulator } : {}
  const plan = outsideRuns(() => planPinned(openForReplay(tape), { ...options, ...file }))
  const loaded = typeof simulator === 'function' ? simulator : await loadSimulator(plan)
  return runContinued(plan, agent, { simulator: loaded })
}
