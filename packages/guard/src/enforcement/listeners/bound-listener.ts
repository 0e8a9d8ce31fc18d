import { isRefusal } from '../../bounds/unheard-refusals.js'
import { bindListener, currentBounds } from '../current-bounds.js'

export type Listener = (this: unknown, ...args: unknown[]) => unknown

/**
 * Replaces a listener that a guarded tool adds: called by anybody else, it runs within
 * the bounds of the call, and once that is over within its scopes. What is refused to it is
 * among what was blocked, and not an error of whoever called it. `isOwn`: the tool has
 * made what it listens to. Then it is nobody else's after the call either, and left alone.
 */
export function boundListener(listener: Listener, isOwn = false): Listener {
  const call = currentBounds().at(-1)
  if (call === undefined) return listener
  const bind = bindListener()
  return function (this: unknown, ...args: unknown[]): unknown {
    if (currentBounds().at(-1) === call || (isOwn && call.isOver)) return listener.apply(this, args)
    try {
      return bind(() => listener.apply(this, args))
    } catch (error) {
      if (isRefusal(error)) return undefined
      throw error
    }
  }
}
