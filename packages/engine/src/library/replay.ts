import { servingPorts } from '../session-ports.js'
import { install } from '../boundaries/install.js'
import { errors, replayDiverged } from '../errors.js'
import { openForReplay } from '../runs/open-for-replay.js'
import { movedTape } from '../player/moved-tape.js'
import { runToEnd, stoppable } from './run-to-end.js'
import { currentSession, outsideRuns } from '../kernel/scope.js'
import { type Divergence, withText } from '../texts/divergence-text.js'
import { Player } from '../kernel/player.js'

export interface ReplayFunctionOptions {
  /** `strict` (default) throws at the first difference; `observe` collects all differences and continues. */
  readonly mode?: 'strict' | 'observe'
  /** `full` (default) runs at full speed; `recorded` reproduces the recorded pauses. */
  readonly pace?: 'full' | 'recorded'
  /**
   * `compare` (default) or `ignore` output to stdout and stderr. Use `ignore` with test runners
   * that sometimes capture output and sometimes pass it through.
   */
  readonly output?: 'compare' | 'ignore'
  /**
   * `everything` (default), or only `requests`: requests to models, tools, servers and files, and
   * the end of the run. Output, clock reads and random values may then change.
   */
  readonly compares?: 'everything' | 'requests'
  /** The current project folder, for a tape that was recorded with a `root`. */
  readonly root?: string
  /** Called for each divergence when it is found, even if `agent` then throws. */
  readonly onDivergence?: (divergence: Divergence) => void
}

/**
 * Runs `agent` again, served from the tape: no socket opens, no file is written, no tool runs.
 * Returns the recorded result, throws the recorded error, or throws `ReplayDiverged` at the first
 * point where the program behaves differently. `digest` identifies the recorded run, as printed by
 * `retake show` and `retake verify`.
 */
export async function replay<T>(
  tape: string,
  agent: () => T | Promise<T>,
  options: ReplayFunctionOptions = {},
): Promise<{
  output: T
  divergences: readonly Divergence[]
  digest: string
  /** Variables and files for which the agent got a placeholder, because the recorded secret is missing. */
  placeholders: readonly string[]
}> {
  install()
  if (currentSession() !== undefined) throw errors.RUN_INSIDE_RUN()
  const recorded = outsideRuns(() => openForReplay(tape))
  const { root: before } = recorded.details
  const isMoved = before !== undefined && options.root !== undefined && before !== options.root
  const root = isMoved ? { recorded: before, current: options.root } : undefined
  const { stopped, stop } = stoppable()
  const served = root ? movedTape(recorded, root) : recorded
  const ports = servingPorts(served)
  if (root) ports.mask.nameAsRecorded(root)
  const session = new Player(served, {
    ...options,
    ...ports,
    keepAlive: true,
    onDivergence: (divergence) => outsideRuns(() => options.onDivergence?.(withText(divergence))),
    errorFor: replayDiverged,
    onStopped: stop,
  })
  try {
    const output = await Promise.race([stopped, runToEnd(session, agent)])
    const { placeholders } = session
    const divergences = session.divergences.map(withText)
    return { output, divergences, digest: recorded.digest, placeholders }
  } finally {
    session.close()
  }
}
