import { isRefusal } from '../../guard/bounds/unheard-refusals.js'
import { carryBounds, currentBounds } from '../../scope.js'

type Callback = (this: unknown, ...args: unknown[]) => unknown

/**
 * Code that a guarded tool leaves with Node to be called later, when the call and its bounds
 * are not around any more. It runs within them all the same. What is refused to it is among
 * what was blocked, and is not an error of whoever calls it. Elsewhere, the callback itself.
 */
export function boundCallback(given: unknown): unknown {
  if (currentBounds().length === 0 || typeof given !== 'function') return given
  const callback = given as Callback
  const carry = carryBounds()
  return function (this: unknown, ...args: unknown[]): unknown {
    try {
      return carry(() => callback.apply(this, args))
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
