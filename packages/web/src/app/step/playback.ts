import { useEffect, useRef, useState } from 'react'

/** As recorded, four times as fast, or in about a second. */
export const SPEEDS = ['1', '4', 'max'] as const
export type Speed = (typeof SPEEDS)[number]

/** The position after some time of the wall clock; not beyond the end. */
export function advance(
  position: number,
  elapsedMs: number,
  { speed, endMs }: { readonly speed: Speed; readonly endMs: number },
): number {
  const factor = speed === 'max' ? Math.max(4, endMs / 1000) : Number(speed)
  return Math.min(endMs, position + elapsedMs * factor)
}

/** The last frame by a moment; -1 before the first. */
export function frameAt(frames: readonly { readonly at: number }[], position: number): number {
  let [low, high] = [0, frames.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((frames[middle]?.at ?? 0) <= position) low = middle + 1
    else high = middle
  }
  return low - 1
}

interface Playback {
  readonly position: number
  readonly isPlaying: boolean
  readonly speed: Speed
  readonly setSpeed: (speed: Speed) => void
  /** Plays (from the start if at the end) or pauses. */
  readonly toggle: () => void
  readonly scrub: (position: number) => void
}

/** Plays `endMs` of recorded time. Starts by itself unless the user prefers reduced motion. */
export function usePlayback(endMs: number): Playback {
  const [isStill] = useState(() => matchMedia('(prefers-reduced-motion: reduce)').matches)
  const [position, setPosition] = useState(isStill ? endMs : 0)
  const [isPlaying, setPlaying] = useState(!isStill)
  const [speed, setSpeed] = useState<Speed>('1')
  const at = useRef(position)
  const move = (next: number): void => {
    at.current = next
    setPosition(next)
  }
  useEffect(() => {
    if (!isPlaying) return
    let last = performance.now()
    let frame = requestAnimationFrame(function tick(now) {
      move(advance(at.current, Math.max(0, now - last), { speed, endMs }))
      last = now
      if (at.current >= endMs) setPlaying(false)
      else frame = requestAnimationFrame(tick)
    })
    return () => cancelAnimationFrame(frame)
  }, [isPlaying, speed, endMs])
  return {
    position,
    isPlaying,
    speed,
    setSpeed,
    toggle: () => {
      if (!isPlaying && position >= endMs) move(0)
      setPlaying(!isPlaying)
    },
    scrub: (next) => {
      setPlaying(false)
      move(next)
    },
  }
}
