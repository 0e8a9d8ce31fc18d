import type { RunTotals } from '@retake/tape'
import { rowAt, type Row, type RowColumns, type RowMessage } from '../../model/step-rows.js'

/** One piece of the recorded rows, as it came. */
interface Piece {
  readonly from: number
  readonly rows: RowColumns
}

/**
 * The rows of a run as they arrive. Rows stay columns until they are looked at;
 * `version` changes with everything that could change a screen.
 */
export class RowStore {
  version = 0
  totals: RunTotals | undefined
  #pieces: Piece[] = []
  #recorded = 0
  #inferred: RowColumns | undefined
  #parents = new Map<number, string>()
  /** Places in the list: a recorded row, or -1 - place of an inferred one. */
  #order: Int32Array | undefined
  readonly #places = new Map<string, number>()
  readonly #made = new Map<number, Row>()
  readonly #listeners = new Set<() => void>()

  /** Rows in the list. */
  get length(): number {
    return this.#order?.length ?? this.#recorded
  }

  /** Every row has been read. */
  get isComplete(): boolean {
    return this.totals !== undefined
  }

  add(message: RowMessage): void {
    if (message.type === 'rows') this.#addRows(message)
    else {
      this.totals = message.totals
      this.#inferred = message.inferred
      this.#parents = new Map(message.parents)
      this.#order = this.#mergeInferred(message.inferred)
      this.#made.clear()
      this.#indexLabels()
    }
    this.#changed()
  }

  at(place: number): Row {
    const made = this.#made.get(place)
    if (made !== undefined) return made
    const row = this.#read(this.#order === undefined ? place : (this.#order[place] ?? 0))
    if (this.#made.size > 20_000) this.#made.clear()
    this.#made.set(place, row)
    return row
  }

  /** Place in the list of the row with this label; -1 when there is none. */
  placeOf(label: string): number {
    return this.#places.get(label) ?? -1
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  readonly getVersion = (): number => this.version

  /** Rows that came again replace those from their place on: a run that goes on answers its open steps. */
  #addRows({ from, rows }: Piece): void {
    if (from < this.#recorded) {
      this.#pieces = this.#pieces.filter((piece) => piece.from < from)
      this.#made.clear()
    }
    this.#pieces.push({ from, rows })
    this.#recorded = from + rows.seq.length
    this.#order = undefined
    this.totals = undefined
    for (const [index, label] of rows.label.entries()) this.#places.set(label, from + index)
  }

  #read(place: number): Row {
    if (place < 0) return rowAt(this.#inferred as RowColumns, -1 - place, true)
    const piece = this.#pieces[this.#pieceAt(place)]
    if (piece === undefined) throw new Error(`there is no row ${place}`)
    const row = rowAt(piece.rows, place - piece.from)
    const parent = this.#parents.get(place)
    return parent === undefined ? row : { ...row, parent }
  }

  #pieceAt(place: number): number {
    let [low, high] = [0, this.#pieces.length - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((this.#pieces[middle]?.from ?? 0) <= place) low = middle
      else high = middle - 1
    }
    return low
  }

  #mergeInferred(inferred: RowColumns): Int32Array {
    const behind = new Map<string, number[]>()
    for (const [index, parent] of inferred.parent.entries()) {
      const list = behind.get(parent ?? '') ?? []
      behind.set(parent ?? '', [...list, index])
    }
    const order = new Int32Array(this.#recorded + inferred.seq.length)
    let next = 0
    for (const { from, rows } of this.#pieces) {
      for (const [index, label] of rows.label.entries()) {
        order[next++] = from + index
        for (const place of behind.get(label) ?? []) order[next++] = -1 - place
      }
    }
    return order
  }

  #indexLabels(): void {
    this.#places.clear()
    for (let place = 0; place < this.length; place++) this.#places.set(this.at(place).label, place)
  }

  #changed(): void {
    this.version += 1
    for (const listener of this.#listeners) listener()
  }
}
