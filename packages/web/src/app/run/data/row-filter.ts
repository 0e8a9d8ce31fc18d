import {
  KINDS,
  ORIGINS,
  type RowKind,
  type RowOrigin,
  type RowState,
  STATES,
} from '@retake/tape/present'
import { CRASH_LABEL } from '../../../model/run-source.js'
import { type ListColumns, lowerBound, type RowStore } from './row-store.js'

const FAILED = STATES.indexOf('failed')

/** The row that is `by` shown rows away, within the list; -1 if no row is shown. */
export function moveBy(shown: FilteredRows, position: number, by: number): number {
  if (shown.length === 0) return -1
  if (position < 0) return shown.rowAt(by > 0 ? 0 : shown.length - 1)
  const index = shown.indexFrom(position)
  // If the selected row is filtered out, `index` is already the next one.
  const start = by > 0 && !shown.has(position) ? index - 1 : index
  return shown.rowAt(Math.min(shown.length - 1, Math.max(0, start + by)))
}

/** The next shown row in the same lane, in either direction; -1 if there is none. */
export function moveInLane(shown: FilteredRows, index: number, direction: 1 | -1): number {
  const { lane } = shown.rows.columns
  return find(shown, index, direction, (other) => lane[other] === lane[index])
}

export function moveToFailed(shown: FilteredRows, index: number, direction: 1 | -1): number {
  const { state } = shown.rows.columns
  return find(shown, index, direction, (other) => state[other] === FAILED)
}

function find(
  shown: FilteredRows,
  position: number,
  direction: 1 | -1,
  fits: (location: number) => boolean,
): number {
  let index = shown.indexFrom(position < 0 ? 0 : position)
  if (position >= 0 && (direction < 0 || shown.has(position))) index += direction
  for (; index >= 0 && index < shown.length; index += direction)
    if (fits(shown.rowAt(index))) return shown.rowAt(index)
  return -1
}

/**
 * The initial selection: the first failure, or else the first step; the last step of a run in
 * progress. Undefined while it is not known yet.
 */
export function initialStep(rows: RowStore, wasGrowing = false): number | undefined {
  const { state } = rows.columns
  for (let index = 0; index < rows.length; index++) if (state[index] === FAILED) return index
  if (!rows.isComplete || rows.length === 0) return undefined
  return wasGrowing ? rows.length - 1 : 0
}

export class FilteredRows {
  readonly rows: RowStore
  readonly filter: RowFilter
  /** Undefined if no row is filtered out. */
  #indexes: Int32Array | undefined
  #version = -1

  constructor(rows: RowStore, filter: RowFilter) {
    this.rows = rows
    this.filter = filter
  }

  get length(): number {
    return (this.#indexes ?? this.rows).length
  }

  /** Number of steps with inferred ones, without the crash row. */
  get steps(): number {
    const crash = this.rows.indexOf(CRASH_LABEL)
    return this.length - (crash >= 0 && this.has(crash) ? 1 : 0)
  }

  get hidden(): number {
    return this.rows.length - this.length
  }

  rowAt(index: number): number {
    return this.#indexes === undefined ? index : (this.#indexes[index] ?? -1)
  }

  has(position: number): boolean {
    const index = this.indexFrom(position)
    return index < this.length && this.rowAt(index) === position
  }

  /** Index of a row in the filtered list, or of the next shown row. */
  indexFrom(index: number): number {
    const indexes = this.#indexes
    return indexes === undefined
      ? Math.min(index, this.rows.length)
      : lowerBound(indexes.length, (at) => (indexes[at] ?? 0) < index)
  }

  update(): this {
    if (this.#version === this.rows.version) return this
    this.#version = this.rows.version
    this.#indexes = isEmpty(this.filter) ? undefined : filterRows(this.rows.columns, this.filter)
    return this
  }
}

/** A row must match one value of each field. A missing field matches every row. */
export interface RowFilter {
  readonly kind?: readonly RowKind[]
  readonly state?: readonly RowState[]
  readonly origin?: readonly RowOrigin[]
  readonly lane?: readonly number[]
  readonly tool?: readonly string[]
  readonly model?: readonly string[]
  /** At least this many dollars. Steps of unknown cost do not match. */
  readonly cost?: number
  /** Time range in which a step must be active, in milliseconds since the start. */
  readonly from?: number
  readonly to?: number
}

export const isEmpty = (filter: RowFilter): boolean =>
  Object.values(filter).every((value) => value === undefined)

/** Possible values of each field: a fixed list, or the names that occur. */
const FIELDS = {
  kind: KINDS,
  state: STATES,
  origin: ORIGINS,
  lane: undefined,
  tool: 'names',
  model: 'names',
} as const

export type ChoiceField = keyof typeof FIELDS

const RUNNING = STATES.indexOf('running')

/** Indexes of the matching rows. Reads only columns, without creating rows. */
function filterRows(columns: ListColumns, filter: RowFilter): Int32Array {
  const wanted = Object.entries(FIELDS).flatMap(([name, values]) => {
    const field = name as ChoiceField
    const chosen: readonly (string | number)[] | undefined = filter[field]
    if (chosen === undefined) return []
    const codes = chosen.map((value) =>
      values === undefined
        ? Number(value)
        : values === 'names'
          ? columns.indexOfName(String(value))
          : (values as readonly unknown[]).indexOf(value),
    )
    const table = new Uint8Array(Math.max(...codes, 0) + 1)
    for (const code of codes) if (code >= 0) table[code] = 1
    return [{ column: columns[field], table }]
  })
  const { cost, from, to } = filter
  const found = new Int32Array(columns.length)
  let count = 0
  for (let index = 0; index < columns.length; index++) {
    if (wanted.some(({ column, table }) => !table[column[index] ?? -1])) continue
    // The origin of an inferred step is unknown.
    if (filter.origin !== undefined && columns.inferred[index]) continue
    if (cost !== undefined && !((columns.costUsd[index] ?? Number.NaN) >= cost)) continue
    if (to !== undefined && (columns.at[index] ?? 0) > to) continue
    if (from !== undefined && rowEndOf(columns, index) < from) continue
    found[count++] = index
  }
  return found.subarray(0, count)
}

/** A running step has no end. Any other step without an answer ends where it begins. */
export function rowEndOf(columns: ListColumns, index: number): number {
  if (columns.state[index] === RUNNING) return Number.POSITIVE_INFINITY
  const latency = columns.latencyMs[index] ?? Number.NaN
  const at = columns.at[index] ?? 0
  return Number.isNaN(latency) ? at : at + latency
}

/** Values of a field with their number of rows. Always includes selected values. */
export function choicesOf(
  columns: ListColumns,
  field: ChoiceField,
  filter: RowFilter,
): { readonly value: string | number; readonly count: number }[] {
  const values = FIELDS[field]
  const names = values === 'names' ? columns.names : values
  const counts: number[] = []
  for (let index = 0; index < columns.length; index++) {
    if (field === 'origin' && columns.inferred[index]) continue
    const code = columns[field][index] ?? -1
    if (code >= 0) counts[code] = (counts[code] ?? 0) + 1
  }
  const found = counts.flatMap((count, code) => [
    { value: names === undefined ? code : (names[code] ?? ''), count },
  ])
  const chosen = ((filter[field] ?? []) as readonly (string | number)[]).filter(
    (value) => !found.some((choice) => choice.value === value),
  )
  return [...found, ...chosen.map((value) => ({ value, count: 0 }))]
}
