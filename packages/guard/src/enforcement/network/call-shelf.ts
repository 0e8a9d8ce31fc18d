import type { CallBounds } from '../../bounds/call-bounds.js'

const shelves = new WeakMap<CallBounds, string>()
let count = 0

/** The part of a connection store that belongs to a guarded call: its connections are nobody else's. */
export function connectionPoolKey(bounds: readonly CallBounds[]): string {
  const innermost = bounds.at(-1)
  if (innermost === undefined) return ''
  let shelf = shelves.get(innermost)
  if (shelf === undefined) shelves.set(innermost, (shelf = `:call${++count}`))
  return shelf
}
