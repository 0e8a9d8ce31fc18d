import type { WriterPlatform } from '../platform.js'

type Equal = WriterPlatform['equal']

/** Number of equal bytes at the start of `a` and `b`. Large pieces are compared first. */
export function commonPrefix(equal: Equal, a: Uint8Array, b: Uint8Array): number {
  const max = Math.min(a.length, b.length)
  let same = 0
  for (const step of [1 << 16, 1 << 12, 1 << 8]) {
    while (same + step <= max && equal(a, same, b, same, step)) same += step
  }
  while (same < max && a[same] === b[same]) same++
  return same
}

/** Number of equal bytes at the end of `a` and `b`, at most `max`. */
export function commonSuffix(equal: Equal, a: Uint8Array, b: Uint8Array, max: number): number {
  let same = 0
  const equalBefore = (step: number): boolean =>
    equal(a, a.length - same - step, b, b.length - same - step, step)
  for (const step of [1 << 16, 1 << 12, 1 << 8]) {
    while (same + step <= max && equalBefore(step)) same += step
  }
  while (same < max && a[a.length - 1 - same] === b[b.length - 1 - same]) same++
  return same
}
