import { EventEmitter } from 'node:events'
import { currentSession, isProcessRun, outsideRuns } from '../../kernel/scope.js'
import type { Session } from '../../kernel/session.js'
import { inTurn } from '../patching/in-turn.js'
import { replace, undoAll, type Undo } from '../patching/patch.js'
import { noteBoundary } from '../patching/note-boundary.js'
import { whenLoaded } from '../patching/when-loaded.js'

/** True if writes to a log that was opened outside this run are not part of the run. */
export const ignoresOutsideLogs = (session: Session): boolean =>
  session.owner === undefined && !isProcessRun(session)

/** True if the run may change something outside: it is recorded, and works directly on the disk. */
export const mayWriteLogs = ({ local, overlay }: Session): boolean =>
  local === 'live' && overlay === undefined

type Method = (this: object, ...args: unknown[]) => unknown

/**
 * Streams of the package `thread-stream`, the transports of pino. They share memory with a thread,
 * and when they flush depends on everything that a process logs, so their timers belong to no run.
 * A run that may not change anything outside writes nothing to them. Not captured: the events of
 * such a stream, and the output of its thread.
 */
export function patchLogThreads(): Undo {
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
    whenLoaded(/(^|[\\/])thread-stream([\\/]index\.js)?$/, found),
  ])
}

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

export const isLogThread = (file: string): boolean =>
  /[\\/]thread-stream[\\/]lib[\\/]worker\.js$/.test(file)

/** Starts the thread of a log that a run opens; a run that may not write gets none. */
export function startLogThread(session: Session, start: () => object): object {
  if (!mayWriteLogs(session)) return new NoThread()
  noteBoundary(session, {
    name: 'log transport in a thread',
    text: 'what the thread of a logger writes is not captured',
    consequence: 'its lines are missing on replay',
  })
  return outsideRuns(start)
}

class NoThread extends EventEmitter {
  postMessage(): void {}
  ref(): void {}
  unref(): void {}
  terminate(): Promise<number> {
    return Promise.resolve(0)
  }
}
