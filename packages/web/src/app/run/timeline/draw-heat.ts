import { ROLE_LOOKS, SEEN_ROLES } from '../../blame/role-shapes.js'
import { topOf, visibleLines } from './draw-lanes.js'
import type { Heat } from './heat.js'
import { HEAT_HEIGHT, LANE_HEIGHT, OVERLAY_HEIGHT, xOf, type Scene } from './scene.js'

/** How a role frames its block: causes as a full frame, the others as lines of a pattern of their own. */
const FRAMES = {
  root: { dash: [], isFull: true },
  joint: { dash: [6, 2], isFull: true },
  'back-up': { dash: [3, 3], isFull: false },
  echo: { dash: [1, 2], isFull: false },
  affected: undefined,
} as const

/** Marks stand at least this far apart: where several would meet, the worst is seen. */
const APART = 9

/** Frames the blocks of steps that had something to do with the failure. Drawn before the blocks. */
export function drawHeat(context: CanvasRenderingContext2D, scene: Scene, heat: Heat): void {
  const { data, columns, shown } = scene
  const [first, last] = visibleLines(scene)
  const isFiltered = shown.hidden > 0
  let [lastX, lastLine, lastRole] = [-1, -1, -1]
  // The worst last, so that it stands above the others.
  for (let index = heat.places.length - 1; index >= 0; index--) {
    const [place, role] = [heat.places[index] ?? 0, heat.roles[index] ?? 0]
    const frame = FRAMES[SEEN_ROLES[role] ?? 'affected']
    const line = place < data.count ? data.lineOf.get(columns.lane[place] ?? 0) : undefined
    if (frame === undefined || line === undefined || line < first || line >= last) continue
    const x = Math.round(xOf(scene, data.from[place] ?? 0))
    const end = Math.max(x + 2, xOf(scene, data.to[place] ?? 0))
    if (end < scene.gutter || x > scene.width) continue
    // Of many that share a pixel one is enough.
    if (end - x < 3 && x === lastX && line === lastLine && role === lastRole) continue
    ;[lastX, lastLine, lastRole] = [x, line, role]
    const color = scene.colors.roles[role] ?? scene.colors.muted
    context.globalAlpha = isFiltered && !shown.has(place) ? 0.2 : 1
    drawFrame(context, { x, end, top: topOf(scene, line), color, ...frame })
  }
  context.globalAlpha = 1
}

interface Frame {
  readonly x: number
  readonly end: number
  readonly top: number
  readonly color: string
  readonly dash: readonly number[]
  readonly isFull: boolean
}

/** Above and below the block, in the room that a lane leaves there. */
function drawFrame(context: CanvasRenderingContext2D, frame: Frame): void {
  const { x, end, top, color, dash, isFull } = frame
  context.strokeStyle = color
  context.lineWidth = 2
  context.setLineDash([...dash])
  context.beginPath()
  if (isFull) context.rect(x - 2, top + 1, end - x + 3, LANE_HEIGHT - 3)
  else {
    context.moveTo(x - 2, top + 1)
    context.lineTo(end + 1, top + 1)
    context.moveTo(x - 2, top + LANE_HEIGHT - 2)
    context.lineTo(end + 1, top + LANE_HEIGHT - 2)
  }
  context.stroke()
  context.setLineDash([])
}

/** A line below the lanes with a mark for each role, so that causes are seen whatever lane is. */
export function drawHeatLine(context: CanvasRenderingContext2D, scene: Scene, heat: Heat): void {
  const { data, colors, width, height, gutter, shown } = scene
  const top = height - HEAT_HEIGHT - (scene.figures === undefined ? 0 : OVERLAY_HEIGHT)
  context.fillStyle = colors.surface
  context.fillRect(0, top, width, HEAT_HEIGHT)
  context.fillStyle = colors.line
  context.fillRect(0, top, width, 1)
  context.font = `11px ${colors.sans}`
  context.textBaseline = 'middle'
  context.fillStyle = colors.text
  context.fillText('blame', 8, top + HEAT_HEIGHT / 2 + 1)
  context.save()
  context.beginPath()
  context.rect(gutter, top, width - gutter, HEAT_HEIGHT)
  context.clip()
  const isFiltered = shown.hidden > 0
  const taken = new Uint8Array(Math.ceil(width) + 2 * APART)
  for (let index = 0; index < heat.places.length; index++) {
    const place = heat.places[index] ?? 0
    if (place >= data.count) continue
    const x = Math.round(xOf(scene, data.from[place] ?? 0))
    if (x < gutter - 6 || x > width + 6) continue
    const at = x + APART
    if (taken[at]) continue
    taken.fill(1, at - APART + 1, at + APART)
    context.globalAlpha = isFiltered && !shown.has(place) ? 0.2 : 1
    drawMark(context, scene, { x, top: top + 4, role: heat.roles[index] ?? 0 })
  }
  context.globalAlpha = 1
  context.restore()
}

function drawMark(
  context: CanvasRenderingContext2D,
  { colors }: Scene,
  { x, top, role }: { readonly x: number; readonly top: number; readonly role: number },
): void {
  const { path, isFilled } = ROLE_LOOKS[SEEN_ROLES[role] ?? 'affected']
  const color = colors.roles[role] ?? colors.muted
  context.save()
  context.translate(x - 5, top)
  const shape = pathOf(path)
  context.strokeStyle = color
  context.lineWidth = 1.4
  context.fillStyle = color
  if (isFilled) context.fill(shape)
  context.stroke(shape)
  context.restore()
}

const paths = new Map<string, Path2D>()

function pathOf(path: string): Path2D {
  const known = paths.get(path) ?? new Path2D(path)
  paths.set(path, known)
  return known
}
