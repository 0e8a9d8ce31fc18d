import { type ReactNode, useEffect, useMemo, useState } from 'react'
import { RoleLegend } from '../../blame/role-mark.js'
import { useBlame } from '../../blame/use-blame.js'
import { useCommands } from '../../commands/commands.js'
import { Button, IconButton } from '../../design/button.js'
import { Choice } from '../../design/fields.js'
import { ChevronDownIcon, ChevronRightIcon } from '../../design/icons.js'
import { useRemembered } from '../../design/remembered.js'
import { Splitter } from '../../design/splitter.js'
import type { FilteredRows } from '../data/row-filter.js'
import { type Run, useRows } from '../data/use-run.js'
import { type Filtering, useSelection } from '../data/use-selection.js'
import { AXIS_HEIGHT, belowLanes, LANE_HEIGHT } from './draw-timeline.js'
import { TimelineCanvas } from './timeline-canvas.js'
import {
  heatOf,
  type TimelineOverlay,
  OVERLAYS,
  overlayValues,
  sumText,
  timelineData,
  type TimelineData,
} from './timeline-data.js'
import {
  type TimelineLook,
  lookAfterChange,
  type ViewChange,
  viewOn,
  zoomAt,
} from './timeline-view.js'

const PAUSE_MS = 400

/** Recomputed only at intervals while rows arrive. */
function useTimelineData({ rows, head }: Run): TimelineData {
  const version = useRows(rows)
  const [drawn, setDrawn] = useState(version)
  const isWaiting = !rows.isComplete && drawn !== version
  useEffect(() => {
    if (!isWaiting) return
    // With more rows, computing takes longer and new rows matter less.
    const pause = Math.max(PAUSE_MS, rows.length / 40)
    const timer = setTimeout(() => setDrawn(rows.version), pause)
    return () => clearTimeout(timer)
  }, [isWaiting, rows])
  const stamp = rows.isComplete ? version : drawn
  // oxlint-disable-next-line react/exhaustive-deps -- the stamp changes with the rows
  return useMemo(() => timelineData(rows, head), [rows, head, stamp])
}

export interface TimelineProps {
  readonly run: Run
  readonly shown: FilteredRows
  readonly filtering: Filtering
  readonly isNarrow: boolean
  readonly facts: ReactNode
  readonly onMove: (by: number | 'first' | 'last') => void
}

export function TimelinePanel(props: TimelineProps) {
  const { run, isNarrow } = props
  const [isFolded, setFolded] = useRemembered('timeline-folded', false)
  const [overlay, setOverlay] = useRemembered<TimelineOverlay>('timeline-overlay', 'none')
  const [stored, setHeight] = useRemembered('timeline-height', 0)
  const [wanted, setWanted] = useState<TimelineLook>()
  const data = useTimelineData(run)
  const view = viewOn(data.scale, wanted)
  const { step } = useSelection()
  const selected = step === undefined ? -1 : run.rows.indexOf(step)
  // oxlint-disable-next-line react/exhaustive-deps -- data changes with the rows
  const figures = useMemo(() => overlayValues(run.rows.columns, overlay), [run.rows, overlay, data])
  const { view: blame } = useBlame(run)
  // oxlint-disable-next-line react/exhaustive-deps -- data changes with the rows
  const heat = useMemo(() => blame && heatOf(blame, run.rows), [blame, run.rows, data])

  const look = (change: ViewChange): void =>
    setWanted((before) => lookAfterChange(data.scale, before, change))
  const zoom = (factor: number): void =>
    look((now) => {
      const middle = now.from + now.span / 2
      const at = data.from[selected] ?? middle
      const isSeen = at >= now.from && at <= now.from + now.span
      return zoomAt(now, factor, { at: isSeen ? at : middle, length: data.scale.length })
    })
  const showAll = (): void => setWanted(undefined)
  const fold = (): void => setFolded(!isFolded)
  const foldTitle = isFolded ? 'Unfold the timeline' : 'Fold the timeline'
  useCommands((add) => {
    add('View', 'timeline.fold', foldTitle, ['t'], fold)
    add('View', 'timeline.zoom-in', 'Zoom in', ['+', '='], () => zoom(2))
    add('View', 'timeline.zoom-out', 'Zoom out', ['-'], () => zoom(0.5))
    add('View', 'timeline.fit', 'Show the whole timeline', ['0'], showAll)
    for (const each of OVERLAYS) {
      const title = each === 'none' ? 'Hide the overlay' : `Show ${each} under the timeline`
      add('View', `timeline.overlay-${each}`, title, [], () => setOverlay(each))
    }
  })

  const lanes = Math.min(Math.max(data.lines.length, 1), isNarrow ? 3 : 8)
  const fitting = AXIS_HEIGHT + lanes * LANE_HEIGHT + 6 + belowLanes({ figures, heat })
  const height = stored > 0 && !isNarrow ? stored : fitting
  const hasSum =
    overlay !== 'none' && figures !== undefined && selected >= 0 && selected < data.count
  const zoomButton = (label: string, text: string, isOff: boolean, onClick: () => void) => (
    <Button
      look="quiet"
      className="h-5 px-1.5 text-sm"
      aria-label={label}
      title={label}
      disabled={isOff}
      onClick={onClick}
    >
      {text}
    </Button>
  )
  const bar = (
    <div className="flex min-h-8 shrink-0 items-center gap-2 border-b border-line px-2 py-1 text-sm">
      <IconButton
        label={foldTitle}
        keys="t"
        className="size-6"
        aria-expanded={!isFolded}
        icon={isFolded ? <ChevronRightIcon /> : <ChevronDownIcon />}
        onClick={fold}
      />
      {props.facts}
      {!isFolded && (
        <>
          {heat && <RoleLegend steps={heat.seen} className="max-xl:hidden" />}
          {hasSum && (
            <span className="truncate text-right text-muted max-lg:hidden">
              {`up to step ${step}: ${sumText(overlay, figures, selected)}`}
            </span>
          )}
          <span className="flex shrink-0 items-center gap-1.5 text-muted max-lg:hidden">
            <span aria-hidden="true">Overlay</span>
            <Choice
              label="Overlay of the timeline"
              value={overlay}
              onChange={setOverlay}
              choices={OVERLAYS.map((value) => ({
                value,
                title: value === 'none' ? 'off' : value,
              }))}
            />
          </span>
          <span className="flex shrink-0 items-center max-sm:hidden">
            {zoomButton('Zoom out', '−', wanted === undefined, () => zoom(0.5))}
            {zoomButton('Zoom in', '+', false, () => zoom(2))}
            {zoomButton('Show all of it', 'all', wanted === undefined, showAll)}
          </span>
        </>
      )}
    </div>
  )
  return (
    <>
      {bar}
      <section
        aria-label="Timeline"
        className="flex max-h-[60%] shrink-0 flex-col"
        style={isFolded ? undefined : { height }}
      >
        {!isFolded && (
          <TimelineCanvas
            {...props}
            {...{ data, view, overlay, figures, heat, selected }}
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
          min={AXIS_HEIGHT + LANE_HEIGHT}
          max={800}
          onSize={setHeight}
        />
      )}
    </>
  )
}
