import http from 'node:http'
import { currentSession } from '../../scope.js'
import type { Session } from '../../sessions/session.js'
import { replace } from '../patch.js'
import type { Undo } from '../patch.js'

/**
 * HTTP agents keep connections for later requests. Each run gets its own shelf in
 * that store: a request must not travel on a connection that another run tapes.
 */
export function patchHttpAgent(): Undo {
  const poolKeys = new WeakMap<Session, string>()
  let count = 0
  const native = http.Agent.prototype as unknown as { getName(options?: object): string }
  const getName = native.getName
  return replace(native, 'getName', function (this: http.Agent, options?: object) {
    const name = getName.call(this, options)
    const session = currentSession()
    if (session === undefined) return name
    let poolKey = poolKeys.get(session)
    if (poolKey === undefined) poolKeys.set(session, (poolKey = `:run${++count}`))
    return name + poolKey
  })
}
