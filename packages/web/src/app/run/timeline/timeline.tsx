import { useEffect, useMemo, useRef, useState } from 'react'
import { useRemembered } from '../../design/remembered.js'
import { Splitter } from '../../design/splitter.js'
import { useCommands } from '../../commands/use-commands.js'
import { duration, plural } from '../../design/figures.js'
import type { FilteredRows } from '../filtered-rows.js'
import type { Filtering } from '../use-filter.js'
import type { Run } from '../use-run.js'
import { useSelection } from '../use-selection.js'
import { drawTimeline } from './draw-timeline.js'
import { overlayValues, sumText, type Overlay } from './overlay.js'
import { Playhead } from './playhead.js'
import { RowTip } from './row-tip.js'
import { AXIS_HEIGHT, LANE_HEIGHT, OVERLAY_HEIGHT, xOf, type Scene } from './scene.js'
import { TimelineBar } from './timeline-bar.js'
import { useTimelineColors } from './timeline-colors.js'
import type { TimelineData } from './timeline-data.js'
import { bringIntoView, keepInside, wholeView, zoomAt, type TimelineView } from './timeline-view.js'
import { useCanvas, useSize } from './use-canvas.js'
import { useTimelineData } from './use-timeline-data.js'
import { useTimelinePointer } from './use-timeline-pointer.js'

export interface TimelineProps {
  readonly run: Run
  readonly shown: FilteredRows
  readonly filtering: Filtering
  readonly isNarrow: boolean
  /** Goes to another shown step. */
  readonly onMove: (by: number | 'first' | 'last') => void
}

const BAR_HEIGHT = 28

/** Height of the timeline when nobody has changed it. */
const wantedHeight = (lanes: number, overlay: Overlay, isNarrow: boolean): number =>
  BAR_HEIGHT +
  AXIS_HEIGHT +
  Math.min(Math.max(lanes, 1), isNarrow ? 3 : 8) * LANE_HEIGHT +
  6 +
  (overlay === 'none' ? 0 : OVERLAY_HEIGHT)

/** When which step was under way, a line for each lane. */
export function Timeline(props: TimelineProps) {
  const { run, isNarrow } = props
  const [isFolded, setFolded] = useRemembered('timeline-folded', false)
  const [overlay, setOverlay] = useRemembered<Overlay>('timeline-overlay', 'none')
  const [stored, setHeight] = useRemembered('timeline-height', 0)
  const [wanted, setView] = useState<TimelineView>()
  const data = useTimelineData(run)
  const { length } = data.scale
  const whole = wholeView(length)
  const view = wanted === undefined ? whole : keepInside(wanted, length)
  const { step } = useSelection()
  const selected = step === undefined ? -1 : run.rows.placeOf(step)
  // oxlint-disable-next-line react/exhaustive-deps -- data changes with the rows
  const figures = useMemo(() => overlayValues(run.rows.columns, overlay), [run.rows, overlay, data])

  const look = (next: TimelineView): void =>
    setView(next.span >= whole.span * 0.999 ? undefined : next)
  const zoom = (factor: number): void => {
    const at = selected >= 0 ? (data.from[selected] ?? 0) : view.from + view.span / 2
    const isSeen = at >= view.from && at <= view.from + view.span
    look(zoomAt(view, factor, { at: isSeen ? at : view.from + view.span / 2, length }))
  }
  const fold = (): void => setFolded(!isFolded)
  useCommands([
    {
      id: 'timeline.fold',
      title: isFolded ? 'Unfold the timeline' : 'Fold the timeline',
      group: 'View',
      keys: ['t'],
      run: fold,
    },
    {
      id: 'timeline.zoom-in',
      title: 'Look closer at the timeline',
      group: 'View',
      keys: ['+', '='],
      run: () => zoom(2),
    },
    {
      id: 'timeline.zoom-out',
      title: 'Look at the timeline from further',
      group: 'View',
      keys: ['-'],
      run: () => zoom(0.5),
    },
    {
      id: 'timeline.fit',
      title: 'Show all of the timeline',
      group: 'View',
      keys: ['0'],
      run: () => setView(undefined),
    },
    ...(['none', 'latency', 'tokens', 'cost'] as const).map((each) => ({
      id: `timeline.overlay-${each}`,
      title: each === 'none' ? 'No figure under the timeline' : `Show ${each} under the timeline`,
      group: 'View' as const,
      keys: [],
      run: () => setOverlay(each),
    })),
  ])

  const height =
    stored > 0 && !isNarrow ? stored : wantedHeight(data.lines.length, overlay, isNarrow)
  const hasSum =
    overlay !== 'none' && figures !== undefined && selected >= 0 && selected < data.count
  return (
    <>
      <section
        aria-label="Timeline"
        className="flex max-h-[60%] shrink-0 flex-col"
        style={isFolded ? undefined : { height }}
      >
        <TimelineBar
          isFolded={isFolded}
          onFold={fold}
          overlay={overlay}
          onOverlay={setOverlay}
          onZoom={zoom}
          onFit={() => setView(undefined)}
          isWhole={wanted === undefined}
          sums={hasSum ? `up to step ${step}: ${sumText(overlay, figures, selected)}` : undefined}
        />
        {!isFolded && (
          <TimelineCanvas
            {...props}
            data={data}
            view={view}
            overlay={overlay}
            figures={figures}
            selected={selected}
            gutter={isNarrow ? 56 : 120}
            onView={look}
          />
        )}
      </section>
      {!isFolded && !isNarrow && (
        <Splitter
          label="Height of the timeline"
          orientation="horizontal"
          size={height}
          min={BAR_HEIGHT + AXIS_HEIGHT + LANE_HEIGHT}
          max={800}
          onSize={setHeight}
        />
      )}
    </>
  )
}

type CanvasProps = TimelineProps &
  Pick<Scene, 'data' | 'view' | 'overlay' | 'figures' | 'selected' | 'gutter'> & {
    readonly onView: (view: TimelineView) => void
  }

function TimelineCanvas(props: CanvasProps) {
  const { run, shown, filtering, data, view, overlay, figures, gutter, onView } = props
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
    onSelect: (place) => choose(place, false),
    onScrub: (place, begins) => {
      const near = shown.has(place) ? place : shown.placeAt(Math.max(0, shown.indexFrom(place) - 1))
      scrub(near, begins)
    },
    onScrubbed: () => scrub(undefined, false),
    onRange: (from, to) => filtering.change({ from: Math.floor(from), to: Math.ceil(to) }),
  })

  useSelectedInView({ data, selected, view, onView, scroller, columns: run.rows.columns, size })

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
  }
  const canvas = useCanvas(size, (context) => drawTimeline(context, scene))
  const room = AXIS_HEIGHT + data.lines.length * LANE_HEIGHT + (figures ? OVERLAY_HEIGHT : 0)
  const x = selected < 0 || selected >= data.count ? -1 : xOf(scene, data.from[selected] ?? 0)
  return (
    <div ref={box} className="relative min-h-0 flex-1">
      <p className="sr-only">{summaryOf(run, data)}</p>
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
        <RowTip row={run.rows.at(pointer.hover.place)} width={size.width} {...pointer.hover} />
      )}
    </div>
  )
}

const SCRUB_MS = 100

/** The playhead follows the pointer at once; the step below is another one only so often. */
function useScrub(selected: number, choose: (place: number, replace: boolean) => void) {
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

/** A step that is newly selected is brought into view, sideways and by its lane. */
function useSelectedInView(options: {
  readonly data: TimelineData
  readonly selected: number
  readonly view: TimelineView
  readonly onView: (view: TimelineView) => void
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
    const { data: now, view, onView, scroller, columns } = latest.current
    if (!isDrawn) return
    const next = bringIntoView(view, now.from[selected] ?? 0, now.scale.length)
    if (next !== view) onView(next)
    const { current } = scroller
    const line = now.lineOf.get(columns.lane[selected] ?? 0) ?? 0
    if (current === null) return
    const [top, bottom] = [line * LANE_HEIGHT, (line + 2) * LANE_HEIGHT + AXIS_HEIGHT]
    if (top < current.scrollTop) current.scrollTop = top
    else if (bottom > current.scrollTop + current.clientHeight)
      current.scrollTop = bottom - current.clientHeight
  }, [selected, isDrawn])
}

/** The timeline in a sentence, for those who do not see it. */
function summaryOf({ head, rows }: Run, { lines, scale }: TimelineData): string {
  return [
    `${plural(rows.length, 'step')} in ${plural(lines.length, 'lane')} over ${duration(head.durationMs)}`,
    ...(lines.length > 1
      ? [
          `lanes: ${lines
            .slice(0, 20)
            .map(({ name }) => name)
            .join(', ')}`,
        ]
      : []),
    ...(scale.gaps.length > 0
      ? [`${plural(scale.gaps.length, 'pause')} without a step, drawn short`]
      : []),
  ].join('; ')
}
