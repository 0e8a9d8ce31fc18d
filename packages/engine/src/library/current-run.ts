import { answeringTape } from './answer-from.js'
import { currentSession } from '../scope.js'
import type { Recording } from '../sessions/recording.js'

/** A run as seen by an adapter that stores state between calls. */
export interface CurrentRun {
  /** The same object as long as the run lasts. */
  readonly key: object
  /** True while answers come from its own tape: everything has happened before. */
  readonly isReplay: boolean
  /** Draws a value from outside the run; it must survive JSON. On replay, the recorded value is returned. */
  draw<T>(kind: string, take: () => T): T
  /** Stores data on the tape for later use. It is not compared on replay. */
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
      session.note({ kind: 'kept', name }, Buffer.from(JSON.stringify(value), 'utf8')),
    answers: answeringTape(),
  }
}

/**
 * The run that is being recorded where this is called. Undefined outside of runs
 * and in replays: what an adapter does with it must not change what the program
 * itself sees.
 */
export const currentRecording = (): Recording | undefined => currentSession()?.recording
