import type { FilteredRows } from '../filtered-rows.js'
import type { ListColumns } from '../list-columns.js'
import type { Heat } from './heat.js'
import type { Overlay, OverlayValues } from './overlay.js'
import type { TimelineColors } from './timeline-colors.js'
import type { TimelineData } from './timeline-data.js'
import type { TimelineView } from './timeline-view.js'

/** Everything that decides what a timeline looks like. */
export interface Scene {
  readonly data: TimelineData
  readonly columns: ListColumns
  readonly shown: FilteredRows
  readonly view: TimelineView
  readonly colors: TimelineColors
  readonly width: number
  readonly height: number
  readonly scrollTop: number
  readonly gutter: number
  /** Place of the row that is selected, and of the one under the pointer; -1 for none. */
  readonly selected: number
  readonly hovered: number
  /** Milliseconds since the start that the list is limited to. */
  readonly range: readonly [from: number, to: number] | undefined
  readonly overlay: Overlay
  readonly figures: OverlayValues | undefined
  /** What blame found, where it was asked. */
  readonly heat: Heat | undefined
}

export const AXIS_HEIGHT = 20
export const LANE_HEIGHT = 20
export const OVERLAY_HEIGHT = 48
export const HEAT_HEIGHT = 18

/** Pixels below the lanes. */
export const belowLanes = ({ figures, heat }: Pick<Scene, 'figures' | 'heat'>): number =>
  (figures === undefined ? 0 : OVERLAY_HEIGHT) + (heat === undefined ? 0 : HEAT_HEIGHT)

/** Pixels from the left edge of the canvas. */
export const xOf = (
  { view, width, gutter }: Pick<Scene, 'view' | 'width' | 'gutter'>,
  drawn: number,
): number => gutter + ((drawn - view.from) / view.span) * (width - gutter)

/** The drawn time at so many pixels from the left edge. */
export const drawnAt = (
  { view, width, gutter }: Pick<Scene, 'view' | 'width' | 'gutter'>,
  x: number,
): number => view.from + ((x - gutter) / Math.max(1, width - gutter)) * view.span
