import type { BlamedStep } from '@retake/tape'
import {
  clock,
  cost,
  count,
  duration,
  plural,
  roleWord,
  type StepRow,
  stepCountsText,
} from '@retake/tape/present'
import { type RefObject, useEffect, useEffectEvent, useLayoutEffect, useRef, useState } from 'react'
import { RoleName, roleText } from '../../blame/role-mark.js'
import type { Run } from '../data/use-run.js'
import { useSelection } from '../data/use-selection.js'
import {
  AXIS_HEIGHT,
  belowLanes,
  drawnAt,
  drawTimeline,
  HEAT_HEIGHT,
  LANE_HEIGHT,
  type Scene,
  useTimelineColors,
  xOf,
} from './draw-timeline.js'
import { type Heat, markNear, rowAtTime, rowNear, type TimelineData } from './timeline-data.js'
import {
  bringIntoView,
  panBy,
  type TimelineView,
  type ViewChange,
  zoomAt,
} from './timeline-view.js'
import type { TimelineProps } from './timeline.js'

const SCRUB_MS = 100

/** The playhead follows the pointer immediately; the selection is throttled. */
function useScrub(selected: number, choose: (index: number, replace: boolean) => void) {
  const [scrubbed, setScrubbed] = useState<number>()
  const waiting = useRef<{ index: number; timer: ReturnType<typeof setTimeout> }>(undefined)
  const flush = (): void => {
    const { current } = waiting
    waiting.current = undefined
    clearTimeout(current?.timer)
    if (current !== undefined) choose(current.index, true)
  }
  /** Undefined when the drag ends. */
  const scrub = (position: number | undefined, begins: boolean): void => {
    setScrubbed(position)
    if (position === undefined) flush()
    else if (begins) {
      if (position !== selected) choose(position, false)
    } else if (waiting.current === undefined)
      waiting.current = { index: position, timer: setTimeout(flush, SCRUB_MS) }
    else waiting.current.index = position
  }
  useEffect(() => () => clearTimeout(waiting.current?.timer), [])
  return { scrubbed, scrub }
}

type TimelineCanvasProps = TimelineProps &
  Pick<Scene, 'data' | 'view' | 'overlay' | 'figures' | 'heat' | 'selected' | 'gutter'> & {
    readonly onView: (change: ViewChange) => void
  }

export function TimelineCanvas(props: TimelineCanvasProps) {
  const { run, shown, filtering, data, view, overlay, figures, heat, gutter, onView } = props
  const { select } = useSelection()
  const box = useRef<HTMLDivElement>(null)
  const scroller = useRef<HTMLDivElement>(null)
  const size = useSize(scroller)
  const [scrollTop, setScrollTop] = useState(0)
  const colors = useTimelineColors()
  const choose = (index: number, replace: boolean): void => {
    if (index >= 0 && index < run.rows.length) select(run.rows.at(index).label, { replace })
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
    onSelect: (index) => choose(index, false),
    onScrub: (index, begins) => {
      const near = shown.has(index) ? index : shown.rowAt(Math.max(0, shown.indexFrom(index) - 1))
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
  const scene: Omit<Scene, 'context'> = {
    data,
    columns: run.rows.columns,
    shown,
    view,
    colors,
    ...size,
    scrollTop,
    gutter,
    selected,
    hovered: pointer.hover?.index ?? -1,
    range: pointer.marked ?? range,
    overlay,
    figures,
    heat,
  }
  const canvas = useCanvas(size, (context) => drawTimeline({ ...scene, context }))
  const room = AXIS_HEIGHT + data.lines.length * LANE_HEIGHT + belowLanes(scene)
  const x = selected < 0 || selected >= data.count ? -1 : xOf(scene, data.from[selected] ?? 0)
  return (
    <div ref={box} className="relative min-h-0 flex-1">
      <p className="sr-only">{timelineSummary(run, data, heat)}</p>
      <div
        ref={scroller}
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrollable element must be reachable by keyboard
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
      {pointer.hover !== undefined && pointer.hover.index < run.rows.length && (
        <RowTip
          row={run.rows.at(pointer.hover.index)}
          blamed={heat?.stepAt(pointer.hover.index)}
          width={size.width}
          {...pointer.hover}
        />
      )}
    </div>
  )
}

function timelineSummary({ head, rows }: Run, { lines, scale }: TimelineData, heat?: Heat): string {
  const names = lines.slice(0, 20).map(({ name }) => name)
  const { length: pauses } = scale.gaps
  const parts = [
    `${stepCountsText(rows)} in ${plural(lines.length, 'lane')} over ${duration(head.durationMs)}`,
    lines.length > 1 && `lanes: ${names.join(', ')}`,
    pauses > 0 && `${plural(pauses, 'pause')} without a step, compressed`,
    heat !== undefined && heatText(heat, rows),
  ]
  return parts.filter(Boolean).join('; ')
}

function heatText({ indexes, stepAt }: Heat, rows: Run['rows']): string {
  const named = Array.from(indexes.subarray(0, 20), (index) => {
    const step = stepAt(index)
    return `step ${rows.at(index).label} ${step && roleWord(step)}`
  })
  const more = indexes.length > 20 ? [`and ${plural(indexes.length - 20, 'other')}`] : []
  return `blame: ${[...named, ...more].join(', ') || 'no step is marked'}`
}

/* oxlint-disable jsx-a11y/prefer-tag-over-role -- an input cannot be positioned at its step */

interface PlayheadProps {
  readonly row: StepRow
  /** Position among the shown steps, from 1. */
  readonly position: number
  readonly count: number
  /** Undefined if the playhead is not visible. */
  readonly x: number | undefined
  readonly onMove: (by: number | 'first' | 'last') => void
}

/** The handle at the selected step, which is dragged on the axis or moved by arrow keys. */
function Playhead({ row, position, count, x, onMove }: PlayheadProps) {
  const press = (event: React.KeyboardEvent): void => {
    const by = {
      ArrowLeft: -1,
      ArrowDown: -1,
      ArrowRight: 1,
      ArrowUp: 1,
      PageDown: -10,
      PageUp: 10,
      Home: 'first',
      End: 'last',
    }[event.key] as number | 'first' | 'last' | undefined
    if (by === undefined) return
    event.preventDefault()
    event.stopPropagation()
    onMove(by)
  }
  return (
    <div
      role="slider"
      tabIndex={0}
      aria-label="Playhead"
      aria-valuemin={1}
      aria-valuemax={Math.max(1, count)}
      aria-valuenow={position}
      aria-valuetext={`step ${row.label}, ${row.title}, at ${clock(row.at)}`}
      onKeyDown={press}
      className="pointer-events-none absolute top-0 z-10 h-3.5 w-2.5 rounded-xs bg-accent"
      style={{ left: (x ?? 0) - 4.5, opacity: x === undefined ? 0 : 1 }}
    />
  )
}

interface RowTipProps {
  readonly row: StepRow
  readonly blamed: BlamedStep | undefined
  readonly x: number
  readonly y: number
  readonly width: number
}

function RowTip({ row, blamed, x, y, width }: RowTipProps) {
  const facts = [
    `at ${clock(row.at)}`,
    row.latencyMs === undefined || row.inferred ? undefined : `took ${duration(row.latencyMs)}`,
    row.tokensIn === undefined
      ? undefined
      : `${count(row.tokensIn)} → ${count(row.tokensOut ?? 0)} tokens`,
    row.costUsd === undefined
      ? row.kind === 'model' && row.state === 'done'
        ? 'cost unknown'
        : undefined
      : cost(row.costUsd),
    row.inferred ? 'inferred: times are those of the model calls around it' : undefined,
  ].filter((fact) => fact !== undefined)
  return (
    <div
      aria-hidden="true"
      className="pointer-events-none absolute z-20 max-w-90 rounded border border-line-strong bg-surface px-2 py-1 text-sm shadow"
      style={{ top: y + 14, ...(x > width / 2 ? { right: width - x + 4 } : { left: x + 8 }) }}
    >
      <p className="truncate">
        <span className="mr-1.5 font-mono text-muted">{row.label}</span>
        {row.title}
      </p>
      <p className="text-muted">
        {[row.kind, ...(row.state === 'done' ? [] : [row.state])].join(', ')} · {facts.join(' · ')}
      </p>
      {blamed !== undefined && (
        <p>
          <RoleName role={blamed.role} intervention={blamed.intervention} />{' '}
          <span className="text-muted">{roleText(blamed)}</span>
        </p>
      )}
      {row.error !== undefined && <p className="truncate text-danger">{row.error}</p>}
    </div>
  )
}

function useSelectedInView(options: {
  readonly data: TimelineData
  readonly selected: number
  readonly onView: (change: ViewChange) => void
  readonly scroller: React.RefObject<HTMLElement | null>
  readonly columns: Scene['columns']
  readonly size: { readonly height: number }
}): void {
  const { selected, data, scroller } = options
  const isDrawn = selected >= 0 && selected < data.count
  const bring = useEffectEvent((index: number): void => {
    options.onView((view) => bringIntoView(view, data.from[index] ?? 0, data.scale.length))
    const { current } = scroller
    const line = data.lineOf.get(options.columns.lane[index] ?? 0) ?? 0
    if (current === null) return
    const [top, bottom] = [line * LANE_HEIGHT, (line + 2) * LANE_HEIGHT + AXIS_HEIGHT]
    if (top < current.scrollTop) current.scrollTo({ top })
    else if (bottom > current.scrollTop + current.clientHeight)
      current.scrollTo({ top: bottom - current.clientHeight })
  })
  useEffect(() => {
    if (isDrawn) bring(selected)
  }, [selected, isDrawn])
}

interface PointerOptions {
  readonly box: RefObject<HTMLElement | null>
  readonly scroller: RefObject<HTMLElement | null>
  readonly data: TimelineData
  readonly view: TimelineView
  readonly width: number
  readonly gutter: number
  readonly onView: (change: ViewChange) => void
  /** The row whose mark is at a point below the lanes; -1 for none; undefined within the lanes. */
  readonly markUnder: (at: { readonly x: number; readonly y: number }) => number | undefined
  readonly onSelect: (index: number) => void
  /** `begins` is true for the first call of a drag. */
  readonly onScrub: (index: number, begins: boolean) => void
  readonly onScrubbed: () => void
  readonly onRange: (from: number, to: number) => void
}

interface Drag {
  readonly kind: 'scrub' | 'mark' | 'pan'
  readonly x: number
  readonly view: TimelineView
  moved: boolean
}

/** Hover, click, scrub on the axis, select a range, pan with Shift or touch, zoom with Ctrl and wheel. */
function useTimelinePointer(options: PointerOptions) {
  const { box, scroller, data, view, width, gutter } = options
  const [hover, setHover] = useState<{ index: number; x: number; y: number }>()
  const [marked, setMarked] = useState<readonly [from: number, to: number]>()
  const drag = useRef<Drag | undefined>(undefined)
  const turned = useEffectEvent((event: WheelEvent, current: HTMLElement): void => {
    const isZoom = event.ctrlKey || event.metaKey
    const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX
    if (!isZoom && Math.abs(sideways) <= Math.abs(event.deltaY) && !event.shiftKey) return
    event.preventDefault()
    const x = event.clientX - current.getBoundingClientRect().left
    const { length } = data.scale
    const factor = Math.exp(-event.deltaY / 300)
    options.onView((seen) =>
      isZoom
        ? zoomAt(seen, factor, { at: drawnAt({ ...options, view: seen }, x), length })
        : panBy(seen, sideways / width, length),
    )
  })
  useEffect(() => {
    const { current } = box
    if (current === null) return
    const listen = (event: WheelEvent): void => turned(event, current)
    current.addEventListener('wheel', listen, { passive: false })
    return () => current.removeEventListener('wheel', listen)
  }, [box])

  const position = (event: React.PointerEvent) => {
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
      onPointerDown: (event: React.PointerEvent) => {
        const { x, y } = position(event)
        if (x < gutter || event.button > 1) return
        const isPan = event.shiftKey || event.button === 1 || event.pointerType === 'touch'
        const kind = y < AXIS_HEIGHT ? 'scrub' : isPan ? 'pan' : 'mark'
        drag.current = { kind, x, view, moved: false }
        event.currentTarget.setPointerCapture(event.pointerId)
        if (kind === 'scrub') options.onScrub(rowAtTime(data, drawnAt(options, x)), true)
      },
      onPointerMove: (event: React.PointerEvent) => {
        const { x, y } = position(event)
        const { current } = drag
        if (current === undefined) {
          const under = rowUnder({ x, y })
          setHover(under < 0 ? undefined : { index: under, x, y })
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
      onPointerUp: (event: React.PointerEvent) => {
        const { current } = drag
        drag.current = undefined
        setMarked(undefined)
        if (current?.kind === 'scrub') options.onScrubbed()
        if (current === undefined || current.kind === 'scrub') return
        const { x, y } = position(event)
        if (!current.moved) {
          const under = rowUnder({ x, y })
          if (under >= 0) options.onSelect(under)
        } else if (current.kind === 'mark') options.onRange(...rangeOf(current.x, x))
      },
      // The browser uses the drag to scroll, so nothing is selected.
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

interface Size {
  readonly width: number
  readonly height: number
}

export function useSize(element: RefObject<HTMLElement | null>): Size {
  const [size, setSize] = useState<Size>({ width: 0, height: 0 })
  useLayoutEffect(() => {
    const { current } = element
    if (current === null) return
    const observer = new ResizeObserver(() =>
      setSize({ width: current.clientWidth, height: current.clientHeight }),
    )
    observer.observe(current)
    return () => observer.disconnect()
  }, [element])
  return size
}

/** Draws at most once per frame, in device pixels. */
function useCanvas(
  { width, height }: Size,
  draw: (context: CanvasRenderingContext2D) => void,
): RefObject<HTMLCanvasElement | null> {
  const canvas = useRef<HTMLCanvasElement>(null)
  const [ratio, setRatio] = useState(devicePixelRatio)
  useEffect(() => {
    const query = matchMedia(`(resolution: ${ratio}dppx)`)
    const changed = (): void => setRatio(devicePixelRatio)
    query.addEventListener('change', changed)
    return () => query.removeEventListener('change', changed)
  }, [ratio])
  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      const { current } = canvas
      const context = current?.getContext('2d')
      if (!current || !context || width === 0) return
      const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)]
      if (current.width !== wide) current.width = wide
      if (current.height !== high) current.height = high
      context.setTransform(ratio, 0, 0, ratio, 0, 0)
      draw(context)
    })
    return () => cancelAnimationFrame(frame)
  })
  return canvas
}
