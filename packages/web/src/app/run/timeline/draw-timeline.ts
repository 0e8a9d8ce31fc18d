import { duration, KINDS, STATES } from '@retake/tape/present'
import { useEffect, useState } from 'react'
import { ROLE_LOOKS, SEEN_ROLES } from '../../blame/blame-view.js'
import type { FilteredRows } from '../data/row-filter.js'
import type { ListColumns } from '../data/row-store.js'
import {
  firstReaching,
  type Heat,
  isMissing,
  type LineRows,
  type TimelineOverlay,
  overlayText,
  type OverlayValues,
  type TimelineData,
} from './timeline-data.js'
import { type TimeSpan, ticksOf, type TimelineView } from './timeline-view.js'

export interface Scene {
  readonly context: CanvasRenderingContext2D
  readonly data: TimelineData
  readonly columns: ListColumns
  readonly shown: FilteredRows
  readonly view: TimelineView
  readonly colors: TimelineColors
  readonly width: number
  readonly height: number
  readonly scrollTop: number
  readonly gutter: number
  /** Indexes of the selected and the hovered row; -1 for none. */
  readonly selected: number
  readonly hovered: number
  /** Time range of the filter, in milliseconds since the start. */
  readonly range: readonly [from: number, to: number] | undefined
  readonly overlay: TimelineOverlay
  readonly figures: OverlayValues | undefined
  readonly heat: Heat | undefined
}

export const AXIS_HEIGHT = 20
export const LANE_HEIGHT = 20
export const OVERLAY_HEIGHT = 48
export const HEAT_HEIGHT = 18

export const belowLanes = ({ figures, heat }: Pick<Scene, 'figures' | 'heat'>): number =>
  (figures === undefined ? 0 : OVERLAY_HEIGHT) + (heat === undefined ? 0 : HEAT_HEIGHT)

export const xOf = (
  { view, width, gutter }: Pick<Scene, 'view' | 'width' | 'gutter'>,
  drawn: number,
): number => gutter + ((drawn - view.from) / view.span) * (width - gutter)

export const drawnAt = (
  { view, width, gutter }: Pick<Scene, 'view' | 'width' | 'gutter'>,
  x: number,
): number => view.from + ((x - gutter) / Math.max(1, width - gutter)) * view.span

type TimelineColors = ReturnType<typeof readColors>

/** Reads computed colours from an element, because a canvas does not understand `light-dark()`. */
function readColors() {
  const probe = document.body.appendChild(document.createElement('i'))
  const read = (name: string): string => {
    probe.style.color = `var(--${name})`
    return getComputedStyle(probe).color
  }
  const colors = {
    kinds: KINDS.map((kind) => read(kind === 'crash' ? 'danger' : `kind-${kind}`)),
    roles: SEEN_ROLES.map((role) => read(ROLE_LOOKS[role].color)),
    surface: read('surface'),
    raised: read('raised'),
    sunken: read('sunken'),
    line: read('line'),
    lineStrong: read('line-strong'),
    text: read('text'),
    muted: read('muted'),
    accent: read('accent'),
    danger: read('danger'),
    warning: read('warning'),
    sans: getComputedStyle(document.body).fontFamily,
  }
  probe.remove()
  return colors
}

export function useTimelineColors(): TimelineColors {
  const [colors, setColors] = useState(readColors)
  useEffect(() => {
    const update = (): void => setColors(readColors())
    const observer = new MutationObserver(update)
    observer.observe(document.documentElement, {
      attributeFilter: ['data-theme', 'class', 'style'],
    })
    return () => observer.disconnect()
  }, [])
  return colors
}

/** Causes have a full frame. Each other role has its own line pattern. */
const FRAMES = {
  root: { dash: [], isFull: true },
  joint: { dash: [6, 2], isFull: true },
  'back-up': { dash: [3, 3], isFull: false },
  echo: { dash: [1, 2], isFull: false },
  affected: undefined,
} as const

/** Minimum distance between marks. Of overlapping marks, the worst is shown. */
const MARK_DISTANCE = 9

/** Drawn before the blocks, with one path per role, because there may be thousands. */
function drawHeat(scene: Scene, heat: Heat): void {
  const { context } = scene
  // The worst role comes last, so that it is on top.
  for (const [role, name] of [...SEEN_ROLES.entries()].toReversed()) {
    const frame = FRAMES[name]
    if (frame === undefined || !heat.seen.some((step) => step.role === name)) continue
    context.strokeStyle = scene.colors.roles[role] ?? scene.colors.muted
    context.lineWidth = 2
    context.setLineDash([...frame.dash])
    for (const isOut of scene.shown.hidden > 0 ? [true, false] : [false]) {
      context.globalAlpha = isOut ? 0.2 : 1
      context.beginPath()
      addFrames(scene, heat, { role, isOut, isFull: frame.isFull })
      context.stroke()
    }
  }
  context.globalAlpha = 1
  context.setLineDash([])
}

function addFrames(
  scene: Scene,
  { indexes, roles }: Heat,
  { role, isOut, isFull }: { role: number; isOut: boolean; isFull: boolean },
): void {
  const { context, data, columns, shown, gutter, width } = scene
  const [first, last] = visibleLines(scene)
  const isFiltered = shown.hidden > 0
  let [lastX, lastLine] = [-1, -1]
  for (let index = roles.indexOf(role); index < indexes.length && roles[index] === role; index++) {
    const position = indexes[index] ?? 0
    const line = position < data.count ? data.lineOf.get(columns.lane[position] ?? 0) : undefined
    if (line === undefined || line < first || line >= last) continue
    if (isFiltered && shown.has(position) === isOut) continue
    const x = Math.round(xOf(scene, data.from[position] ?? 0))
    const end = Math.max(x + 2, xOf(scene, data.to[position] ?? 0))
    // Draw only one of the steps that share a pixel.
    if (end < gutter || x > width || (end - x < 3 && x === lastX && line === lastLine)) continue
    ;[lastX, lastLine] = [x, line]
    const top = topOf(scene, line)
    if (isFull) context.rect(x - 2, top + 1, end - x + 3, LANE_HEIGHT - 3)
    else
      for (const y of [top + 1, top + LANE_HEIGHT - 2]) {
        context.moveTo(x - 2, y)
        context.lineTo(end + 1, y)
      }
  }
}

function drawBand(
  { context, colors, width, gutter }: Scene,
  { top, height, name, nameTop }: { top: number; height: number; name: string; nameTop: number },
  draw: () => void,
): void {
  context.fillStyle = colors.surface
  context.fillRect(0, top, width, height)
  context.fillStyle = colors.line
  context.fillRect(0, top, width, 1)
  context.font = `11px ${colors.sans}`
  context.fillStyle = colors.text
  context.fillText(name, 8, nameTop)
  clipped(context, [gutter, top, width - gutter, height], draw)
}

/** Marks below the lanes, so that causes are visible even if their lanes are not. */
function drawHeatLine(scene: Scene, heat: Heat): void {
  const { context, data, width, gutter, shown, colors } = scene
  const top = scene.height - belowLanes(scene)
  const band = { top, height: HEAT_HEIGHT, name: 'blame', nameTop: top + HEAT_HEIGHT / 2 + 1 }
  drawBand(scene, band, () => {
    const taken = new Uint8Array(Math.ceil(width) + 2 * MARK_DISTANCE)
    for (const [index, position] of heat.indexes.entries()) {
      if (position >= data.count) continue
      const x = Math.round(xOf(scene, data.from[position] ?? 0))
      if (x < gutter - 6 || x > width + 6) continue
      const at = x + MARK_DISTANCE
      if (taken[at]) continue
      taken.fill(1, at - MARK_DISTANCE + 1, at + MARK_DISTANCE)
      context.globalAlpha = shown.hidden > 0 && !shown.has(position) ? 0.2 : 1
      const role = heat.roles[index] ?? 0
      const { path, isFilled } = ROLE_LOOKS[SEEN_ROLES[role] ?? 'affected']

      context.save()
      context.translate(x - 5, top + 4)
      context.strokeStyle = context.fillStyle = colors.roles[role] ?? colors.muted
      context.lineWidth = 1.4
      if (isFilled) context.fill(shapeOf(path))
      context.stroke(shapeOf(path))
      context.restore()
    }
  })
}

const shapeOf = (path: string): Path2D => new Path2D(path)

const BLOCK_HEIGHT = 14

const NAMED_WIDTH = 44

const CRASH = KINDS.indexOf('crash')

const [FAILED, ABORTED, IN_DOUBT, RUNNING] = (
  ['failed', 'aborted', 'in doubt', 'running'] as const
).map((state) => STATES.indexOf(state))

/** Priority of a state when many steps share a pixel. */
const rankOf = (state: number): number =>
  state === IN_DOUBT || state === ABORTED ? 2 : state === RUNNING ? 1 : 0

/** Minimum width of a failed step. */
const FAILURE_WIDTH = 4

/** Draws failures on top of everything else, once per position. */
function drawFailures(scene: Scene): void {
  const { context, data, columns, shown } = scene
  const [first, last] = visibleLines(scene)
  const drawn = new Map<number, number>()
  for (const index of data.failed) {
    const line = data.lineOf.get(columns.lane[index] ?? 0) ?? 0
    if (line < first || line >= last || columns.kind[index] === CRASH) continue
    const left = failureX(scene, index)
    const right = Math.min(xOf(scene, data.to[index] ?? 0) - 1, scene.width + 4)
    if (left === undefined || (drawn.get(line) ?? -1) >= Math.max(right, left + 1)) continue
    const width = Math.max(FAILURE_WIDTH, right - left)
    drawn.set(line, left + width)
    context.globalAlpha = shown.hidden > 0 && !shown.has(index) ? 0.2 : 1
    const top = topOf(scene, line) + 3
    drawBlock(scene, { index, state: FAILED ?? 0, left, top, width })
  }
  context.globalAlpha = 1
}

/** Where to draw a failure so that it fits into the timeline; undefined if it is out of view. */
function failureX(scene: Scene, index: number): number | undefined {
  const x = xOf(scene, scene.data.from[index] ?? 0)
  const end = xOf(scene, scene.data.to[index] ?? 0)
  if (end < scene.gutter - 1 || x > scene.width + 1) return undefined
  return Math.max(scene.gutter - 4, Math.min(x, scene.width - FAILURE_WIDTH))
}

function drawFailureTicks(scene: Scene): void {
  const { context, data, columns, colors, height } = scene
  context.fillStyle = colors.danger
  let lastX = -9
  for (const index of data.failed) {
    const left = failureX(scene, index)
    if (left === undefined) continue
    const x = Math.round(left)
    if (columns.kind[index] === CRASH) {
      context.fillRect(x + 2, AXIS_HEIGHT - 7, 2, height)
      context.beginPath()
      context.moveTo(x + 3, AXIS_HEIGHT + 2)
      context.lineTo(x - 11, AXIS_HEIGHT + 8)
      context.lineTo(x + 3, AXIS_HEIGHT + 14)
      context.fill()
    } else if (Math.abs(x - lastX) >= 2) {
      context.fillRect(x, AXIS_HEIGHT - 7, 2, 7)
      lastX = x
    }
  }
}

function drawLine(scene: Scene, rows: LineRows, top: number): void {
  const { context, data, columns, shown, view, width } = scene
  const isFiltered = shown.hidden > 0
  const end = view.from + view.span
  const scale = (width - scene.gutter) / view.span
  let [lastPixel, lastRank] = [-1, -1]
  for (let index = firstReaching(rows, view.from); index < rows.indexes.length; index++) {
    const position = rows.indexes[index] ?? 0
    const from = data.from[position] ?? 0
    if (from > end) break
    const x = scene.gutter + (from - view.from) * scale
    const length = ((data.to[position] ?? 0) - from) * scale
    const state = columns.state[position] ?? 0
    if (state === FAILED) continue
    const isOut = isFiltered && !shown.has(position)
    if (length < 2) {
      const pixel = Math.round(x / 2)
      const rank = isOut ? -0.5 : rankOf(state)
      if (pixel === lastPixel && rank <= lastRank) continue
      ;[lastPixel, lastRank] = [pixel, rank]
    }
    context.globalAlpha = isOut ? 0.2 : 1
    const left = Math.max(x, scene.gutter - 4)
    // A step without an answer has no end. Draw it wide enough to be recognized.
    const least = state === IN_DOUBT || state === ABORTED || state === RUNNING ? 9 : 2
    const right = Math.min(x + Math.max(least, length - 1), width + 4)
    drawBlock(scene, { index: position, state, left, top, width: right - left })
  }
  context.globalAlpha = 1
}

interface Block {
  readonly index: number
  readonly state: number
  readonly left: number
  readonly top: number
  readonly width: number
}

/** The colour shows the kind; hatching or an outline shows the state. */
function drawBlock(scene: Scene, block: Block): void {
  const { context, columns, colors } = scene
  const { index, state, left, top, width } = block
  const kind = colors.kinds[columns.kind[index] ?? 0] ?? colors.muted
  const isOpen = state === RUNNING || state === IN_DOUBT
  const color =
    state === FAILED ? colors.danger : isOpen || state === ABORTED ? colors.warning : kind
  if (columns.inferred[index] || isOpen || state === ABORTED) {
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
    if (width >= NAMED_WIDTH) nameBlock(scene, block, colors.text)
    return
  }
  context.fillStyle = color
  context.fillRect(left, top, width, BLOCK_HEIGHT)
  if (width >= NAMED_WIDTH && state !== FAILED) nameBlock(scene, block, colors.surface)
  if (state === FAILED && width >= 10) hatch(scene, block)
}

function nameBlock(scene: Scene, { index, left, top, width }: Block, color: string): void {
  const { context } = scene
  context.fillStyle = color
  context.font = `10px ${scene.colors.sans}`
  const start = Math.max(left, scene.gutter) + 4
  const text = fitText(context, scene.shown.rows.at(index).title, left + width - start - 4)
  context.fillText(text, start, top + BLOCK_HEIGHT / 2 + 0.5)
}

function outline(scene: Scene, index: number): void {
  const { context, data, columns, colors } = scene
  const line =
    index < 0 || index >= data.count ? undefined : data.lineOf.get(columns.lane[index] ?? 0)
  if (line === undefined || columns.kind[index] === CRASH) return
  const x = xOf(scene, data.from[index] ?? 0)
  const length = Math.max(3, xOf(scene, data.to[index] ?? 0) - x)
  context.strokeStyle = index === scene.selected ? colors.accent : colors.text
  context.lineWidth = index === scene.selected ? 2 : 1
  context.strokeRect(x - 1.5, topOf(scene, line) + 1.5, length + 2, BLOCK_HEIGHT + 3)
}

function hatch({ context, colors }: Scene, { left, top, width }: Block): void {
  clipped(context, [left, top, width, BLOCK_HEIGHT], () => {
    context.strokeStyle = colors.surface
    context.lineWidth = 1.5
    context.beginPath()
    for (let x = left - BLOCK_HEIGHT; x < left + width; x += 6) {
      context.moveTo(x, top + BLOCK_HEIGHT)
      context.lineTo(x + BLOCK_HEIGHT, top)
    }
    context.stroke()
  })
}

function visibleLines({ data, scrollTop, height }: Scene): readonly [first: number, last: number] {
  const first = Math.max(0, Math.floor(scrollTop / LANE_HEIGHT))
  const last = Math.ceil((scrollTop + height - AXIS_HEIGHT) / LANE_HEIGHT)
  return [first, Math.min(data.lines.length, last)]
}

const topOf = (scene: Scene, line: number): number =>
  AXIS_HEIGHT + line * LANE_HEIGHT - scene.scrollTop

function drawLanes(scene: Scene): void {
  const { context, data, colors, width, gutter } = scene
  const [first, last] = visibleLines(scene)
  context.font = `11px ${colors.sans}`
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

export function drawTimeline(scene: Scene): void {
  const { context, colors, width, height, gutter } = scene
  context.textBaseline = 'middle'
  context.fillStyle = colors.surface
  context.fillRect(0, 0, width, height)
  const bottom = height - belowLanes(scene)
  clipped(context, [0, AXIS_HEIGHT, width, bottom - AXIS_HEIGHT], () => drawLanes(scene))
  let marks: readonly TimeSpan[] = []
  clipped(context, [gutter, 0, width - gutter, height], () => {
    marks = drawGaps(scene)
  })
  clipped(context, [gutter, AXIS_HEIGHT, width - gutter, bottom - AXIS_HEIGHT], () => {
    if (scene.heat !== undefined) drawHeat(scene, scene.heat)
    // Draws blocks smaller than a pixel once per pixel.
    const [first, last] = visibleLines(scene)
    for (let index = first; index < last; index++) {
      const rows = scene.data.rows[index]
      if (rows !== undefined) drawLine(scene, rows, topOf(scene, index) + 3)
    }
    drawFailures(scene)
    for (const position of new Set([scene.hovered, scene.selected])) outline(scene, position)
  })
  if (scene.heat !== undefined) drawHeatLine(scene, scene.heat)
  if (scene.figures !== undefined) drawOverlay(scene, scene.figures)
  drawAxis(scene, marks)
  clipped(context, [gutter, 0, width - gutter, height], () => {
    drawFailureTicks(scene)
    drawRange(scene)
    if (scene.selected < 0 || scene.selected >= scene.data.count) return
    const { context, data, colors, width, height } = scene
    const x = Math.round(xOf(scene, data.from[scene.selected] ?? 0))
    context.fillStyle = colors.accent
    context.fillRect(Math.min(x, width - 1), 0, 1, height)
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

function drawRange(scene: Scene): void {
  const { context, range, data, colors, width, height } = scene
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

/** Draws idle time as two bars, with its duration if it fits. Returns the positions. */
function drawGaps(scene: Scene): TimeSpan[] {
  const { context, data, view, colors, height } = scene
  context.font = `10px ${colors.sans}`
  context.textAlign = 'center'
  let last = -1
  const marks: TimeSpan[] = []
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

function drawAxis(scene: Scene, marks: readonly TimeSpan[]): void {
  const { context, data, view, colors, width, gutter } = scene
  context.fillStyle = colors.line
  context.fillRect(0, AXIS_HEIGHT - 1, width, 1)
  context.fillRect(gutter - 1, 0, 1, scene.height)
  context.font = `10px ${colors.sans}`
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

/**
 * Draws a figure as a bar where each step begins, and its running total as a line. An unknown figure
 * is a ring on the base line, not a bar of 0.
 */
function drawOverlay(scene: Scene, { values, sums, max }: OverlayValues): void {
  const { context, data, colors, width, height, gutter, overlay } = scene
  if (overlay === 'none') return
  const top = height - OVERLAY_HEIGHT
  const band = { top, height: OVERLAY_HEIGHT, name: overlay, nameTop: top + 14 }
  drawBand(scene, band, () => {
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
    for (let index = 0; index < data.count && index < values.length; index++) {
      const x = Math.round(xOf(scene, data.from[index] ?? 0))
      if (x < gutter - 4 || x > width + 4) {
        if (x > width) continue
      } else {
        const value = values[index] ?? Number.NaN
        if (!Number.isNaN(value)) {
          const bar = max === 0 ? 0 : (value / max) * room
          if (bar > (highest.get(x) ?? 0)) highest.set(x, bar)
        } else if (isMissing(scene.columns, overlay, index)) rings.add(x)
      }
      if (x === lastPixel && index < data.count - 1) continue
      lastPixel = x
      // The total grows at a step, not between steps.
      context.lineTo(x, level)
      level = ground - (all === 0 ? 0 : ((sums[index] ?? 0) / all) * room)
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
  })
  context.fillStyle = colors.muted
  context.font = `10px ${colors.sans}`
  context.fillText(max === 0 ? 'none known' : `up to ${overlayText(overlay, max)}`, 8, top + 30)
}
