/** The part of the timeline that is seen, in drawn milliseconds. */
export interface TimelineView {
  readonly from: number
  readonly span: number
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
