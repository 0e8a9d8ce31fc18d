import { answeringTape } from './answer-from.js'
import { currentSession } from '../kernel/scope.js'
import type { Recording } from '../kernel/session.js'

/** A run as seen by an adapter that stores state between calls. */
export interface CurrentRun {
  /** The same object as long as the run lasts. */
  readonly key: object
  /** True while answers come from the run's own tape: everything has happened before. */
  readonly isReplay: boolean
  /** Draws a value from outside the run, which must survive JSON. On replay, returns the recorded value. */
  draw<T>(kind: string, take: () => T): T
  /** Stores data on the tape for later use. Not compared on replay. */
  attach(name: string, value: unknown): void
  /** Inside `answerFrom`: the tape that answers, and how to rewind it. */
  readonly answers: ReturnType<typeof answeringTape>
}

/** The run that the caller belongs to, if there is one. */
export function currentRun(): CurrentRun | undefined {
  const session = currentSession()
  if (session === undefined) return undefined
  return {
    key: session,
    isReplay: session.local === 'tape',
    draw: (kind, take) => session.draw(kind, take),
    attach: (name, value) =>
      session.note({ kind: 'attachment', name }, Buffer.from(JSON.stringify(value), 'utf8')),
    answers: answeringTape(),
  }
}

/**
 * The run being recorded at this point. Undefined outside runs and in replays: an adapter must not
 * use it to change what the program sees.
 */
export const currentRecording = (): Recording | undefined => currentSession()?.recording
