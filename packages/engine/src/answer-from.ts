import { AskedAnswers } from './answers/asked-answers.js'
import { install } from './boundaries/install.js'
import { errors } from './errors.js'
import { openForReplay } from './open-for-replay.js'
import { openRecording } from './record.js'
import type { RecordedRun, RecordOptions } from './record.js'
import { runToEnd } from './run-to-end.js'
import { currentSession, outsideRuns } from './scope.js'
import type { RecordSession } from './sessions/record-session.js'
import type { Session } from './sessions/session.js'
import { stoppable } from './stoppable.js'

export interface AnswerFromOptions extends Partial<RecordOptions> {
  /**
   * What becomes of a request, tool call or process that the tape does not hold:
   * `fail` (default) stops with an error that names it, `live` really asks.
   */
  readonly otherwise?: 'fail' | 'live'
}

export interface AnsweredResult<T> {
  readonly output: T
  /** The tape of what happened now; it replays like any other. */
  readonly run: RecordedRun
  /** Requests, tool calls and processes that the tape answered. */
  readonly served: number
  /** Those that were really asked; always 0 unless `otherwise` is `live`. */
  readonly live: number
}

const answering = new WeakMap<Session, AskedAnswers>()

/**
 * Runs `body` with a recorded run in place of the outside: each request, tool call,
 * process and thread is answered as an equal one was, in recorded order and from the
 * start again when it is asked more often. `body` need not be the recorded
 * program, nor act in its order. Texts in a request that come from a clock or from
 * chance may differ. Files, time and chance themselves are real.
 */
export async function answerFrom<T>(
  tape: string,
  body: () => T | Promise<T>,
  options: AnswerFromOptions = {},
): Promise<AnsweredResult<T>> {
  install()
  if (currentSession() !== undefined) throw errors.nestedRun()
  const { stopped, stop } = stoppable()
  const { session, run, answers } = outsideRuns(() => open(tape, options, stop))
  answering.set(session, answers)
  try {
    const output = await Promise.race([stopped, runToEnd(session, body)])
    return { output, run, ...answers.counts }
  } finally {
    outsideRuns(() => abandon(session))
  }
}

/** The tape that answers in place of the outside, inside `answerFrom`. */
export const answeringTape = (): AskedAnswers | undefined => {
  const session = currentSession()
  return session && answering.get(session)
}

function open(path: string, options: AnswerFromOptions, onStopped: (error: Error) => void) {
  const tape = openForReplay(path)
  const { otherwise = 'fail', name = tape.run.name, ...rest } = options
  const answers: AskedAnswers = new AskedAnswers(tape, {
    otherwise,
    session: () => recording.session,
    onStopped,
  })
  const recording = openRecording({ ...rest, name }, { answers })
  return { ...recording, answers }
}

/** After an error that stopped it, what was recorded stays as that of a killed run. */
function abandon(session: RecordSession): void {
  if (session.closed) return
  session.close()
  session.writer.close()
}
