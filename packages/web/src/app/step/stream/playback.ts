/** How fast a stream is played: as recorded, four times as fast, or in about a second. */
export const SPEEDS = ['1', '4', 'max'] as const
export type Speed = (typeof SPEEDS)[number]

/** Where the player is after some time of the wall clock; never behind the end. */
export function advance(
  position: number,
  elapsedMs: number,
  { speed, endMs }: { readonly speed: Speed; readonly endMs: number },
): number {
  const factor = speed === 'max' ? Math.max(4, endMs / 1000) : Number(speed)
  return Math.min(endMs, position + elapsedMs * factor)
}

/** The last frame there was by a moment; -1 before the first. */
export function frameAt(frames: readonly { readonly at: number }[], position: number): number {
  let [low, high] = [0, frames.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((frames[middle]?.at ?? 0) <= position) low = middle + 1
    else high = middle
  }
  return low - 1
}
