import type { RunHead } from '../../../model/run-head.js'
import { longer } from '../list-columns.js'
import { endOf } from '../row-filter.js'
import type { RowStore } from '../row-store.js'
import { laneLines, type LaneLine } from './lane-lines.js'
import { mergeSpans, TimeScale } from './time-scale.js'

/** The rows of one line, in the order they began. */
export interface LineRows {
  readonly places: Int32Array
  /** Furthest drawn end of the rows up to each: where to begin when only a part is seen. */
  readonly reach: Float64Array
}

/** Where everything is drawn, made once from the rows; drawing itself only multiplies. */
export interface TimelineData {
  readonly scale: TimeScale
  readonly lines: readonly LaneLine[]
  readonly lineOf: ReadonlyMap<number, number>
  readonly rows: readonly LineRows[]
  /** By place of a row: drawn beginning and end. */
  readonly from: Float64Array
  readonly to: Float64Array
  readonly count: number
}

export function timelineData({ columns }: RowStore, head: RunHead): TimelineData {
  const count = columns.length
  const to = new Float64Array(count)
  const busyTo = new Float64Array(count)
  for (let place = 0; place < count; place++) {
    const at = columns.at[place] ?? 0
    const end = Math.min(endOf(columns, place), Math.max(head.durationMs, at))
    to[place] = end
    // Of an inferred step one knows between which calls it was, not that it took so long.
    busyTo[place] = columns.inferred[place] ? at : end
  }
  const scale = TimeScale.over(mergeSpans(columns.at, busyTo, count), head.durationMs)
  const from = new Float64Array(count)
  scale.drawAll(columns.at, from, count)
  scale.drawAll(to, to, count)
  const sizes = new LaneNumbers()
  for (let place = 0; place < count; place++) sizes.add(columns.lane[place] ?? 0, 1)
  const lines = laneLines(head.lanes, sizes.keys())
  const lineOf = new Map(lines.map(({ lane }, index) => [lane, index]))
  const rows = emptyLines(lines.map(({ lane }) => sizes.get(lane)))
  const lineAt = new LaneNumbers()
  for (const [index, { lane }] of lines.entries()) lineAt.add(lane, index)
  const filled = new Int32Array(lines.length)
  for (let place = 0; place < count; place++) {
    const line = lineAt.get(columns.lane[place] ?? 0)
    const index = filled[line] ?? 0
    ;(rows[line] as LineRows).places[index] = place
    filled[line] = index + 1
  }
  for (const line of rows) reachOut(line, from, to)
  return { scale, lines, lineOf, rows, from, to, count }
}

/** Numbers by lane. Lanes are small numbers, nearly always: those that are not go another way. */
class LaneNumbers {
  #small = new Int32Array(64)
  readonly #seen = new Set<number>()
  readonly #large = new Map<number, number>()

  add(lane: number, value: number): void {
    if (lane < 0 || lane > 1_000_000) {
      this.#large.set(lane, this.get(lane) + value)
      return
    }
    while (lane >= this.#small.length) this.#small = longer(this.#small)
    this.#small[lane] = (this.#small[lane] ?? 0) + value
    if (this.#small[lane] === value) this.#seen.add(lane)
  }

  get(lane: number): number {
    return this.#large.get(lane) ?? this.#small[lane] ?? 0
  }

  keys(): Iterable<number> {
    return [...this.#seen, ...this.#large.keys()]
  }
}

/** Room for the rows of all lines: two arrays that they share, however many lines there are. */
function emptyLines(sizes: readonly number[]): LineRows[] {
  const count = sizes.reduce((sum, size) => sum + size, 0)
  const [places, reach] = [new Int32Array(count), new Float64Array(count)]
  let start = 0
  return sizes.map((size) => {
    const end = start + size
    const line = { places: places.subarray(start, end), reach: reach.subarray(start, end) }
    start = end
    return line
  })
}

/** Puts the rows of a line in order, which they nearly always are, and says how far they reach. */
function reachOut({ places, reach }: LineRows, from: Float64Array, to: Float64Array): void {
  const startOf = (index: number): number => from[places[index] ?? 0] ?? 0
  for (let index = 1; index < places.length; index++) {
    if (startOf(index) >= startOf(index - 1)) continue
    places.sort((left, right) => (from[left] ?? 0) - (from[right] ?? 0) || left - right)
    break
  }
  let furthest = 0
  for (let index = 0; index < places.length; index++) {
    furthest = Math.max(furthest, to[places[index] ?? 0] ?? 0)
    reach[index] = furthest
  }
}

/** First index in a line whose row, or one before it, reaches this far. */
export function firstReaching({ reach }: LineRows, drawn: number): number {
  let [low, high] = [0, reach.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((reach[middle] ?? 0) < drawn) low = middle + 1
    else high = middle
  }
  return low
}

/** The row that was under way in a line at a drawn time, or the nearest within some distance; -1 for none. */
export function rowNear(
  data: TimelineData,
  line: number,
  { drawn, within }: { readonly drawn: number; readonly within: number },
): number {
  const rows = data.rows[line]
  if (rows === undefined) return -1
  let [best, distance] = [-1, within]
  for (let index = firstReaching(rows, drawn - within); index < rows.places.length; index++) {
    const place = rows.places[index] ?? 0
    const [from, to] = [data.from[place] ?? 0, data.to[place] ?? 0]
    if (from > drawn + within) break
    const away = drawn < from ? from - drawn : drawn > to ? drawn - to : 0
    // Of two that are under way the later one is drawn above the other.
    if (away < distance || (away === 0 && distance === 0) || (best < 0 && away <= within))
      [best, distance] = [place, away]
  }
  return best
}

/** The last row that had begun at a drawn time; the first one before any had. */
export function rowAtTime({ from, count }: TimelineData, drawn: number): number {
  let best = count > 0 ? 0 : -1
  let latest = Number.NEGATIVE_INFINITY
  for (let place = 0; place < count; place++) {
    const begun = from[place] ?? 0
    if (begun <= drawn && begun >= latest) [best, latest] = [place, begun]
  }
  return best
}
