import { bindCheck } from '@retake/engine/hook'
import { isRefusal } from '../../bounds/unheard-refusals.js'
import { currentBounds } from '../current-bounds.js'

type Callback = (this: unknown, ...args: unknown[]) => unknown

/**
 * Code that a guarded tool leaves with Node to be called later, when the call and its bounds
 * are not around any more. It runs within them all the same. What is refused to it is among
 * what was blocked, and is not an error of whoever calls it. Elsewhere, the callback itself.
 */
export function boundCallback(given: unknown): unknown {
  if (currentBounds().length === 0 || typeof given !== 'function') return given
  const callback = given as Callback
  const bind = bindCheck()
  return function (this: unknown, ...args: unknown[]): unknown {
    try {
      return bind(() => callback.apply(this, args))
    } catch (error) {
      if (isRefusal(error)) return undefined
      throw error
    }
  }
}

/** Arguments of which the first is a callback, or an object of several. */
export function boundFirst(args: readonly unknown[]): readonly unknown[] {
  if (currentBounds().length === 0) return args
  const [first, ...rest] = args
  const bound =
    typeof first === 'object' && first !== null
      ? Object.fromEntries(Object.entries(first).map(([name, each]) => [name, boundCallback(each)]))
      : boundCallback(first)
  return [bound, ...rest]
}
