import { STATES } from '@retake/tape/present'
import { fitText, topOf, visibleLines } from './draw-lanes.js'
import { xOf, type Scene } from './scene.js'
import type { TimelineColors } from './timeline-colors.js'
import { firstReaching, type LineRows } from './timeline-data.js'

const BLOCK_HEIGHT = 14

/** Blocks as wide as this say what they are. */
const NAMED_WIDTH = 44

const [FAILED, ABORTED, IN_DOUBT, RUNNING] = (
  ['failed', 'aborted', 'in doubt', 'running'] as const
).map((state) => STATES.indexOf(state))

/** What must not vanish when many steps share a pixel. */
const rankOf = (state: number): number =>
  state === FAILED ? 3 : state === IN_DOUBT || state === ABORTED ? 2 : state === RUNNING ? 1 : 0

/** A block for each step. What is smaller than a pixel is drawn once a pixel. */
export function drawBlocks(context: CanvasRenderingContext2D, scene: Scene): void {
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
