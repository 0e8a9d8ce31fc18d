import { currentSession } from '../scope.js'

/** Calls back in its own turn, like native asynchronous work, but at a recorded place in the order. */
export function answerLater(name: string, answer: () => void): void {
  currentSession()?.perform({
    event: { type: 'work', name },
    reexecuted: true,
    start: (operation) => operation.complete({ type: 'deliver', part: 'fire' }),
    deliver: answer,
  })
}
