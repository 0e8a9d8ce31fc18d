import { STATES } from '@retake/tape/present'
import type { FilteredRows } from './row-filter.js'
import type { RowStore } from './row-store.js'

const FAILED = STATES.indexOf('failed')

/** The row so many shown rows away, within the ends; -1 if none is shown. */
export function moveBy(shown: FilteredRows, position: number, by: number): number {
  if (shown.length === 0) return -1
  if (position < 0) return shown.rowAt(by > 0 ? 0 : shown.length - 1)
  const index = shown.indexFrom(position)
  // If the selected row is filtered out, the next one is already one step further.
  const start = by > 0 && !shown.has(position) ? index - 1 : index
  return shown.rowAt(Math.min(shown.length - 1, Math.max(0, start + by)))
}

/** The next shown row in the same lane, in either direction; -1 if there is none. */
export function moveInLane(shown: FilteredRows, index: number, direction: 1 | -1): number {
  const { lane } = shown.rows.columns
  return find(shown, index, direction, (other) => lane[other] === lane[index])
}

/** The next shown row that failed; -1 if there is none. */
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
 * The initial selection: the first failure, else the first step, or the last of a run that is
 * being watched. Undefined while unknown.
 */
export function firstLook(rows: RowStore, wasGrowing = false): number | undefined {
  const { state } = rows.columns
  for (let index = 0; index < rows.length; index++) if (state[index] === FAILED) return index
  if (!rows.isComplete || rows.length === 0) return undefined
  return wasGrowing ? rows.length - 1 : 0
}
