import { STATES } from '@retake/tape/present'
import type { FilteredRows } from './filtered-rows.js'
import type { RowStore } from './row-store.js'

const FAILED = STATES.indexOf('failed')

/** Place of the row that is so many shown rows away; the ends stop it. -1 when none is shown. */
export function moveBy(shown: FilteredRows, place: number, by: number): number {
  if (shown.length === 0) return -1
  if (place < 0) return shown.placeAt(by > 0 ? 0 : shown.length - 1)
  const index = shown.indexFrom(place)
  // Where the selected row is filtered out, the one after it already is one further.
  const start = by > 0 && !shown.has(place) ? index - 1 : index
  return shown.placeAt(Math.min(shown.length - 1, Math.max(0, start + by)))
}

/** Place of the next shown row in the same lane, in either direction; -1 when there is none. */
export function moveInLane(shown: FilteredRows, place: number, direction: 1 | -1): number {
  const { lane } = shown.rows.columns
  return find(shown, place, direction, (other) => lane[other] === lane[place])
}

/** Place of the next shown row that failed; -1 when there is none. */
export function moveToFailed(shown: FilteredRows, place: number, direction: 1 | -1): number {
  const { state } = shown.rows.columns
  return find(shown, place, direction, (other) => state[other] === FAILED)
}

function find(
  shown: FilteredRows,
  place: number,
  direction: 1 | -1,
  fits: (place: number) => boolean,
): number {
  let index = shown.indexFrom(place < 0 ? 0 : place)
  if (place >= 0 && (direction < 0 || shown.has(place))) index += direction
  for (; index >= 0 && index < shown.length; index += direction)
    if (fits(shown.placeAt(index))) return shown.placeAt(index)
  return -1
}

/**
 * Where to look first: at what failed first, else at the beginning, or at the end of a
 * run that was seen growing. Undefined while that is not known.
 */
export function firstLook(rows: RowStore, wasGrowing = false): number | undefined {
  const { state } = rows.columns
  for (let place = 0; place < rows.length; place++) if (state[place] === FAILED) return place
  if (!rows.isComplete || rows.length === 0) return undefined
  return wasGrowing ? rows.length - 1 : 0
}
