import { drawAxis, drawGaps } from './draw-axis.js'
import { drawHeat, drawHeatLine } from './draw-heat.js'
import { drawBlocks } from './draw-blocks.js'
import { drawLanes } from './draw-lanes.js'
import { drawOverlay } from './draw-overlay.js'
import { AXIS_HEIGHT, belowLanes, xOf, type Scene } from './scene.js'
import type { Span } from './time-scale.js'

/** Draws what is seen, and nothing else. */
export function drawTimeline(context: CanvasRenderingContext2D, scene: Scene): void {
  const { colors, width, height, gutter } = scene
  context.fillStyle = colors.surface
  context.fillRect(0, 0, width, height)
  const bottom = height - belowLanes(scene)
  clipped(context, [0, AXIS_HEIGHT, width, bottom - AXIS_HEIGHT], () => drawLanes(context, scene))
  let marks: readonly Span[] = []
  clipped(context, [gutter, 0, width - gutter, height], () => {
    marks = drawGaps(context, scene)
  })
  clipped(context, [gutter, AXIS_HEIGHT, width - gutter, bottom - AXIS_HEIGHT], () => {
    if (scene.heat !== undefined) drawHeat(context, scene, scene.heat)
    drawBlocks(context, scene)
  })
  if (scene.heat !== undefined) drawHeatLine(context, scene, scene.heat)
  if (scene.figures !== undefined) drawOverlay(context, scene, scene.figures)
  drawAxis(context, scene, marks)
  clipped(context, [gutter, 0, width - gutter, height], () => {
    drawRange(context, scene)
    drawPlayhead(context, scene)
  })
}

function clipped(
  context: CanvasRenderingContext2D,
  [x, y, width, height]: readonly [number, number, number, number],
  draw: () => void,
): void {
  context.save()
  context.beginPath()
  context.rect(x, y, width, height)
  context.clip()
  draw()
  context.restore()
}

/** What lies outside of the time the list is limited to is veiled. */
function drawRange(context: CanvasRenderingContext2D, scene: Scene): void {
  const { range, data, colors, width, height } = scene
  if (range === undefined) return
  const [left, right] = range.map((time) =>
    xOf(scene, data.scale.toDrawn(Math.min(time, data.scale.end))),
  ) as [number, number]
  context.globalAlpha = 0.55
  context.fillStyle = colors.sunken
  context.fillRect(0, 0, left, height)
  context.fillRect(right, 0, width, height)
  context.globalAlpha = 1
  context.fillStyle = colors.accent
  context.fillRect(left, 0, 1, height)
  context.fillRect(right, 0, 1, height)
}

function drawPlayhead(context: CanvasRenderingContext2D, scene: Scene): void {
  if (scene.selected < 0 || scene.selected >= scene.data.count) return
  const x = Math.round(xOf(scene, scene.data.from[scene.selected] ?? 0))
  context.fillStyle = scene.colors.accent
  context.fillRect(x, 0, 1, scene.height)
}
