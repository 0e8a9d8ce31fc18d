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
  // The worst last, so that it stands above the others.
  for (const [role, name] of [...SEEN_ROLES.entries()].toReversed()) {
    const frame = FRAMES[name]
    if (frame === undefined || !heat.seen.includes(name)) continue
    context.strokeStyle = scene.colors.roles[role] ?? scene.colors.muted
    context.lineWidth = 2
    context.setLineDash([...frame.dash])
    for (const isOut of scene.shown.hidden > 0 ? [true, false] : [false]) {
      context.globalAlpha = isOut ? 0.2 : 1
      context.beginPath()
      addFrames(context, scene, heat, { role, isOut, isFull: frame.isFull })
      context.stroke()
    }
  }
  context.globalAlpha = 1
  context.setLineDash([])
}

interface Wanted {
  readonly role: number
  /** Those that a filter leaves out, or those that it does not. */
  readonly isOut: boolean
  readonly isFull: boolean
}

/** The frames of one role, which are drawn at once: there may be many thousands. */
function addFrames(
  context: CanvasRenderingContext2D,
  scene: Scene,
  { places, roles }: Heat,
  { role, isOut, isFull }: Wanted,
): void {
  const { data, columns, shown, gutter, width } = scene
  const [first, last] = visibleLines(scene)
  const isFiltered = shown.hidden > 0
  let [lastX, lastLine] = [-1, -1]
  for (let index = roles.indexOf(role); index < places.length && roles[index] === role; index++) {
    const place = places[index] ?? 0
    const line = place < data.count ? data.lineOf.get(columns.lane[place] ?? 0) : undefined
    if (line === undefined || line < first || line >= last) continue
    if (isFiltered && shown.has(place) === isOut) continue
    const x = Math.round(xOf(scene, data.from[place] ?? 0))
    const end = Math.max(x + 2, xOf(scene, data.to[place] ?? 0))
    // Of many that share a pixel one is enough.
    if (end < gutter || x > width || (end - x < 3 && x === lastX && line === lastLine)) continue
    ;[lastX, lastLine] = [x, line]
    addFrame(context, { x, end, top: topOf(scene, line), isFull })
  }
}

interface Frame {
  readonly x: number
  readonly end: number
  readonly top: number
  readonly isFull: boolean
}

/** Above and below the block, in the room that a lane leaves there. */
function addFrame(context: CanvasRenderingContext2D, { x, end, top, isFull }: Frame): void {
  if (isFull) {
    context.rect(x - 2, top + 1, end - x + 3, LANE_HEIGHT - 3)
    return
  }
  for (const y of [top + 1, top + LANE_HEIGHT - 2]) {
    context.moveTo(x - 2, y)
    context.lineTo(end + 1, y)
  }
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
