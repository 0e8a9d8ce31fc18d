import { inTurn } from '../boundaries/patching/in-turn.js'
import { replace, type Undo, undoAll } from '../boundaries/patching/patch.js'
import { whenLoaded } from '../boundaries/patching/when-loaded.js'
import { declareLogThread, mayWriteLogs } from '../boundaries/shared/shared-logs.js'
import { currentSession, outsideRuns } from '../kernel/scope.js'
import type { Integration } from './integration.js'

/**
 * Transports, which are streams of the package thread-stream. They share memory with a thread, and
 * when they flush depends on everything that a process logs, so their timers belong to no run. A
 * run that may not change anything outside writes nothing to them. Not captured: the events of such
 * a stream, and the output of its thread.
 */
export const pino: Integration = {
  package: 'pino',
  versions: '>=7',
  install() {
    const patched = new Set<unknown>()
    const undos: Undo[] = []
    const found = (exports: unknown): void => {
      if (typeof exports !== 'function' || patched.has(exports)) return
      patched.add(exports)
      const prototype = exports.prototype as Record<string, Method | undefined>
      for (const name of ['write', 'flush', 'flushSync', 'end']) {
        const native = prototype[name]
        if (native === undefined) continue
        undos.push(replace(prototype, name, name === 'flush' ? flushed(native) : outside(native)))
      }
    }
    return undoAll([
      () => undoAll(undos)(),
      declareLogThread(/[\\/]thread-stream[\\/]lib[\\/]worker\.js$/),
      whenLoaded(/(^|[\\/])thread-stream([\\/]index\.js)?$/, found),
    ])
  },
}

type Method = (this: object, ...args: unknown[]) => unknown

function outside(native: Method): Method {
  return function (...args) {
    const session = currentSession()
    if (session === undefined) return native.apply(this, args)
    return mayWriteLogs(session) ? outsideRuns(() => native.apply(this, args)) : true
  }
}

/** The program may wait until its lines are written. */
function flushed(native: Method): Method {
  return function (...args) {
    const session = currentSession()
    if (session === undefined) return native.apply(this, args)
    const work = (done: (error: unknown) => void): unknown =>
      mayWriteLogs(session) ? outsideRuns(() => native.call(this, done)) : done(null)
    const [callback] = args
    inTurn(session, 'log.flush', work, (error) => {
      if (typeof callback === 'function') (callback as (error: unknown) => void)(error)
    })
    return undefined
  }
}
