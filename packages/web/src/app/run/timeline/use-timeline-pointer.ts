import { useEffect, useLayoutEffect, useRef, useState, type RefObject } from 'react'
import { AXIS_HEIGHT, drawnAt, LANE_HEIGHT } from './scene.js'
import { rowAtTime, rowNear, type TimelineData } from './timeline-data.js'
import { panBy, zoomAt, type TimelineView, type ViewChange } from './timeline-view.js'

export interface PointerOptions {
  readonly box: RefObject<HTMLElement | null>
  readonly scroller: RefObject<HTMLElement | null>
  readonly data: TimelineData
  readonly view: TimelineView
  readonly width: number
  readonly gutter: number
  readonly onView: (change: ViewChange) => void
  /** The row whose mark is there, below the lanes: -1 for none; undefined where there are lanes. */
  readonly markUnder: (at: { readonly x: number; readonly y: number }) => number | undefined
  /** A click on a step. */
  readonly onSelect: (place: number) => void
  /** The playhead is dragged; the first of such a drag is `begins`. */
  readonly onScrub: (place: number, begins: boolean) => void
  readonly onScrubbed: () => void
  /** A stretch of time was marked, in milliseconds since the start. */
  readonly onRange: (from: number, to: number) => void
}

export interface TimelinePointer {
  /** The row under the pointer, and where the pointer is. */
  readonly hover: { readonly place: number; readonly x: number; readonly y: number } | undefined
  /** A stretch that is being marked, in milliseconds since the start. */
  readonly marked: readonly [from: number, to: number] | undefined
  readonly handlers: {
    readonly onPointerDown: (event: React.PointerEvent) => void
    readonly onPointerMove: (event: React.PointerEvent) => void
    readonly onPointerUp: (event: React.PointerEvent) => void
    readonly onPointerCancel: () => void
    readonly onPointerLeave: () => void
    readonly onDoubleClick: () => void
  }
}

interface Drag {
  readonly kind: 'scrub' | 'mark' | 'pan'
  readonly x: number
  readonly view: TimelineView
  moved: boolean
}

/** Hover, click, scrub on the axis, mark a range, pan with Shift or a finger, zoom with Ctrl and the wheel. */
export function useTimelinePointer(options: PointerOptions): TimelinePointer {
  const { box, scroller, data, view, width, gutter } = options
  const [hover, setHover] = useState<TimelinePointer['hover']>()
  const [marked, setMarked] = useState<TimelinePointer['marked']>()
  const drag = useRef<Drag | undefined>(undefined)
  const latest = useRef(options)
  // As soon as it is drawn: the wheel may turn at any time after.
  useLayoutEffect(() => {
    latest.current = options
  })

  useEffect(() => {
    const { current } = box
    if (current === null) return
    const turned = (event: WheelEvent): void => {
      const now = latest.current
      const isZoom = event.ctrlKey || event.metaKey
      const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX
      if (!isZoom && Math.abs(sideways) <= Math.abs(event.deltaY) && !event.shiftKey) return
      event.preventDefault()
      const x = event.clientX - current.getBoundingClientRect().left
      const { length } = now.data.scale
      const factor = Math.exp(-event.deltaY / 300)
      now.onView((seen) =>
        isZoom
          ? zoomAt(seen, factor, { at: drawnAt({ ...now, view: seen }, x), length })
          : panBy(seen, sideways / now.width, length),
      )
    }
    current.addEventListener('wheel', turned, { passive: false })
    return () => current.removeEventListener('wheel', turned)
  }, [box])

  const place = (event: React.PointerEvent) => {
    const bounds = box.current?.getBoundingClientRect()
    return { x: event.clientX - (bounds?.left ?? 0), y: event.clientY - (bounds?.top ?? 0) }
  }
  const rowUnder = ({ x, y }: { x: number; y: number }): number => {
    if (x < gutter || y < AXIS_HEIGHT) return -1
    const mark = options.markUnder({ x, y })
    if (mark !== undefined) return mark
    const line = Math.floor((y - AXIS_HEIGHT + (scroller.current?.scrollTop ?? 0)) / LANE_HEIGHT)
    const drawn = drawnAt(options, x)
    return rowNear(data, line, { drawn, within: (4 * view.span) / Math.max(1, width - gutter) })
  }
  const timeAt = (x: number): number =>
    Math.max(0, data.scale.toTime(Math.max(0, drawnAt(options, Math.max(gutter, x)))))
  const rangeOf = (from: number, to: number) =>
    [timeAt(Math.min(from, to)), timeAt(Math.max(from, to))] as const

  return {
    hover,
    marked,
    handlers: {
      onPointerDown: (event) => {
        const { x, y } = place(event)
        if (x < gutter || event.button > 1) return
        const isPan = event.shiftKey || event.button === 1 || event.pointerType === 'touch'
        const kind = y < AXIS_HEIGHT ? 'scrub' : isPan ? 'pan' : 'mark'
        drag.current = { kind, x, view, moved: false }
        event.currentTarget.setPointerCapture(event.pointerId)
        if (kind === 'scrub') options.onScrub(rowAtTime(data, drawnAt(options, x)), true)
      },
      onPointerMove: (event) => {
        const { x, y } = place(event)
        const { current } = drag
        if (current === undefined) {
          const under = rowUnder({ x, y })
          setHover(under < 0 ? undefined : { place: under, x, y })
          return
        }
        if (Math.abs(x - current.x) > 4) current.moved = true
        if (!current.moved) return
        setHover(undefined)
        if (current.kind === 'scrub') options.onScrub(rowAtTime(data, drawnAt(options, x)), false)
        else if (current.kind === 'mark') setMarked(rangeOf(current.x, x))
        else {
          const part = (current.x - x) / Math.max(1, width - gutter)
          const { from } = current.view
          options.onView((seen) => panBy({ ...seen, from }, part, data.scale.length))
        }
      },
      onPointerUp: (event) => {
        const { current } = drag
        drag.current = undefined
        setMarked(undefined)
        if (current?.kind === 'scrub') options.onScrubbed()
        if (current === undefined || current.kind === 'scrub') return
        const { x, y } = place(event)
        if (!current.moved) {
          const under = rowUnder({ x, y })
          if (under >= 0) options.onSelect(under)
        } else if (current.kind === 'mark') options.onRange(...rangeOf(current.x, x))
      },
      // The browser took the drag over, to scroll: nothing was marked.
      onPointerCancel: () => {
        if (drag.current?.kind === 'scrub') options.onScrubbed()
        drag.current = undefined
        setMarked(undefined)
      },
      onPointerLeave: () => setHover(undefined),
      onDoubleClick: () => options.onView(() => ({ from: 0, span: Number.POSITIVE_INFINITY })),
    },
  }
}
