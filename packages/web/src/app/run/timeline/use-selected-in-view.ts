import { useEffect, useRef } from 'react'
import { AXIS_HEIGHT, LANE_HEIGHT, type Scene } from './scene.js'
import type { TimelineData } from './timeline-data.js'
import { bringIntoView, type ViewChange } from './timeline-view.js'

/** A step that is newly selected is brought into view, sideways and by its lane. */
export function useSelectedInView(options: {
  readonly data: TimelineData
  readonly selected: number
  readonly onView: (change: ViewChange) => void
  readonly scroller: React.RefObject<HTMLElement | null>
  readonly columns: Scene['columns']
  readonly size: { readonly height: number }
}): void {
  const latest = useRef(options)
  useEffect(() => {
    latest.current = options
  })
  const { selected, data } = options
  const isDrawn = selected >= 0 && selected < data.count
  useEffect(() => {
    const { data: now, onView, scroller, columns } = latest.current
    if (!isDrawn) return
    onView((view) => bringIntoView(view, now.from[selected] ?? 0, now.scale.length))
    const { current } = scroller
    const line = now.lineOf.get(columns.lane[selected] ?? 0) ?? 0
    if (current === null) return
    const [top, bottom] = [line * LANE_HEIGHT, (line + 2) * LANE_HEIGHT + AXIS_HEIGHT]
    if (top < current.scrollTop) current.scrollTop = top
    else if (bottom > current.scrollTop + current.clientHeight)
      current.scrollTop = bottom - current.clientHeight
  }, [selected, isDrawn])
}
