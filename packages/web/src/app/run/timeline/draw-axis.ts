import { duration } from '@retake/tape/present'
import { AXIS_HEIGHT, xOf, type Scene } from './scene.js'
import type { Span } from './time-scale.js'
import { ticksOf } from './time-ticks.js'

/** Time in which nothing was under way: two bars and how long it was, where that fits. Says where those stand. */
export function drawGaps(context: CanvasRenderingContext2D, scene: Scene): Span[] {
  const { data, view, colors, height } = scene
  context.font = `10px ${colors.sans}`
  context.textBaseline = 'middle'
  context.textAlign = 'center'
  let last = -1
  const marks: Span[] = []
  for (const gap of data.scale.gaps) {
    if (gap.drawnTo < view.from || gap.drawnFrom > view.from + view.span) continue
    const [left, right] = [xOf(scene, gap.drawnFrom), xOf(scene, gap.drawnTo)]
    if (right - last < 3) continue
    last = right
    context.fillStyle = colors.raised
    context.fillRect(left, AXIS_HEIGHT, right - left, height)
    if (right - left < 5) continue
    context.fillStyle = colors.lineStrong
    const middle = (left + right) / 2
    const text = duration(gap.to - gap.from)
    const room = right - left - 10
    const fits = context.measureText(text).width <= room
    const apart = fits ? context.measureText(text).width / 2 + 5 : 1.5
    marks.push([middle - apart - 2, middle + apart + 2])
    context.fillRect(middle - apart - 1, 5, 1, 11)
    context.fillRect(middle + apart, 5, 1, 11)
    context.fillStyle = colors.muted
    if (fits) context.fillText(text, middle, AXIS_HEIGHT / 2 + 1)
  }
  context.textAlign = 'left'
  return marks
}

/** Times, where no gap says its own. */
export function drawAxis(
  context: CanvasRenderingContext2D,
  scene: Scene,
  marks: readonly Span[],
): void {
  const { data, view, colors, width, gutter } = scene
  context.fillStyle = colors.line
  context.fillRect(0, AXIS_HEIGHT - 1, width, 1)
  context.fillRect(gutter - 1, 0, 1, scene.height)
  context.font = `10px ${colors.sans}`
  context.textBaseline = 'middle'
  const ticks = ticksOf(data.scale, {
    from: view.from,
    to: view.from + view.span,
    pixelsPerMs: (width - gutter) / view.span,
    apart: 76,
  })
  for (const { drawn, text } of ticks) {
    const x = Math.round(xOf(scene, drawn))
    if (x < gutter) continue
    context.fillStyle = colors.lineStrong
    context.fillRect(x, AXIS_HEIGHT - 6, 1, 5)
    context.fillStyle = colors.muted
    const end = x + 4 + context.measureText(text).width
    if (end < width && !marks.some(([left, right]) => x < right && end > left))
      context.fillText(text, x + 4, AXIS_HEIGHT / 2)
  }
}
