import { install } from '../boundaries/install.js'
import { errors } from '../errors.js'
import { openForReplay } from '../runs/open-for-replay.js'
import { movedTape } from '../player/moved-tape.js'
import type { MovedRoot } from '../process-task.js'
import { runToEnd, stoppable } from './run-to-end.js'
import { currentSession, outsideRuns } from '../scope.js'
import type { Divergence } from '../player/divergence.js'
import { Player } from '../player/player.js'

export interface ReplayFunctionOptions {
  /** `strict` (default) throws at the first difference; `observe` collects every one and continues. */
  readonly mode?: 'strict' | 'observe'
  /** `full` (default) goes as fast as the code does; `recorded` keeps the recorded gaps. */
  readonly pace?: 'full' | 'recorded'
  /**
   * `compare` (default), or `ignore` what is written to stdout and stderr: test runners
   * sometimes pass it on and sometimes capture it.
   */
  readonly output?: 'compare' | 'ignore'
  /**
   * `everything` (default), or only `requests`: what is sent to models, tools, servers and files,
   * and the end of the run. Output, clock reads and random values may then change.
   */
  readonly compares?: 'everything' | 'requests'
  /** Where the project's folder is now, for a tape that was recorded with a `root`. */
  readonly root?: string
  /** Called for each divergence as it is found, also if `agent` then throws. */
  readonly onDivergence?: (divergence: Divergence) => void
}

/**
 * Runs `agent` again, served from the tape: no socket opens, no file is written,
 * no tool runs. Returns what it returned when recorded, throws what it threw, or
 * throws `ReplayDiverged` at the first point where it does something else. `digest`
 * names the recorded run, as `retake show` and `retake verify` print it.
 */
export async function replay<T>(
  tape: string,
  agent: () => T | Promise<T>,
  options: ReplayFunctionOptions = {},
): Promise<{
  output: T
  divergences: readonly Divergence[]
  digest: string
  /** Variables and files for which the agent got a placeholder: the recorded secret is missing. */
  placeholders: readonly string[]
}> {
  install()
  if (currentSession() !== undefined) throw errors.RUN_INSIDE_RUN()
  const recorded = outsideRuns(() => openForReplay(tape))
  const root = movedRoot(recorded.details.root, options.root)
  const { stopped, stop } = stoppable()
  const session = new Player(root ? movedTape(recorded, root) : recorded, {
    ...options,
    keepAlive: true,
    onDivergence: (divergence) => outsideRuns(() => options.onDivergence?.(divergence)),
    onStopped: stop,
  })
  if (root) session.secrets.nameAsRecorded(root)
  try {
    const output = await Promise.race([stopped, runToEnd(session, agent)])
    const { divergences, placeholders } = session
    return { output, divergences, digest: recorded.digest, placeholders }
  } finally {
    session.close()
  }
}

function movedRoot(
  recorded: string | undefined,
  current: string | undefined,
): MovedRoot | undefined {
  const isMoved = recorded !== undefined && current !== undefined && recorded !== current
  return isMoved ? { recorded, current } : undefined
}
