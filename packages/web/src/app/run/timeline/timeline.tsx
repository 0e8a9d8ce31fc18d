import { useMemo, useState } from 'react'
import { useRemembered } from '../../design/remembered.js'
import { Splitter } from '../../design/splitter.js'
import { RoleLegend } from '../../blame/role-mark.js'
import { useBlame } from '../../blame/use-blame.js'
import { useCommands } from '../../commands/use-commands.js'
import type { FilteredRows } from '../filtered-rows.js'
import type { Filtering } from '../use-filter.js'
import type { Run } from '../use-run.js'
import { useSelection } from '../use-selection.js'
import { heatOf } from './heat.js'
import { overlayValues, sumText, type Overlay } from './overlay.js'
import { AXIS_HEIGHT, HEAT_HEIGHT, LANE_HEIGHT, OVERLAY_HEIGHT } from './scene.js'
import { TimelineBar } from './timeline-bar.js'
import { TimelineCanvas } from './timeline-canvas.js'
import { lookAgain, viewOn, zoomAt, type Look, type ViewChange } from './timeline-view.js'
import { useTimelineData } from './use-timeline-data.js'

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
const wantedHeight = (
  lanes: number,
  { overlay, hasHeat, isNarrow }: { overlay: Overlay; hasHeat: boolean; isNarrow: boolean },
): number =>
  BAR_HEIGHT +
  AXIS_HEIGHT +
  Math.min(Math.max(lanes, 1), isNarrow ? 3 : 8) * LANE_HEIGHT +
  6 +
  (overlay === 'none' ? 0 : OVERLAY_HEIGHT) +
  (hasHeat ? HEAT_HEIGHT : 0)

/** When which step was under way, a line for each lane. */
export function Timeline(props: TimelineProps) {
  const { run, isNarrow } = props
  const [isFolded, setFolded] = useRemembered('timeline-folded', false)
  const [overlay, setOverlay] = useRemembered<Overlay>('timeline-overlay', 'none')
  const [stored, setHeight] = useRemembered('timeline-height', 0)
  const [wanted, setWanted] = useState<Look>()
  const data = useTimelineData(run)
  const view = viewOn(data.scale, wanted)
  const { step } = useSelection()
  const selected = step === undefined ? -1 : run.rows.placeOf(step)
  // oxlint-disable-next-line react/exhaustive-deps -- data changes with the rows
  const figures = useMemo(() => overlayValues(run.rows.columns, overlay), [run.rows, overlay, data])
  const { view: blame } = useBlame(run)
  // oxlint-disable-next-line react/exhaustive-deps -- data changes with the rows
  const heat = useMemo(() => blame && heatOf(blame, run.rows), [blame, run.rows, data])

  const look = (change: ViewChange): void =>
    setWanted((before) => lookAgain(data.scale, before, change))
  const zoom = (factor: number): void =>
    look((now) => {
      const middle = now.from + now.span / 2
      const at = data.from[selected] ?? middle
      const isSeen = at >= now.from && at <= now.from + now.span
      return zoomAt(now, factor, { at: isSeen ? at : middle, length: data.scale.length })
    })
  const showAll = (): void => setWanted(undefined)
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
      run: showAll,
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
    stored > 0 && !isNarrow
      ? stored
      : wantedHeight(data.lines.length, { overlay, hasHeat: heat !== undefined, isNarrow })
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
          onFit={showAll}
          isWhole={wanted === undefined}
          legend={heat && <RoleLegend roles={heat.seen} className="max-lg:hidden" />}
          sums={hasSum ? `up to step ${step}: ${sumText(overlay, figures, selected)}` : undefined}
        />
        {!isFolded && (
          <TimelineCanvas
            {...props}
            data={data}
            view={view}
            overlay={overlay}
            figures={figures}
            heat={heat}
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
