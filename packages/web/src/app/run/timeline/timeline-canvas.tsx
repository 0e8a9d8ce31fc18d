import { useRef, useState } from 'react'
import { useSelection } from '../use-selection.js'
import { drawTimeline } from './draw-timeline.js'
import { markNear } from './heat.js'
import { Playhead } from './playhead.js'
import { RowTip } from './row-tip.js'
import { AXIS_HEIGHT, belowLanes, HEAT_HEIGHT, LANE_HEIGHT, xOf, type Scene } from './scene.js'
import type { TimelineProps } from './timeline.js'
import { useTimelineColors } from './timeline-colors.js'
import { timelineSummary } from './timeline-summary.js'
import type { ViewChange } from './timeline-view.js'
import { useCanvas, useSize } from './use-canvas.js'
import { useScrub } from './use-scrub.js'
import { useSelectedInView } from './use-selected-in-view.js'
import { useTimelinePointer } from './use-timeline-pointer.js'

type TimelineCanvasProps = TimelineProps &
  Pick<Scene, 'data' | 'view' | 'overlay' | 'figures' | 'heat' | 'selected' | 'gutter'> & {
    readonly onView: (change: ViewChange) => void
  }

/** The drawing, and what a pointer does on it. */
export function TimelineCanvas(props: TimelineCanvasProps) {
  const { run, shown, filtering, data, view, overlay, figures, heat, gutter, onView } = props
  const { select } = useSelection()
  const box = useRef<HTMLDivElement>(null)
  const scroller = useRef<HTMLDivElement>(null)
  const size = useSize(scroller)
  const [scrollTop, setScrollTop] = useState(0)
  const colors = useTimelineColors()
  const choose = (place: number, replace: boolean): void => {
    if (place >= 0 && place < run.rows.length) select(run.rows.at(place).label, { replace })
  }
  const { scrubbed, scrub } = useScrub(props.selected, choose)
  const selected = scrubbed ?? props.selected
  const pointer = useTimelinePointer({
    box,
    scroller,
    data,
    view,
    width: size.width,
    gutter,
    onView,
    markUnder: ({ x, y }) => {
      const below = size.height - belowLanes(props)
      if (heat === undefined || y < below || y >= below + HEAT_HEIGHT) return undefined
      return markNear(heat, data, { x, xOf: (drawn) => xOf({ ...props, ...size }, drawn) })
    },
    onSelect: (place) => choose(place, false),
    onScrub: (place, begins) => {
      const near = shown.has(place) ? place : shown.placeAt(Math.max(0, shown.indexFrom(place) - 1))
      scrub(near, begins)
    },
    onScrubbed: () => scrub(undefined, false),
    onRange: (from, to) => filtering.change({ from: Math.floor(from), to: Math.ceil(to) }),
  })

  useSelectedInView({ data, selected, onView, scroller, columns: run.rows.columns, size })

  const { from, to } = filtering.filter
  const range =
    from === undefined && to === undefined
      ? undefined
      : ([from ?? 0, to ?? Number.POSITIVE_INFINITY] as const)
  const scene: Scene = {
    data,
    columns: run.rows.columns,
    shown,
    view,
    colors,
    ...size,
    scrollTop,
    gutter,
    selected,
    hovered: pointer.hover?.place ?? -1,
    range: pointer.marked ?? range,
    overlay,
    figures,
    heat,
  }
  const canvas = useCanvas(size, (context) => drawTimeline(context, scene))
  const room = AXIS_HEIGHT + data.lines.length * LANE_HEIGHT + belowLanes(scene)
  const x = selected < 0 || selected >= data.count ? -1 : xOf(scene, data.from[selected] ?? 0)
  return (
    <div ref={box} className="relative min-h-0 flex-1">
      <p className="sr-only">{timelineSummary(run, data, heat)}</p>
      <div
        ref={scroller}
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reached by keyboard
        tabIndex={room > size.height ? 0 : undefined}
        className="h-full touch-pan-y overflow-x-hidden overflow-y-auto overscroll-contain"
        onScroll={(event) => setScrollTop(event.currentTarget.scrollTop)}
        {...pointer.handlers}
      >
        <canvas
          ref={canvas}
          aria-hidden="true"
          data-testid="timeline"
          className="sticky top-0 block"
          style={{ width: size.width, height: size.height }}
        />
        <div style={{ height: Math.max(0, room - size.height) }} />
      </div>
      {selected >= 0 && selected < run.rows.length && (
        <Playhead
          row={run.rows.at(selected)}
          position={shown.indexFrom(selected) + 1}
          count={shown.length}
          x={x >= gutter && x <= size.width ? x : undefined}
          onMove={props.onMove}
        />
      )}
      {pointer.hover !== undefined && pointer.hover.place < run.rows.length && (
        <RowTip
          row={run.rows.at(pointer.hover.place)}
          role={heat?.roleAt(pointer.hover.place)}
          width={size.width}
          {...pointer.hover}
        />
      )}
    </div>
  )
}
