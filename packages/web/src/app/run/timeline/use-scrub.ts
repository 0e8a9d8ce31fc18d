import { useEffect, useRef, useState } from 'react'

const SCRUB_MS = 100

/** The playhead follows the pointer at once; the step below is another one only so often. */
export function useScrub(selected: number, choose: (place: number, replace: boolean) => void) {
  const [scrubbed, setScrubbed] = useState<number>()
  const waiting = useRef<{ place: number; timer: ReturnType<typeof setTimeout> }>(undefined)
  const flush = (): void => {
    const { current } = waiting
    waiting.current = undefined
    clearTimeout(current?.timer)
    if (current !== undefined) choose(current.place, true)
  }
  /** Undefined when the drag is over. */
  const scrub = (place: number | undefined, begins: boolean): void => {
    setScrubbed(place)
    if (place === undefined) flush()
    else if (begins) {
      if (place !== selected) choose(place, false)
    } else if (waiting.current === undefined)
      waiting.current = { place, timer: setTimeout(flush, SCRUB_MS) }
    else waiting.current.place = place
  }
  useEffect(() => () => clearTimeout(waiting.current?.timer), [])
  return { scrubbed, scrub }
}
