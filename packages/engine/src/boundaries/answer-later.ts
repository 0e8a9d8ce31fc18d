import { currentSession } from '../scope.js'
import type { Session } from '../sessions/session.js'

/** Calls back in its own turn, like native asynchronous work, but at a recorded position in the order. */
export function answerLater(
  name: string,
  answer: () => void,
  session: Session | undefined = currentSession(),
): void {
  const operation = session?.perform({
    event: { type: 'work', name },
    reexecuted: true,
    start: (live) => live.complete({ type: 'deliver', part: 'fire' }),
    deliver: () => {
      operation?.close()
      answer()
    },
  })
}
