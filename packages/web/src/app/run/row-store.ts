import type { RunTotals } from '@retake/tape'
import {
  type ArrayName,
  type ColumnName,
  ROW_COLUMNS,
  rowAt,
  type RowColumns,
  type RowMessage,
  STATES,
  type StepRow,
} from '@retake/tape/present'
import { Store } from '../store.js'

export const laneName = (id: number, name: string | undefined): string =>
  name ?? (id === 0 ? 'main' : `lane ${id}`)

interface RowPiece {
  readonly from: number
  readonly rows: RowColumns
}

const ARRAYS = {
  numbers: Float64Array,
  codes: Uint8Array,
  integers: Int32Array,
  names: Int32Array,
} as const satisfies Record<ArrayName, unknown>

type ArrayOf<Name extends ColumnName> = (typeof ROW_COLUMNS)[Name]['array']
type ListColumn = {
  [Name in ColumnName]: ArrayOf<Name> extends ArrayName ? Name : never
}[ColumnName]
type Arrays = {
  [Name in ListColumn]: InstanceType<(typeof ARRAYS)[Extract<ArrayOf<Name>, ArrayName>]>
}

const LIST_COLUMNS = Object.entries(ROW_COLUMNS).flatMap(([name, { array }]) =>
  array === undefined ? [] : [{ name: name as ListColumn, array }],
)

/**
 * The columns that filters and the timeline read, by index in the list. Arrays are longer
 * than the list: only the first `length` values count.
 */
export interface ListColumns extends Readonly<Arrays> {
  length: number
  readonly inferred: Uint8Array
  readonly names: string[]
  indexOfName(name: string): number
  /** Appends one row. `names` are the indexes of the names in its columns, from `learn`. */
  push(from: RowColumns, index: number, names: readonly number[], isInferred: boolean): void
  learn(from: RowColumns): number[]
}

export function makeListColumns(): ListColumns {
  const arrays = Object.fromEntries(
    LIST_COLUMNS.map(({ name, array }) => [name, new ARRAYS[array](256)]),
  ) as Arrays
  const indexes = new Map<string, number>()
  const columns = {
    ...arrays,
    length: 0,
    inferred: new Uint8Array(256),
    names: [] as string[],
    indexOfName: (name: string) => indexes.get(name) ?? -1,
    push(from: RowColumns, index: number, names: readonly number[], isInferred: boolean) {
      const at = columns.length
      if (at === columns.at.length) {
        for (const { name } of LIST_COLUMNS) columns[name] = longer(columns[name]) as never
        columns.inferred = longer(columns.inferred)
      }
      for (const { name, array } of LIST_COLUMNS) {
        const stored = from[name][index]
        columns[name][at] =
          array === 'names'
            ? (names[stored ?? -1] ?? -1)
            : (stored ?? (array === 'numbers' ? Number.NaN : 0))
      }
      columns.inferred[at] = isInferred ? 1 : 0
      columns.length = at + 1
    },
    learn: (from: RowColumns) =>
      from.names.map((name) => {
        const known = indexes.get(name)
        if (known !== undefined) return known
        indexes.set(name, columns.names.length)
        return columns.names.push(name) - 1
      }),
  }
  return columns
}

/** A copy with twice the length. */
export function longer<T extends Float64Array | Int32Array | Uint8Array>(array: T): T {
  const twice = new (array.constructor as new (length: number) => T)(array.length * 2)
  twice.set(array)
  return twice
}

const RUNNING = STATES.indexOf('running')
const IN_DOUBT = STATES.indexOf('in doubt')
const ABORTED = STATES.indexOf('aborted')

/**
 * The rows of a run as they arrive: recorded ones in order, each followed by the steps
 * inferred from its conversation. Rows stay columns until they are shown. While a run is
 * recorded, rows arrive again from some index on and replace the old ones; inferred rows stay
 * until the next `rest`. The value of the store is a version, which changes with everything
 * that could change the screen.
 */
export class RowStore extends Store<number> {
  /** As of the last complete read; slightly old while a run is recorded. */
  totals: RunTotals | undefined
  isComplete = false
  readonly columns = makeListColumns()
  /** Recorded rows in the chunks they arrived in; a later chunk replaces what it overlaps. */
  #pieces: readonly RowPiece[] = []
  #recorded = 0
  #inferred: RowColumns | undefined
  /** Numbers of the inferred rows, by the label of the row that each follows. */
  #behind: ReadonlyMap<string, readonly number[]> = new Map()
  #parents: ReadonlyMap<number, string> = new Map()
  /** By list index: a recorded row, or -1 - the number of an inferred one. */
  readonly #order: number[] = []
  /** List index by recorded row, and by label. */
  readonly #positions: number[] = []
  readonly #labels = new Map<string, number>()
  readonly #made = new Map<number, StepRow>()

  constructor() {
    super(0)
  }

  get version(): number {
    return this.get()
  }

  get length(): number {
    return this.columns.length
  }

  get recorded(): number {
    return this.#recorded
  }

  add(message: RowMessage): void {
    if (message.type === 'rows') this.#addRows(message)
    else this.#addRest(message)
    this.set(this.version + 1)
  }

  /** Another run has replaced this one: nothing that was read is valid. */
  clear(): void {
    this.#cut(0)
    this.#pieces = []
    this.#recorded = 0
    this.#inferred = undefined
    this.#behind = new Map()
    this.#parents = new Map()
    this.#labels.clear()
    this.totals = undefined
    this.isComplete = false
    this.set(this.version + 1)
  }

  at(index: number): StepRow {
    const made = this.#made.get(index)
    if (made !== undefined) return made
    if (index < 0 || index >= this.length) throw new RangeError(`there is no row ${index}`)
    const row = this.#read(this.#order[index] ?? 0)
    if (this.#made.size > 20_000) this.#made.clear()
    this.#made.set(index, row)
    return row
  }

  /** -1 if there is none. */
  indexOf(label: string): number {
    const index = this.#labels.get(label) ?? -1
    return index >= 0 && index < this.length && this.at(index).label === label ? index : -1
  }

  /**
   * The first recorded row that may still change. One without an answer may still get it, even
   * if the run seemed killed.
   */
  firstOpen(): number {
    for (let row = 0; row < this.#recorded; row++) {
      const state = this.columns.state[this.#positions[row] ?? 0]
      if (state === RUNNING || state === IN_DOUBT) return row
      if (state === ABORTED && this.#read(row).error === undefined) return row
    }
    return this.#recorded
  }

  /** Index of the first row caused by this one; -1 if there is none. */
  firstChildOf(label: string): number {
    const linked = [...this.#parents].flatMap(([row, parent]) =>
      parent === label && row < this.#recorded ? [this.#positions[row] ?? -1] : [],
    )
    const inferred = (this.#behind.get(label) ?? []).map((number) =>
      this.indexOf(this.#inferred?.label[number] ?? ''),
    )
    const children = [...linked, ...inferred].filter((index) => index >= 0)
    return children.length === 0 ? -1 : children.reduce((a, b) => Math.min(a, b))
  }

  #addRows({ from, rows }: RowPiece): void {
    if (from > this.#recorded) throw new RangeError(`rows ${this.#recorded} to ${from} are missing`)
    this.#cut(this.#indexOfRecorded(from))
    this.#pieces = [...this.#pieces.filter((piece) => piece.from < from), { from, rows }]
    this.#recorded = from
    this.isComplete = false
    this.#pushRecorded(rows, rows.label.length)
  }

  #addRest({ inferred, parents, totals }: RowMessage & { type: 'rest' }): void {
    const hasInferred = inferred.label.length > 0 || (this.#inferred?.label.length ?? 0) > 0
    this.totals = totals
    this.isComplete = true
    this.#inferred = inferred
    this.#parents = new Map(parents)
    this.#behind = groupByParent(inferred)
    // Parents are not a column: rebuild the rows that were built.
    this.#made.clear()
    if (!hasInferred) return
    const end = this.#recorded
    this.#cut(0)
    this.#recorded = 0
    for (const [index, { from, rows }] of this.#pieces.entries())
      this.#pushRecorded(rows, (this.#pieces[index + 1]?.from ?? end) - from)
    const names = this.columns.learn(inferred)
    // Nothing is dropped: rows without a parent go to the end.
    for (const [number, label] of inferred.label.entries())
      if (this.indexOf(label) < 0) this.#push(-1 - number, inferred, number, names)
  }

  /** List index after the recorded rows before this one and their inferred rows. */
  #indexOfRecorded(row: number): number {
    if (row < this.#recorded) return this.#positions[row] ?? 0
    if (this.#recorded === 0) return 0
    const last = this.#positions[this.#recorded - 1] ?? 0
    return last + 1 + (this.#behind.get(this.at(last).label)?.length ?? 0)
  }

  #cut(length: number): void {
    this.columns.length = Math.min(length, this.length)
    for (const index of this.#made.keys()) if (index >= length) this.#made.delete(index)
  }

  #pushRecorded(rows: RowColumns, count: number): void {
    const names = this.columns.learn(rows)
    const inferred = this.#inferred
    const inferredNames = inferred === undefined ? [] : this.columns.learn(inferred)
    for (let index = 0; index < count; index++) {
      this.#positions[this.#recorded] = this.length
      this.#push(this.#recorded, rows, index, names)
      this.#recorded += 1
      if (inferred === undefined) continue
      for (const number of this.#behind.get(rows.label[index] ?? '') ?? [])
        this.#push(-1 - number, inferred, number, inferredNames)
    }
  }

  #push(id: number, rows: RowColumns, index: number, names: readonly number[]): void {
    this.#order[this.length] = id
    this.#labels.set(rows.label[index] ?? '', this.length)
    this.columns.push(rows, index, names, id < 0)
  }

  #read(id: number): StepRow {
    if (id < 0) return rowAt(this.#inferred as RowColumns, -1 - id, true)
    const piece = this.#pieces[
      lowerBound(this.#pieces.length, (at) => (this.#pieces[at]?.from ?? 0) <= id) - 1
    ] as RowPiece
    const row = rowAt(piece.rows, id - piece.from)
    const parent = this.#parents.get(id)
    return parent === undefined ? row : { ...row, parent }
  }
}

/** The first index for which a condition that is true up to some index is false. */
export function lowerBound(length: number, isBefore: (index: number) => boolean): number {
  let [low, high] = [0, length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (isBefore(middle)) low = middle + 1
    else high = middle
  }
  return low
}

function groupByParent(inferred: RowColumns): Map<string, number[]> {
  const groups = new Map<string, number[]>()
  for (const [number, parent] of inferred.parent.entries()) {
    const group = groups.get(parent ?? '') ?? []
    groups.set(parent ?? '', group)
    group.push(number)
  }
  return groups
}
