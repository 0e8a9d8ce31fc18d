import { AXIS_HEIGHT, LANE_HEIGHT, type Scene } from './scene.js'

/** Lines that are seen, from the first on. */
export function visibleLines({
  data,
  scrollTop,
  height,
}: Scene): readonly [first: number, last: number] {
  const first = Math.max(0, Math.floor(scrollTop / LANE_HEIGHT))
  const last = Math.ceil((scrollTop + height - AXIS_HEIGHT) / LANE_HEIGHT)
  return [first, Math.min(data.lines.length, last)]
}

/** Where a line begins, from the top of the canvas. */
export const topOf = (scene: Scene, line: number): number =>
  AXIS_HEIGHT + line * LANE_HEIGHT - scene.scrollTop

/** The names of the lanes, and the lines between them. */
export function drawLanes(context: CanvasRenderingContext2D, scene: Scene): void {
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

/** The text, or as much of its beginning as fits. */
export function fitText(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text
  let length = Math.min(text.length, Math.ceil(width / 4))
  while (length > 1 && context.measureText(`${text.slice(0, length)}…`).width > width) length--
  return `${text.slice(0, length)}…`
}
