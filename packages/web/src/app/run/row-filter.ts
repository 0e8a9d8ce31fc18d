import { KINDS, ORIGINS, type RowOrigin, type RowState, STATES } from '@retake/tape/present'
import type { ListColumns, RowStore } from './row-store.js'

/** The rows that pass a filter, in order; updated incrementally. */
export class FilteredRows {
  readonly rows: RowStore
  readonly filter: RowFilter
  /** Undefined if nothing is filtered out. */
  #indexes: Int32Array | undefined
  #count = 0
  #version = -1

  constructor(rows: RowStore, filter: RowFilter) {
    this.rows = rows
    this.filter = filter
    if (!isEmpty(filter)) this.#indexes = new Int32Array(rows.length)
  }

  get length(): number {
    return this.#indexes === undefined ? this.rows.length : this.#count
  }

  get hidden(): number {
    return this.rows.length - this.length
  }

  /** Index in the whole list. */
  rowAt(index: number): number {
    return this.#indexes === undefined ? index : (this.#indexes[index] ?? -1)
  }

  has(position: number): boolean {
    const index = this.indexFrom(position)
    return index < this.length && this.rowAt(index) === position
  }

  /** Index in the filtered list of a row, or of the next one that is shown. */
  indexFrom(index: number): number {
    if (this.#indexes === undefined) return Math.min(index, this.rows.length)
    let [low, high] = [0, this.#count]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#indexes[middle] ?? 0) < index) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Applies the changes since the last call. */
  update(): this {
    const { rows } = this
    if (this.#version === rows.version) return this
    const start = this.#version < 0 ? 0 : rows.changedSince(this.#version)
    this.#version = rows.version
    if (this.#indexes === undefined) return this
    const count = Math.min(this.#count, this.indexFrom(start))
    if (this.#indexes.length < rows.length) {
      const longer = new Int32Array(Math.max(rows.length, this.#indexes.length * 2))
      longer.set(this.#indexes.subarray(0, count))
      this.#indexes = longer
    }
    this.#count = filterRows(rows.columns, this.filter, { start, into: this.#indexes, count })
    return this
  }
}

/** Values of one field are alternatives; all fields must match. */
export interface RowFilter {
  readonly kinds: readonly (typeof KINDS)[number][]
  readonly states: readonly RowState[]
  readonly badges: readonly RowOrigin[]
  readonly lanes: readonly number[]
  readonly tools: readonly string[]
  readonly models: readonly string[]
  /** Steps of unknown cost do not match. */
  readonly costMin: number | undefined
  /** Active at some time in this range, in milliseconds since the start. */
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
 * Writes matching indexes from `start` on into `into` from `count` on, and returns the new
 * count. Reads columns only: no row is built.
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
  for (let index = start; index < columns.length; index++) {
    if (kinds && !kinds[columns.kind[index] ?? 0]) continue
    if (states && !states[columns.state[index] ?? 0]) continue
    // The origin of an inferred step is unknown.
    if (badges && (columns.inferred[index] || !badges[columns.origin[index] ?? 0])) continue
    if (lanes && !lanes[columns.lane[index] ?? 0]) continue
    if (tools && !tools[columns.tool[index] ?? -1]) continue
    if (models && !models[columns.model[index] ?? -1]) continue
    if (costMin !== undefined && !((columns.costUsd[index] ?? Number.NaN) >= costMin)) continue
    if (to !== undefined && (columns.at[index] ?? 0) > to) continue
    if (from !== undefined && endOf(columns, index) < from) continue
    into[next++] = index
  }
  return next
}

const RUNNING = NUMBER_OF_STATE['running']

/** A step without an answer ends where it begins; a running one has no end. */
export function endOf(columns: ListColumns, index: number): number {
  if (columns.state[index] === RUNNING) return Number.POSITIVE_INFINITY
  const latency = columns.latencyMs[index] ?? Number.NaN
  const at = columns.at[index] ?? 0
  return Number.isNaN(latency) ? at : at + latency
}

/** Undefined if everything is wanted. */
function table(numbers: readonly number[]): Uint8Array | undefined {
  if (numbers.length === 0) return undefined
  const wanted = new Uint8Array(Math.max(...numbers, 0) + 1)
  for (const number of numbers) if (number >= 0) wanted[number] = 1
  return wanted
}

export type ChoiceField = 'kinds' | 'states' | 'badges' | 'lanes' | 'tools' | 'models'

interface Choice {
  readonly value: string | number
  readonly count: number
}

/** Values of a field with their number of rows; selected values are always included. */
export function choicesOf(columns: ListColumns, field: ChoiceField, filter: RowFilter): Choice[] {
  const column = columnOf(columns, field)
  const counts: number[] = []
  for (let index = 0; index < columns.length; index++) {
    if (field === 'badges' && columns.inferred[index]) continue
    const number = column[index] ?? -1
    if (number >= 0) counts[number] = (counts[number] ?? 0) + 1
  }
  const found = counts.flatMap((count, number) => [
    { value: valueOf(columns, field, number), count },
  ])
  const chosen = (filter[field] as readonly (string | number)[]).filter(
    (value) => !found.some((choice) => choice.value === value),
  )
  return [...found, ...chosen.map((value) => ({ value, count: 0 }))]
}

function columnOf(columns: ListColumns, field: ChoiceField): Uint8Array | Int32Array {
  if (field === 'kinds') return columns.kind
  if (field === 'states') return columns.state
  if (field === 'badges') return columns.origin
  if (field === 'lanes') return columns.lane
  return field === 'tools' ? columns.tool : columns.model
}

function valueOf(columns: ListColumns, field: ChoiceField, number: number): string | number {
  if (field === 'lanes') return number
  const names = {
    kinds: KINDS,
    states: STATES,
    badges: ORIGINS,
    tools: columns.names,
    models: columns.names,
  }
  return names[field][number] ?? ''
}
