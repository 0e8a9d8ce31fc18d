import { filterRows, isEmpty, type RowFilter } from './row-filter.js'
import type { RowStore } from './row-store.js'

/** The rows that a filter leaves, in order, kept up to date by looking at new rows only. */
export class FilteredRows {
  readonly rows: RowStore
  readonly filter: RowFilter
  /** Undefined when nothing is filtered out. */
  #places: Int32Array | undefined
  #count = 0
  #version = -1

  constructor(rows: RowStore, filter: RowFilter) {
    this.rows = rows
    this.filter = filter
    if (!isEmpty(filter)) this.#places = new Int32Array(rows.length)
  }

  get length(): number {
    return this.#places === undefined ? this.rows.length : this.#count
  }

  /** Rows that are not shown. */
  get hidden(): number {
    return this.rows.length - this.length
  }

  /** Place in the whole list of the row at an index of the filtered one. */
  placeAt(index: number): number {
    return this.#places === undefined ? index : (this.#places[index] ?? -1)
  }

  has(place: number): boolean {
    const index = this.indexFrom(place)
    return index < this.length && this.placeAt(index) === place
  }

  /** Index of the row at this place, or of the first shown one after it. */
  indexFrom(place: number): number {
    if (this.#places === undefined) return Math.min(place, this.rows.length)
    let [low, high] = [0, this.#count]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#places[middle] ?? 0) < place) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Takes up what has changed in the rows since it was last called. */
  update(): this {
    const { rows } = this
    if (this.#version === rows.version) return this
    const start = this.#version < 0 ? 0 : rows.changedSince(this.#version)
    this.#version = rows.version
    if (this.#places === undefined) return this
    const count = Math.min(this.#count, this.indexFrom(start))
    if (this.#places.length < rows.length) {
      const longer = new Int32Array(Math.max(rows.length, this.#places.length * 2))
      longer.set(this.#places.subarray(0, count))
      this.#places = longer
    }
    this.#count = filterRows(rows.columns, this.filter, { start, into: this.#places, count })
    return this
  }
}
