import type { TimeScale } from './time-scale.js'

/** The part of the timeline that is seen, in drawn milliseconds. */
export interface TimelineView {
  readonly from: number
  readonly span: number
}

/** What one sees next, made from what one sees: several changes between two drawings all count. */
export type ViewChange = (view: TimelineView) => TimelineView

/** A part that somebody chose to look at. It stays the same part when more rows change the scale. */
export interface Look {
  readonly view: TimelineView
  /** What the view was chosen on. */
  readonly scale: TimeScale
  /** How much closer than the whole. */
  readonly closeness: number
}

/** The closest one can look, in drawn milliseconds. */
const LEAST_SPAN = 0.5

/** All of it, with a little room at the end so that the last step is not at the edge. */
export const wholeView = (length: number): TimelineView => ({ from: 0, span: length * 1.01 })

/** A view that lies on the timeline. */
export function keepInside(view: TimelineView, length: number): TimelineView {
  const whole = wholeView(length)
  const span = Math.min(whole.span, Math.max(LEAST_SPAN, view.span))
  return { span, from: Math.min(whole.span - span, Math.max(0, view.from)) }
}

/** Looks closer (`factor` over 1) or from further, with one drawn time staying where it is. */
export const zoomAt = (
  view: TimelineView,
  factor: number,
  { at, length }: { readonly at: number; readonly length: number },
): TimelineView => {
  const span = Math.min(wholeView(length).span, Math.max(LEAST_SPAN, view.span / factor))
  return keepInside({ span, from: at - ((at - view.from) * span) / view.span }, length)
}

/** Moves by a part of what is seen. */
export const panBy = (view: TimelineView, part: number, length: number): TimelineView =>
  keepInside({ ...view, from: view.from + part * view.span }, length)

/** Moves only if a drawn time is not seen, and then so that it is. */
export function bringIntoView(view: TimelineView, at: number, length: number): TimelineView {
  const margin = view.span * 0.05
  if (at >= view.from + margin * 0.2 && at <= view.from + view.span - margin * 0.2) return view
  const from = at < view.from ? at - margin : at - view.span + margin * 4
  return keepInside({ ...view, from }, length)
}

/** What is seen on a scale, perhaps a later one than that of the look: the same times, or all. */
export function viewOn(scale: TimeScale, look: Look | undefined): TimelineView {
  if (look === undefined) return wholeView(scale.length)
  if (look.scale === scale) return keepInside(look.view, scale.length)
  const { from, span } = look.view
  const drawn = (before: number): number => scale.toDrawn(look.scale.toTime(before))
  return keepInside({ from: drawn(from), span: drawn(from + span) - drawn(from) }, scale.length)
}

/**
 * Looks elsewhere; undefined is all of it. As far away as one had come closer is all of
 * it again, however much longer the timeline has become in between.
 */
export function lookAgain(
  scale: TimeScale,
  look: Look | undefined,
  change: ViewChange,
): Look | undefined {
  const before = viewOn(scale, look)
  const view = change(before)
  if (view === before) return look
  const closeness = ((look?.closeness ?? 1) * before.span) / view.span
  const isWhole = closeness < 1.001 || view.span > wholeView(scale.length).span * 0.999
  return isWhole ? undefined : { view, scale, closeness }
}
