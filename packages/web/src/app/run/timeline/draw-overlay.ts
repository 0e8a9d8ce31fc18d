import { isMissing, overlayText, type OverlayValues } from './overlay.js'
import { OVERLAY_HEIGHT, xOf, type Scene } from './scene.js'

/**
 * One figure of every step as a bar where the step begins, and what it adds up to as
 * a line. A call whose figure is not known is a ring on the ground line, not a bar of 0.
 */
export function drawOverlay(
  context: CanvasRenderingContext2D,
  scene: Scene,
  { values, sums, max }: OverlayValues,
): void {
  const { data, colors, width, height, gutter, overlay } = scene
  if (overlay === 'none') return
  const top = height - OVERLAY_HEIGHT
  context.fillStyle = colors.surface
  context.fillRect(0, top, width, OVERLAY_HEIGHT)
  context.fillStyle = colors.line
  context.fillRect(0, top, width, 1)
  context.font = `11px ${colors.sans}`
  context.textBaseline = 'middle'
  context.fillStyle = colors.text
  context.fillText(overlay, 8, top + 14)
  context.fillStyle = colors.muted
  context.font = `10px ${colors.sans}`
  context.fillText(max === 0 ? 'none known' : `up to ${overlayText(overlay, max)}`, 8, top + 30)

  context.save()
  context.beginPath()
  context.rect(gutter, top, width - gutter, OVERLAY_HEIGHT)
  context.clip()
  const room = OVERLAY_HEIGHT - 10
  const ground = height - 3
  const highest = new Map<number, number>()
  const rings = new Set<number>()
  const all = sums.at(-1) ?? 0
  context.strokeStyle = colors.muted
  context.lineWidth = 1
  context.beginPath()
  context.moveTo(gutter, ground)
  let lastPixel = -1
  let level = ground
  for (let place = 0; place < data.count && place < values.length; place++) {
    const x = Math.round(xOf(scene, data.from[place] ?? 0))
    if (x < gutter - 4 || x > width + 4) {
      if (x > width) continue
    } else {
      const value = values[place] ?? Number.NaN
      if (!Number.isNaN(value)) {
        const bar = max === 0 ? 0 : (value / max) * room
        if (bar > (highest.get(x) ?? 0)) highest.set(x, bar)
      } else if (isMissing(scene.columns, overlay, place)) rings.add(x)
    }
    if (x === lastPixel && place < data.count - 1) continue
    lastPixel = x
    // A sum grows at a step, not on the way to it.
    context.lineTo(x, level)
    level = ground - (all === 0 ? 0 : ((sums[place] ?? 0) / all) * room)
    context.lineTo(x, level)
  }
  context.lineTo(width, level)
  context.fillStyle = colors.accent
  for (const [x, bar] of highest)
    context.fillRect(x, ground - Math.max(2, bar), 3, Math.max(2, bar))
  if (all > 0) context.stroke()
  context.strokeStyle = colors.warning
  for (const x of rings) {
    context.beginPath()
    context.arc(x + 2, ground - 3, 2.5, 0, 2 * Math.PI)
    context.stroke()
  }
  context.restore()
}
