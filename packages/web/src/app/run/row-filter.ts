import { KINDS, ORIGINS, STATES, type RowOrigin, type RowState } from '@retake/tape/present'
import type { ListColumns } from './list-columns.js'

/** Which rows are shown. Of one field any value will do; of several fields, each must fit. */
export interface RowFilter {
  readonly kinds: readonly (typeof KINDS)[number][]
  readonly states: readonly RowState[]
  readonly badges: readonly RowOrigin[]
  readonly lanes: readonly number[]
  readonly tools: readonly string[]
  readonly models: readonly string[]
  /** A step whose cost is not known does not fit. */
  readonly costMin: number | undefined
  /** Under way at some moment between these, in milliseconds since the start. */
  readonly from: number | undefined
  readonly to: number | undefined
}

export const NO_FILTER: RowFilter = {
  kinds: [],
  states: [],
  badges: [],
  lanes: [],
  tools: [],
  models: [],
  costMin: undefined,
  from: undefined,
  to: undefined,
}

export const isEmpty = (filter: RowFilter): boolean =>
  Object.values(filter).every((value) => value === undefined || (value as unknown[]).length === 0)

const NUMBER_OF_STATE = Object.fromEntries(STATES.map((state, number) => [state, number]))

/**
 * Writes the places from `start` on that fit into `into` from `count` on, and says
 * how many stand there then. Works on columns alone: a row is never made for it.
 */
export function filterRows(
  columns: ListColumns,
  filter: RowFilter,
  { start, into, count }: { start: number; into: Int32Array; count: number },
): number {
  const kinds = table(filter.kinds.map((kind) => KINDS.indexOf(kind)))
  const states = table(filter.states.map((state) => STATES.indexOf(state)))
  const badges = table(filter.badges.map((badge) => ORIGINS.indexOf(badge)))
  const lanes = table(filter.lanes)
  const tools = table(filter.tools.map((name) => columns.indexOfName(name)))
  const models = table(filter.models.map((name) => columns.indexOfName(name)))
  const { costMin, from, to } = filter
  let next = count
  for (let place = start; place < columns.length; place++) {
    if (kinds && !kinds[columns.kind[place] ?? 0]) continue
    if (states && !states[columns.state[place] ?? 0]) continue
    // Of an inferred step nobody knows where its answer came from.
    if (badges && (columns.inferred[place] || !badges[columns.origin[place] ?? 0])) continue
    if (lanes && !lanes[columns.lane[place] ?? 0]) continue
    if (tools && !tools[columns.tool[place] ?? -1]) continue
    if (models && !models[columns.model[place] ?? -1]) continue
    if (costMin !== undefined && !((columns.costUsd[place] ?? Number.NaN) >= costMin)) continue
    if (to !== undefined && (columns.at[place] ?? 0) > to) continue
    if (from !== undefined && endOf(columns, place) < from) continue
    into[next++] = place
  }
  return next
}

const RUNNING = NUMBER_OF_STATE['running']

/** When a step ended; one that was never answered has only its beginning, one that runs no end. */
export function endOf(columns: ListColumns, place: number): number {
  if (columns.state[place] === RUNNING) return Number.POSITIVE_INFINITY
  const latency = columns.latencyMs[place] ?? Number.NaN
  const at = columns.at[place] ?? 0
  return Number.isNaN(latency) ? at : at + latency
}

/** Which numbers are wanted; undefined when all are. */
function table(numbers: readonly number[]): Uint8Array | undefined {
  if (numbers.length === 0) return undefined
  const wanted = new Uint8Array(Math.max(...numbers, 0) + 1)
  for (const number of numbers) if (number >= 0) wanted[number] = 1
  return wanted
}
