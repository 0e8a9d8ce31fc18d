import { openTape } from '@retake/tape/node'
import {
  openRecording,
  outsideRuns,
  type RecordedRun,
  type RecordSession,
  type RunEnd,
} from '@retake/engine/hook'
import type { GuardOptions } from '../guard.js'
import { released, releaseAtExit } from './exit.js'
import { underWayOn, type CallInDoubt } from './in-doubt.js'

/**
 * The tape of a guard outside of any recording. Only `end` completes it. A process
 * that just exits leaves it as a kill would, with everything on it that happened: it
 * can be resumed.
 */
export class OwnTape {
  readonly session: RecordSession
  readonly run: RecordedRun

  /** A run that goes on from another lies beside it. */
  constructor(options: GuardOptions, dir = options.dir) {
    const { name, durability, signingKey } = options
    const { session, run } = outsideRuns(() =>
      openRecording(
        { name, ...(dir !== undefined && { dir }) },
        { inBackground: durability === 'memory', signingKey },
      ),
    )
    this.session = session
    this.run = run
    releaseAtExit(this)
  }

  end(end: RunEnd): void {
    released(this)
    outsideRuns(() => this.session.finish(end))
  }

  /** Calls that have started and had no answer when it ended. */
  underWay(): readonly CallInDoubt[] {
    return outsideRuns(() => underWayOn(openTape(this.run.path)))
  }

  abandon(): void {
    released(this)
    this.release()
  }

  release(): void {
    if (this.session.closed) return
    this.session.close()
    this.session.writer.close()
  }
}
