import { useEffect, useRef, useState } from 'react'
import { advance, type Speed } from './playback.js'

export interface Playback {
  readonly position: number
  readonly isPlaying: boolean
  readonly speed: Speed
  readonly setSpeed: (speed: Speed) => void
  /** Plays on, from the start when it is over; or pauses. */
  readonly toggle: () => void
  readonly scrub: (position: number) => void
}

/** Plays `endMs` of recorded time. Starts by itself unless the user wants no motion. */
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
