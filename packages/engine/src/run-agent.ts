import { natives } from './natives.js'
import { insideRun } from './scope.js'
import type { Session } from './sessions/session.js'

/**
 * Calls the agent in a turn of its own. Record and replay share this place, and
 * nothing of their callers is on the stack: agents print stack traces and send
 * them to models, so a trace must not tell one from the other.
 */
export function runAgent<T>(session: Session, agent: () => T | Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    natives.setImmediate(() => insideRun(session, start))
    function start(): void {
      new Promise<T>((settle) => settle(agent())).then(
        // Not `resolve` itself: V8 would follow it to whoever awaits.
        (output) => resolve(output),
        (error: unknown) => reject(error as Error),
      )
    }
  })
}
