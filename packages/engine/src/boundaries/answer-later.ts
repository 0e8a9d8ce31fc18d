import { currentSession } from '../scope.js'

/** Calls back in its own turn, like native asynchronous work, but at a recorded place in the order. */
export function answerLater(name: string, answer: () => void): void {
  const operation = currentSession()?.perform({
    event: { type: 'work', name },
    reexecuted: true,
    start: (live) => live.complete({ type: 'deliver', part: 'fire' }),
    deliver: () => {
      operation?.close()
      answer()
    },
  })
}
