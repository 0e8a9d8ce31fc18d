import type { BlamedStep } from '@retake/tape'
import { cost, count, duration, KINDS, plural, STATES } from '@retake/tape/present'
import type { LaneHead, RunHead } from '../../../model/run-source.js'
import { type BlameView, isSeen, SEEN_ROLES } from '../../blame/blame-view.js'
import { rowEndOf } from '../data/row-filter.js'
import { laneName, type ListColumns, lowerBound, type RowStore } from '../data/row-store.js'
import { mergeSpans, TimeScale } from './timeline-view.js'

export const OVERLAYS = ['none', 'latency', 'tokens', 'cost'] as const
export type TimelineOverlay = (typeof OVERLAYS)[number]

export type OverlayValues = NonNullable<ReturnType<typeof overlayValues>>

const [MODEL, FAILED, RUNNING] = [
  KINDS.indexOf('model'),
  STATES.indexOf('failed'),
  STATES.indexOf('running'),
]

/** By row: the value (NaN if unknown or not applicable), the running total, and unknown values so far. */
export function overlayValues(columns: ListColumns, overlay: TimelineOverlay) {
  if (overlay === 'none') return undefined
  const values = new Float64Array(columns.length)
  const sums = new Float64Array(columns.length)
  const unknown = new Uint32Array(columns.length)
  let [sum, missing, max] = [0, 0, 0]
  for (let index = 0; index < columns.length; index++) {
    const value = valueAt(columns, overlay, index)
    values[index] = value
    if (Number.isNaN(value)) missing += isMissing(columns, overlay, index) ? 1 : 0
    else {
      sum += value
      if (value > max) max = value
    }
    sums[index] = sum
    unknown[index] = missing
  }
  return { values, sums, unknown, max }
}

function valueAt(columns: ListColumns, overlay: TimelineOverlay, index: number): number {
  const { latencyMs, tokensIn, tokensOut, costUsd, inferred } = columns
  if (overlay === 'latency') return inferred[index] ? Number.NaN : (latencyMs[index] ?? Number.NaN)
  if (overlay === 'cost') return costUsd[index] ?? Number.NaN
  return (tokensIn[index] ?? Number.NaN) + (tokensOut[index] ?? Number.NaN)
}

/** True if the figure of an answered model call is unknown, which is not 0. */
export const isMissing = (columns: ListColumns, overlay: TimelineOverlay, index: number): boolean =>
  overlay !== 'latency' &&
  columns.kind[index] === MODEL &&
  columns.state[index] !== RUNNING &&
  // A refused call costs nothing; an incomplete one may cost something.
  !(columns.state[index] === FAILED && Number.isNaN(columns.tokensIn[index] ?? Number.NaN))

type Figure = Exclude<TimelineOverlay, 'none'>

const FORMATS: Readonly<Record<Figure, (value: number) => string>> = {
  latency: duration,
  tokens: (value) => `${count(value)} tokens`,
  cost,
}

export const overlayText = (overlay: Figure, value: number): string => FORMATS[overlay](value)

/** The running total at a row, and the total. Mentions calls without a figure. */
export function sumText(overlay: Figure, { sums, unknown }: OverlayValues, index: number): string {
  const all = sums.at(-1) ?? 0
  const missing = unknown.at(-1) ?? 0
  const format = FORMATS[overlay]
  const text = `${format(sums[index] ?? 0)} of ${format(all)}`
  const what = overlay === 'latency' ? ' in steps' : ''
  return missing === 0
    ? text + what
    : `${text}, without ${plural(missing, 'call')} of unknown ${overlay}`
}

export type Heat = NonNullable<ReturnType<typeof heatOf>>

/**
 * Rows with a role in the failure, worst first, collected once so that drawing reads only these.
 * Undefined if no step is known to be involved.
 */
export function heatOf(view: BlameView, rows: RowStore) {
  const found: { index: number; role: number; step: BlamedStep }[] = []
  for (const step of view.findings.steps) {
    const { label, role } = step
    if (!isSeen(role)) continue
    // Rows may still be loading, or belong to a newer recording.
    const index = rows.indexOf(label)
    if (index >= 0) found.push({ index, role: SEEN_ROLES.indexOf(role), step })
  }
  if (found.length === 0) return undefined
  found.sort((a, b) => a.role - b.role || a.index - b.index)
  const byIndex = new Map(found.map(({ index, step }) => [index, step]))
  return {
    indexes: Int32Array.from(found, ({ index }) => index),
    roles: Uint8Array.from(found, ({ role }) => role),
    /** One step of each role, for the legend. */
    seen: SEEN_ROLES.flatMap((_, number) => found.find(({ role }) => role === number)?.step ?? []),
    stepAt: (index: number) => byIndex.get(index),
  }
}

/** Half the width of a mark, with some tolerance. */
const NEAR = 8

/** The row whose mark is at a pixel; of several, the worst; -1 for none. */
export function markNear(
  { indexes }: Heat,
  { from, count }: TimelineData,
  { x, xOf }: { readonly x: number; readonly xOf: (drawn: number) => number },
): number {
  let [best, distance] = [-1, NEAR]
  for (const index of indexes) {
    const away = index < count ? Math.abs(xOf(from[index] ?? 0) - x) : NEAR
    if (away < distance) [best, distance] = [index, away]
  }
  return best
}

export interface LineRows {
  readonly indexes: Int32Array
  /** By row: the latest end of all rows so far. Tells where to start drawing a part. */
  readonly reach: Float64Array
}

export type TimelineData = ReturnType<typeof timelineData>

/** Positions of all rows, computed once so that drawing only multiplies. */
export function timelineData({ columns }: RowStore, head: RunHead) {
  const count = columns.length
  const to = new Float64Array(count)
  const busyTo = new Float64Array(count)
  for (let position = 0; position < count; position++) {
    const at = columns.at[position] ?? 0
    const end = Math.min(rowEndOf(columns, position), Math.max(head.durationMs, at))
    to[position] = end
    // An inferred step ran between two calls, for an unknown time.
    busyTo[position] = columns.inferred[position] ? at : end
  }
  const scale = TimeScale.over(mergeSpans(columns.at, busyTo, count), head.durationMs)
  const from = new Float64Array(count)
  scale.drawAll(columns.at, from, count)
  scale.drawAll(to, to, count)
  const sizes = new Map<number, number>()
  for (let row = 0; row < count; row++) {
    const lane = columns.lane[row] ?? 0
    sizes.set(lane, (sizes.get(lane) ?? 0) + 1)
  }
  const lines = laneLines(head.lanes, sizes.keys())
  const lineOf = new Map(lines.map(({ lane }, index) => [lane, index]))
  const rows = lines.map(({ lane }) => {
    const size = sizes.get(lane) ?? 0
    return { indexes: new Int32Array(size), reach: new Float64Array(size) }
  })
  const filled = new Int32Array(lines.length)
  for (let row = 0; row < count; row++) {
    const line = lineOf.get(columns.lane[row] ?? 0) ?? 0
    const index = filled[line] ?? 0
    ;(rows[line] as LineRows).indexes[index] = row
    filled[line] = index + 1
  }
  for (const line of rows) {
    // Sorts the rows of a line, which are nearly always sorted, and computes their reach.
    const { indexes, reach } = line
    const startOf = (index: number): number => from[indexes[index] ?? 0] ?? 0
    for (let index = 1; index < indexes.length; index++) {
      if (startOf(index) >= startOf(index - 1)) continue
      indexes.sort((left, right) => (from[left] ?? 0) - (from[right] ?? 0) || left - right)
      break
    }
    let furthest = 0
    for (let index = 0; index < indexes.length; index++) {
      furthest = Math.max(furthest, to[indexes[index] ?? 0] ?? 0)
      reach[index] = furthest
    }
  }
  const failed: number[] = []
  for (let row = 0; row < count; row++) if (columns.state[row] === FAILED) failed.push(row)
  return { scale, lines, lineOf, rows, from, to, count, failed: Int32Array.from(failed) }
}

/** First index in a line at which a row, or an earlier one, reaches this far. */
export const firstReaching = ({ reach }: LineRows, drawn: number): number =>
  lowerBound(reach.length, (index) => (reach[index] ?? 0) < drawn)

/** The active row of a line at a drawn time, or the nearest within a distance; -1 for none. */
export function rowNear(
  data: TimelineData,
  line: number,
  { drawn, within }: { readonly drawn: number; readonly within: number },
): number {
  const rows = data.rows[line]
  if (rows === undefined) return -1
  let [best, distance] = [-1, within]
  for (let index = firstReaching(rows, drawn - within); index < rows.indexes.length; index++) {
    const position = rows.indexes[index] ?? 0
    const [from, to] = [data.from[position] ?? 0, data.to[position] ?? 0]
    if (from > drawn + within) break
    const away = drawn < from ? from - drawn : drawn > to ? drawn - to : 0
    // Of two active rows, the later one is on top.
    if (away < distance || (away === 0 && distance === 0) || (best < 0 && away <= within))
      [best, distance] = [position, away]
  }
  return best
}

/** The last row that had begun at a drawn time, or else the first row. */
export function rowAtTime({ from, count }: TimelineData, drawn: number): number {
  let best = count > 0 ? 0 : -1
  let latest = Number.NEGATIVE_INFINITY
  for (let index = 0; index < count; index++) {
    const begun = from[index] ?? 0
    if (begun <= drawn && begun >= latest) [best, latest] = [index, begun]
  }
  return best
}

/** Each lane below its parent, in the order of their starts. Lanes that the head lacks come last. */
export function laneLines(lanes: readonly LaneHead[], seen: Iterable<number>) {
  const known = new Map(lanes.map((lane) => [lane.id, lane]))
  const children = new Map<number | undefined, LaneHead[]>()
  for (const lane of lanes) {
    const parent =
      lane.parent !== undefined && known.has(lane.parent) && lane.parent !== lane.id
        ? lane.parent
        : undefined
    const siblings = children.get(parent) ?? []
    children.set(parent, siblings)
    siblings.push(lane)
  }
  const lines: { lane: number; depth: number; name: string }[] = []
  const open = (children.get(undefined) ?? []).toReversed()
  const listed = new Set<number>()
  for (let lane = open.pop(); lane !== undefined; lane = open.pop()) {
    if (listed.has(lane.id)) continue
    listed.add(lane.id)
    lines.push({ lane: lane.id, depth: lane.depth, name: laneName(lane.id, lane.name) })
    open.push(...(children.get(lane.id) ?? []).toReversed())
  }
  const left = [...known.keys(), ...new Set(seen)].filter((id) => !listed.has(id))
  for (const id of new Set(left)) lines.push({ lane: id, depth: 0, name: laneName(id, undefined) })
  return lines
}
