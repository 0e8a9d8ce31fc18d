import { STATES } from '../../../model/step-rows.js'
import { duration } from '../../design/figures.js'
import { drawOverlay } from './draw-overlay.js'
import { AXIS_HEIGHT, LANE_HEIGHT, OVERLAY_HEIGHT, xOf, type Scene } from './scene.js'
import type { TimelineColors } from './timeline-colors.js'
import { firstReaching, type LineRows } from './timeline-data.js'
import type { Span } from './time-scale.js'
import { ticksOf } from './time-ticks.js'

const BLOCK_HEIGHT = 14

/** Blocks as wide as this say what they are. */
const NAMED_WIDTH = 44

const [FAILED, ABORTED, IN_DOUBT, RUNNING] = (
  ['failed', 'aborted', 'in doubt', 'running'] as const
).map((state) => STATES.indexOf(state))

/** Draws what is seen, and nothing else. What is smaller than a pixel is drawn once a pixel. */
export function drawTimeline(context: CanvasRenderingContext2D, scene: Scene): void {
  const { colors, width, height, gutter } = scene
  context.fillStyle = colors.surface
  context.fillRect(0, 0, width, height)
  const bottom = height - (scene.figures === undefined ? 0 : OVERLAY_HEIGHT)
  clipped(context, [0, AXIS_HEIGHT, width, bottom - AXIS_HEIGHT], () => drawLines(context, scene))
  let marks: readonly Span[] = []
  clipped(context, [gutter, 0, width - gutter, height], () => {
    marks = drawGaps(context, scene)
  })
  clipped(context, [gutter, AXIS_HEIGHT, width - gutter, bottom - AXIS_HEIGHT], () =>
    drawBlocks(context, scene),
  )
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

/** Lines that are seen, from the first on. */
function visibleLines({ data, scrollTop, height }: Scene): readonly [first: number, last: number] {
  const first = Math.max(0, Math.floor(scrollTop / LANE_HEIGHT))
  const last = Math.ceil((scrollTop + height - AXIS_HEIGHT) / LANE_HEIGHT)
  return [first, Math.min(data.lines.length, last)]
}

const topOf = (scene: Scene, line: number): number =>
  AXIS_HEIGHT + line * LANE_HEIGHT - scene.scrollTop

function drawLines(context: CanvasRenderingContext2D, scene: Scene): void {
  const { data, colors, width, gutter } = scene
  const [first, last] = visibleLines(scene)
  context.font = `11px ${colors.sans}`
  context.textBaseline = 'middle'
  for (let index = first; index < last; index++) {
    const line = data.lines[index]
    const top = topOf(scene, index)
    context.fillStyle = colors.line
    context.fillRect(0, top + LANE_HEIGHT - 1, width, 1)
    if (line === undefined) continue
    const indent = 8 + Math.min(line.depth, 6) * 10
    context.fillStyle = colors.lineStrong
    for (let depth = 1; depth <= Math.min(line.depth, 6); depth++)
      context.fillRect(depth * 10 + 2, top, 1, LANE_HEIGHT)
    context.fillStyle = line.lane === 0 ? colors.text : colors.muted
    const text = fitText(context, line.name, gutter - indent - 6)
    context.fillText(text, indent, top + LANE_HEIGHT / 2)
  }
}

function fitText(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text
  let length = Math.min(text.length, Math.ceil(width / 4))
  while (length > 1 && context.measureText(`${text.slice(0, length)}…`).width > width) length--
  return `${text.slice(0, length)}…`
}

/** What must not vanish when many steps share a pixel. */
const rankOf = (state: number): number =>
  state === FAILED ? 3 : state === IN_DOUBT || state === ABORTED ? 2 : state === RUNNING ? 1 : 0

function drawBlocks(context: CanvasRenderingContext2D, scene: Scene): void {
  const [first, last] = visibleLines(scene)
  const hatch = hatchOf(context, scene.colors)
  for (let index = first; index < last; index++) {
    const rows = scene.data.rows[index]
    if (rows !== undefined) drawLine(context, scene, { rows, top: topOf(scene, index) + 3, hatch })
  }
  for (const place of new Set([scene.hovered, scene.selected])) outline(context, scene, place)
}

interface LineToDraw {
  readonly rows: LineRows
  readonly top: number
  readonly hatch: CanvasPattern | null
}

function drawLine(
  context: CanvasRenderingContext2D,
  scene: Scene,
  { rows, top, hatch }: LineToDraw,
): void {
  const { data, columns, shown, view, width } = scene
  const isFiltered = shown.hidden > 0
  const end = view.from + view.span
  const scale = (width - scene.gutter) / view.span
  let [lastPixel, lastRank] = [-1, -1]
  for (let index = firstReaching(rows, view.from); index < rows.places.length; index++) {
    const place = rows.places[index] ?? 0
    const from = data.from[place] ?? 0
    if (from > end) break
    const x = scene.gutter + (from - view.from) * scale
    const length = ((data.to[place] ?? 0) - from) * scale
    const state = columns.state[place] ?? 0
    const isOut = isFiltered && !shown.has(place)
    if (length < 2) {
      const pixel = Math.round(x / 2)
      const rank = isOut ? -0.5 : rankOf(state)
      if (pixel === lastPixel && rank <= lastRank) continue
      ;[lastPixel, lastRank] = [pixel, rank]
    }
    context.globalAlpha = isOut ? 0.2 : 1
    const left = Math.max(x, scene.gutter - 4)
    // One that was never answered has no end: it is as wide as its form needs to be seen.
    const least = state === IN_DOUBT || state === ABORTED || state === RUNNING ? 9 : 2
    const right = Math.min(x + Math.max(least, length - 1), width + 4)
    drawBlock(context, scene, { place, state, left, top, width: right - left, hatch })
  }
  context.globalAlpha = 1
}

interface Block {
  readonly place: number
  readonly state: number
  readonly left: number
  readonly top: number
  readonly width: number
  readonly hatch: CanvasPattern | null
}

/** The kind is a colour; how it stands is a form as well: hatched, or only an outline. */
function drawBlock(context: CanvasRenderingContext2D, scene: Scene, block: Block): void {
  const { columns, colors } = scene
  const { place, state, left, top, width } = block
  const kind = colors.kinds[columns.kind[place] ?? 0] ?? colors.muted
  const isOpen = state === RUNNING || state === IN_DOUBT
  const color =
    state === FAILED ? colors.danger : isOpen || state === ABORTED ? colors.warning : kind
  if (columns.inferred[place] || isOpen || state === ABORTED) {
    const stroke = state === RUNNING ? colors.accent : color
    if (width < 5) {
      context.fillStyle = stroke
      context.fillRect(left, top, width, BLOCK_HEIGHT)
      return
    }
    context.setLineDash(isOpen || state === ABORTED ? [3, 2] : [])
    context.strokeStyle = stroke
    context.lineWidth = 1
    context.strokeRect(left + 0.5, top + 0.5, width - 1, BLOCK_HEIGHT - 1)
    context.setLineDash([])
    if (width >= NAMED_WIDTH) nameBlock(context, scene, block, colors.text)
    return
  }
  context.fillStyle = color
  context.fillRect(left, top, width, BLOCK_HEIGHT)
  if (width >= NAMED_WIDTH && state !== FAILED) nameBlock(context, scene, block, colors.surface)
  if (state === FAILED && block.hatch !== null && width > 3) {
    context.fillStyle = block.hatch
    context.fillRect(left, top, width, BLOCK_HEIGHT)
  }
}

function nameBlock(
  context: CanvasRenderingContext2D,
  scene: Scene,
  { place, left, top, width }: Block,
  color: string,
): void {
  context.fillStyle = color
  context.font = `10px ${scene.colors.sans}`
  context.textBaseline = 'middle'
  const start = Math.max(left, scene.gutter) + 4
  const text = fitText(context, scene.shown.rows.at(place).title, left + width - start - 4)
  context.fillText(text, start, top + BLOCK_HEIGHT / 2 + 0.5)
}

function outline(context: CanvasRenderingContext2D, scene: Scene, place: number): void {
  const { data, columns, colors } = scene
  const line =
    place < 0 || place >= data.count ? undefined : data.lineOf.get(columns.lane[place] ?? 0)
  if (line === undefined) return
  const x = xOf(scene, data.from[place] ?? 0)
  const length = Math.max(3, xOf(scene, data.to[place] ?? 0) - x)
  context.strokeStyle = place === scene.selected ? colors.accent : colors.text
  context.lineWidth = place === scene.selected ? 2 : 1
  context.strokeRect(x - 1.5, topOf(scene, line) + 1.5, length + 2, BLOCK_HEIGHT + 3)
}

let hatchFor: readonly [color: string, pattern: CanvasPattern | null] | undefined

function hatchOf(context: CanvasRenderingContext2D, colors: TimelineColors): CanvasPattern | null {
  if (hatchFor?.[0] === colors.surface) return hatchFor[1]
  const tile = document.createElement('canvas')
  tile.width = tile.height = 6
  const drawing = tile.getContext('2d')
  if (drawing !== null) {
    drawing.strokeStyle = colors.surface
    drawing.lineWidth = 1.5
    drawing.beginPath()
    for (const start of [-6, 0, 6]) {
      drawing.moveTo(start, 6)
      drawing.lineTo(start + 6, 0)
    }
    drawing.stroke()
  }
  hatchFor = [colors.surface, context.createPattern(tile, 'repeat')]
  return hatchFor[1]
}

/** Time in which nothing was under way: two bars and how long it was, where that fits. Says where those stand. */
function drawGaps(context: CanvasRenderingContext2D, scene: Scene): Span[] {
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

function drawAxis(context: CanvasRenderingContext2D, scene: Scene, marks: readonly Span[]): void {
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
