import { currentSession } from '../../kernel/scope.js'
import type { Session } from '../../kernel/session.js'

/** Runs `work` in record and replay, and delivers its outcome in its recorded turn. */
export function inTurn<T>(
  session: Session,
  name: string,
  work: (done: (outcome: T) => void) => void,
  deliver: (outcome: T) => void,
): void {
  const operation = session.perform({
    event: { type: 'work', name },
    reexecuted: true,
    start: (live) =>
      work((outcome) => live.complete({ type: 'deliver', part: 'fire' }, undefined, outcome)),
    deliver: ({ native }) => {
      operation.close()
      deliver(native as T)
    },
  })
}

/** Calls back in its own turn, at a recorded position in the order, like native asynchronous work. */
export function answerLater(name: string, answer: () => void, session = currentSession()): void {
  if (session) inTurn<undefined>(session, name, (done) => done(undefined), answer)
}
