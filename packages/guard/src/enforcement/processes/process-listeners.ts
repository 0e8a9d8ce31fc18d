import { AsyncLocalStorage } from 'node:async_hooks'
import { constants } from 'node:os'
import { outsideRuns, replace, type Undo, undoAll } from '@retake/engine/hook'
import { currentBounds } from '../current-bounds.js'
import { boundCallback } from './bound-callback.js'

type Listener = (this: unknown, ...args: unknown[]) => unknown
type Listen = (this: NodeJS.Process, event: string | symbol, listener: Listener) => NodeJS.Process

/** True while a tool handles a signal of the process: it may then exit. */
export const isSignalled = (): boolean => signalled.getStore() === true

const signalled = new AsyncLocalStorage<true>()

/**
 * Listeners of a guarded tool for what happens to the process: its exit, warnings, errors
 * that nobody caught, signals. They run within the bounds of the call. A signal that a tool
 * was the first to listen for is not its doing when it comes: other listeners are not bound.
 */
export function patchProcessListeners(): Undo {
  return undoAll([
    listen('on', false),
    listen('addListener', false),
    listen('prependListener', false),
    listen('once', true, 'on'),
    listen('prependOnceListener', true, 'prependListener'),
  ])
}

type Method = 'on' | 'addListener' | 'prependListener' | 'once' | 'prependOnceListener'

function listen(method: Method, isOnce: boolean, add: Method = method): Undo {
  const native = process[method] as Listen
  const nativeAdd = process[add] as Listen
  return replace(
    process,
    method,
    function (this: NodeJS.Process, event: string | symbol, listener: Listener) {
      if (currentBounds().length === 0 || typeof listener !== 'function')
        return native.call(this, event, listener)
      const isSignal = typeof event === 'string' && event in constants.signals
      const bound = boundCallback(listener) as Listener
      const answer = isSignal
        ? function (this: unknown, ...args: unknown[]): unknown {
            return signalled.run(true, () => bound.apply(this, args))
          }
        : bound
      const standIn: Listener & { listener?: Listener } = isOnce ? once(event, answer) : answer
      // By it, Node finds a listener to remove.
      standIn.listener = listener
      return outsideRuns(() => nativeAdd.call(this, event, standIn))
    },
  )
}

function once(event: string | symbol, listener: Listener): Listener {
  const standIn = function (this: unknown, ...args: unknown[]): unknown {
    process.removeListener(event, standIn)
    return listener.apply(this, args)
  }
  return standIn
}
