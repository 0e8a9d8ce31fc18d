import type { RunTotals } from '@retake/tape'
import {
  type ArrayName,
  type ColumnName,
  isSameRow,
  ROW_COLUMNS,
  rowAt,
  type RowColumns,
  type RowMessage,
  STATES,
  type StepRow,
  toColumns,
} from '@retake/tape/present'
import { CRASH_LABEL } from '../../../model/run-source.js'

export const laneName = (id: number, name: string | undefined): string =>
  name ?? (id === 0 ? 'main' : `lane ${id}`)

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
 * The columns that filters and the timeline read, by index in the list. Only the first `length`
 * values of each array count.
 */
export interface ListColumns extends Readonly<Arrays> {
  length: number
  readonly inferred: Uint8Array
  readonly names: string[]
  indexOfName(name: string): number
  /** Appends a row. `names` are the indexes that `learn` returned. */
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

/** The first index at which a condition becomes false. */
export function lowerBound(length: number, isBefore: (index: number) => boolean): number {
  let [low, high] = [0, length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (isBefore(middle)) low = middle + 1
    else high = middle
  }
  return low
}

function longer<T extends Float64Array | Int32Array | Uint8Array>(array: T): T {
  const twice = new (array.constructor as new (length: number) => T)(array.length * 2)
  twice.set(array)
  return twice
}

const RUNNING = STATES.indexOf('running')
const IN_DOUBT = STATES.indexOf('in doubt')
const ABORTED = STATES.indexOf('aborted')

/**
 * The rows of a run as they arrive: recorded rows in order, each followed by the steps inferred from
 * its conversation. Rows are stored as columns until they are shown. While a run is recorded, rows
 * arrive again from some index on and replace the old ones. Inferred rows stay until the next `rest`.
 */
export class RowStore {
  /** From the last complete read, so slightly outdated while a run is recorded. */
  totals: RunTotals | undefined
  isComplete = false
  readonly columns = makeListColumns()
  /** Incremented with every visible change. */
  version = 0
  /** Recorded rows in chunks as they arrived. A chunk ends where the next one begins. */
  #pieces: { readonly from: number; readonly rows: RowColumns }[] = []
  #recorded = 0
  /** Length of the list without orphans: inferred rows at the end whose parent is missing. */
  #end = 0
  #inferred = toColumns([])
  /** Inferred rows by the label of the row that they follow. */
  #behind = new Map<string, number[]>()
  #parents = new Map<number, string>()
  /** By list index: the number of a recorded row, or `-1 - n` for inferred row n. */
  #order = new Int32Array(256)
  #positions = new Int32Array(256)
  /** List index by label. May contain rows that no longer exist. */
  readonly #indexes = new Map<string, number>()
  readonly #made = new Map<number, StepRow>()
  readonly #listeners = new Set<() => void>()

  get length(): number {
    return this.columns.length
  }

  /** Number of recorded steps, like in lists of runs: without inferred ones and the crash row. */
  get steps(): number {
    return this.#recorded - (this.indexOf(CRASH_LABEL) < 0 ? 0 : 1)
  }

  get recorded(): number {
    return this.#recorded
  }

  get inferred(): number {
    return this.#inferred.label.length
  }

  add(message: RowMessage): void {
    if (message.type === 'rows') this.#addRows(message)
    else this.#addRest(message)
    this.#changed()
  }

  /** Discards everything, because another run has replaced this one. */
  clear(): void {
    this.#pieces = []
    this.#inferred = toColumns([])
    this.#behind.clear()
    this.#parents.clear()
    this.totals = undefined
    this.isComplete = false
    this.#cut(0)
    this.#changed()
  }

  at(index: number): StepRow {
    const made = this.#made.get(index)
    if (made !== undefined) return made
    if (index < 0 || index >= this.length) throw new RangeError(`there is no row ${index}`)
    const [rows, number] = this.#locate(index)
    const id = this.#order[index] ?? 0
    const parent = this.#parents.get(id)
    const row = { ...rowAt(rows, number, id < 0), ...(parent !== undefined && { parent }) }
    if (this.#made.size > 20_000) this.#made.clear()
    this.#made.set(index, row)
    return row
  }

  indexOf(label: string): number {
    const index = this.#indexes.get(label) ?? -1
    if (index < 0 || index >= this.length) return -1
    const [rows, number] = this.#locate(index)
    return rows.label[number] === label ? index : -1
  }

  /**
   * The first recorded row that may still change. A row without an answer may still get one, even if
   * the run seemed killed.
   */
  firstOpen(): number {
    for (let row = 0; row < this.#recorded; row++) {
      const index = this.#positions[row] ?? 0
      const state = this.columns.state[index]
      if (state === RUNNING || state === IN_DOUBT) return row
      if (state === ABORTED && this.at(index).error === undefined) return row
    }
    return this.#recorded
  }

  /** Index of the first row caused by this one; -1 if there is none. */
  firstChildOf(label: string): number {
    const recorded = [...this.#parents].flatMap(([row, parent]) =>
      parent === label && row < this.#recorded ? [this.#positions[row] ?? -1] : [],
    )
    const inferred = (this.#behind.get(label) ?? []).map((number) =>
      this.indexOf(this.#inferred.label[number] ?? ''),
    )
    const found = [...recorded, ...inferred].filter((index) => index >= 0)
    return found.length === 0 ? -1 : Math.min(...found)
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  readonly getVersion = (): number => this.version

  #changed(): void {
    this.version += 1
    for (const listener of this.#listeners) listener()
  }

  #addRows({ from, rows }: RowMessage & { type: 'rows' }): void {
    if (from > this.#recorded) throw new RangeError(`rows ${this.#recorded} to ${from} are missing`)
    this.#pieces = [...this.#pieces.filter((piece) => piece.from < from), { from, rows }]
    this.isComplete = false
    this.#cut(from)
    this.#pushRecorded(rows, rows.label.length)
  }

  #addRest({ inferred, parents, totals }: RowMessage & { type: 'rest' }): void {
    const before = this.#inferred
    const isSame =
      before.label.length === inferred.label.length &&
      before.label.every((_, number) => isSameRow(before, inferred, number))
    this.totals = totals
    this.isComplete = true
    this.#inferred = inferred
    this.#parents = new Map(parents)
    const { parent } = inferred
    const groups = new Map<string, number[]>(parent.map((label) => [label ?? '', []]))
    for (const [number, label] of parent.entries()) groups.get(label ?? '')?.push(number)
    this.#behind = groups
    const end = this.#recorded
    this.#cut(isSame ? end : 0)
    for (const [index, { rows, from }] of this.#pieces.entries())
      if (from >= this.#recorded)
        this.#pushRecorded(rows, (this.#pieces[index + 1]?.from ?? end) - from)
    // Appends inferred rows without a parent, so that no row is lost.
    const names = this.columns.learn(this.#inferred)
    for (const [number, label] of this.#inferred.label.entries())
      if (this.indexOf(label) < 0) this.#push(-1 - number, this.#inferred, number, names)

    // The parent is part of a row but not a column.
    this.#made.clear()
  }

  /** Removes recorded rows from this one on, and orphans. */
  #cut(row: number): void {
    this.columns.length = row < this.#recorded ? (this.#positions[row] ?? 0) : this.#end
    this.#end = this.columns.length
    this.#recorded = Math.min(row, this.#recorded)
    for (const index of this.#made.keys()) if (index >= this.#end) this.#made.delete(index)
  }

  #pushRecorded(rows: RowColumns, count: number): void {
    const [names, inferredNames] = [this.columns.learn(rows), this.columns.learn(this.#inferred)]
    for (let index = 0; index < count; index++) {
      const row = this.#recorded++
      if (row === this.#positions.length) this.#positions = longer(this.#positions)
      this.#positions[row] = this.length
      this.#push(row, rows, index, names)
      for (const number of this.#behind.get(rows.label[index] ?? '') ?? [])
        this.#push(-1 - number, this.#inferred, number, inferredNames)
    }
    this.#end = this.length
  }

  #push(id: number, rows: RowColumns, index: number, names: readonly number[]): void {
    if (this.length === this.#order.length) this.#order = longer(this.#order)
    this.#order[this.length] = id
    this.#indexes.set(rows.label[index] ?? '', this.length)
    this.columns.push(rows, index, names, id < 0)
  }

  /** The columns with the row at a list index, and its number there. */
  #locate(index: number): [rows: RowColumns, number: number] {
    const id = this.#order[index] ?? 0
    if (id < 0) return [this.#inferred, -1 - id]
    const after = lowerBound(this.#pieces.length, (at) => (this.#pieces[at]?.from ?? 0) <= id)
    const piece = this.#pieces[after - 1]
    if (piece === undefined) throw new RangeError(`there is no recorded row ${id}`)
    return [piece.rows, id - piece.from]
  }
}
