import { install } from './boundaries/install.js'
import type { ContinuePlan, SettledDoubt } from './continue/continue-plan.js'
import { continueRun } from './continue/continue-run.js'
import { errors } from './errors.js'
import type { KeptReport, Simulator } from './kept/kept-plan.js'
import type { RecordedRun } from './record.js'
import { runToEnd } from './run-to-end.js'
import { currentSession, outsideRuns } from './scope.js'
import type { Divergence } from './sessions/divergence.js'
import { stoppable } from './stoppable.js'

/** What a run came to that was served from a tape first and live after. */
export interface ContinuedResult<T> {
  readonly output: T
  /** The tape that holds it; the one that was served, when nothing had to be recorded. */
  readonly run: RecordedRun
  /** Number of events that were served. */
  readonly servedEvents: number
  /** The first difference, where that is why it went live. */
  readonly divergence: Divergence | undefined
  readonly settled: readonly SettledDoubt[]
  /** What became of held steps, where some were. */
  readonly kept?: KeptReport
}

/** Calls `agent` as the run that the plan goes on with. Throws what it throws, or why the tape does not fit. */
export async function runContinued<T>(
  plan: ContinuePlan,
  agent: () => T | Promise<T>,
  { simulator }: { readonly simulator?: Simulator | undefined } = {},
): Promise<ContinuedResult<T>> {
  install()
  if (currentSession() !== undefined) throw errors.nestedRun()
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
    const { id, name, path } =
      session.isLive && plan.branch ? plan.branch : { ...tape.run, path: tape.path }
    return {
      output,
      run: { id, name, path },
      servedEvents: session.position,
      divergence: session.left,
      settled,
      ...withReport(continued.kept()),
    }
  } finally {
    continued.abandon()
  }
}

const withReport = (kept: KeptReport | undefined): { readonly kept?: KeptReport } =>
  kept === undefined ? {} : { kept }
