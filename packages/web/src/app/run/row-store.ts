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
} from '@retake/tape/present'
import { CRASH_LABEL } from '../../model/run-source.js'

export const laneName = (id: number, name: string | undefined): string =>
  name ?? (id === 0 ? 'main' : `lane ${id}`)

interface RowPiece {
  readonly from: number
  readonly rows: RowColumns
}

/** Recorded rows in the chunks they arrived in; a later chunk replaces what it overlaps. */
class RowPieces {
  #pieces: RowPiece[] = []

  put(piece: RowPiece): void {
    this.#pieces = this.#pieces.filter(({ from }) => from < piece.from)
    this.#pieces.push(piece)
  }

  of(row: number): RowPiece | undefined {
    const after = lowerBound(this.#pieces.length, (at) => (this.#pieces[at]?.from ?? 0) <= row)
    return this.#pieces[Math.max(0, after - 1)]
  }

  clear(): void {
    this.#pieces = []
  }
}

/** Changes remembered for incremental updates. */
const REMEMBERED = 1000

/** Counts changes to the list, with the first index that each one affected. */
class RowChanges {
  #version = 0
  #changes: { readonly version: number; readonly from: number }[] = []
  readonly #listeners = new Set<() => void>()

  get version(): number {
    return this.#version
  }

  add(from: number): void {
    this.#version += 1
    this.#changes.push({ version: this.#version, from })
    if (this.#changes.length > 2 * REMEMBERED) this.#changes = this.#changes.slice(-REMEMBERED)
    for (const listener of this.#listeners) listener()
  }

  /** The first index changed since a version; `length` if none. */
  since(version: number, length: number): number {
    if (version === this.#version) return length
    if (version < (this.#changes[0]?.version ?? 0) - 1) return 0
    let first = length
    for (let index = this.#changes.length - 1; index >= 0; index--) {
      const change = this.#changes[index]
      if (change === undefined || change.version <= version) break
      first = Math.min(first, change.from)
    }
    return first
  }

  listen(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
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

/** A copy with twice the length. */
function longer<T extends Float64Array | Int32Array | Uint8Array>(array: T): T {
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
 * until the next `rest`.
 */
export class RowStore {
  /** As of the last complete read; slightly old while a run is recorded. */
  totals: RunTotals | undefined
  isComplete = false
  readonly columns = makeListColumns()
  readonly #pieces = new RowPieces()
  #recorded = 0
  #inferred: RowColumns | undefined
  #inferredNames: readonly number[] = []
  /** Labels of rows that have inferred rows. */
  #behind = new Map<string, number[]>()
  #inferredIndexes = new Map<string, number>()
  #parents = new Map<number, string>()
  /** By list index: a recorded row, or -1 - the number of an inferred one. */
  #order = new Int32Array(256)
  /** List index by recorded row. */
  #positions = new Int32Array(256)
  readonly #labels = new Map<string, number>()
  readonly #made = new Map<number, StepRow>()
  readonly #changes = new RowChanges()

  /** Incremented with every change that could affect the screen. */
  get version(): number {
    return this.#changes.version
  }

  get length(): number {
    return this.columns.length
  }

  /** Without the crash row. */
  get steps(): number {
    return this.length - (this.indexOf(CRASH_LABEL) < 0 ? 0 : 1)
  }

  get recorded(): number {
    return this.#recorded
  }

  add(message: RowMessage): void {
    this.#changes.add(message.type === 'rows' ? this.#addRows(message) : this.#addRest(message))
  }

  /** Another run has replaced this one: everything read so far is invalid. */
  clear(): void {
    this.columns.length = 0
    this.#pieces.clear()
    this.#recorded = 0
    this.#inferred = undefined
    this.#inferredNames = []
    this.#behind = new Map()
    this.#inferredIndexes = new Map()
    this.#parents = new Map()
    this.#labels.clear()
    this.#made.clear()
    this.totals = undefined
    this.isComplete = false
    this.#changes.add(0)
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
    const recorded = this.#labels.get(label)
    if (recorded !== undefined && recorded < this.#recorded) return this.#positions[recorded] ?? -1
    const index = this.#inferredIndexes.get(label) ?? -1
    const id = index < this.length ? (this.#order[index] ?? 0) : 0
    return id < 0 && this.#inferred?.label[-1 - id] === label ? index : -1
  }

  /** The first index whose row changed since a version. */
  changedSince(version: number): number {
    return this.#changes.since(version, this.length)
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
    let first = -1
    const consider = (index: number): void => {
      if (index >= 0 && (first < 0 || index < first)) first = index
    }
    for (const [row, parent] of this.#parents)
      if (parent === label && row < this.#recorded) consider(this.#positions[row] ?? -1)
    for (const number of this.#behind.get(label) ?? [])
      consider(this.#inferredIndexes.get(this.#inferred?.label[number] ?? '') ?? -1)
    return first
  }

  readonly subscribe = (listener: () => void): (() => void) => this.#changes.listen(listener)

  readonly getVersion = (): number => this.version

  #addRows({ from, rows }: RowPiece): number {
    if (from > this.#recorded) throw new RangeError(`rows ${this.#recorded} to ${from} are missing`)
    const position = this.#indexOfRecorded(from)
    this.#cut(position)
    this.#pieces.put({ from, rows })
    this.#recorded = from
    this.isComplete = false
    const names = this.columns.learn(rows)
    for (let index = 0; index < rows.label.length; index++) this.#pushRecorded(rows, index, names)
    return position
  }

  #addRest({ inferred, totals, ...rest }: RowMessage & { type: 'rest' }): number {
    const parents = new Map(rest.parents)
    const parent = this.#firstOtherParent(parents)
    const from = Math.min(
      this.#firstOtherInferred(inferred),
      // Rows without a parent are positioned again each time.
      this.#indexOfRecorded(this.#recorded),
    )
    const row = this.#recordedFrom(from)
    const index = this.#indexOfRecorded(row)
    this.totals = totals
    this.isComplete = true
    this.#inferred = inferred
    this.#inferredNames = this.columns.learn(inferred)
    this.#parents = parents
    this.#behind = groupByParent(inferred)
    this.#cut(index)
    const end = this.#recorded
    this.#recorded = row
    let [piece, names] = [this.#pieces.of(row), undefined as number[] | undefined]
    while (this.#recorded < end) {
      const next = this.#pieces.of(this.#recorded)
      if (piece === undefined || next === undefined) break
      if (names === undefined || next !== piece) names = this.columns.learn(next.rows)
      piece = next
      this.#pushRecorded(next.rows, this.#recorded - next.from, names)
    }
    this.#inferredIndexes = this.#indexesOfInferred()
    this.#pushOrphans()
    // Parents are not a column: rebuild the rows that were built.
    this.#forget(parent)
    return Math.min(parent, index)
  }

  /** List index after the recorded rows before this one and their inferred rows. */
  #indexOfRecorded(row: number): number {
    if (row < this.#recorded) return this.#positions[row] ?? 0
    if (this.#recorded === 0) return 0
    const last = this.#positions[this.#recorded - 1] ?? 0
    const label = this.#read(this.#order[last] ?? 0).label
    return last + 1 + (this.#behind.get(label)?.length ?? 0)
  }

  /** The recorded row at a list index, or the one it follows. */
  #recordedFrom(index: number): number {
    for (let at = index; at >= 0; at--) {
      const id = this.#order[at] ?? 0
      if (at < this.length && id >= 0) return id
    }
    return 0
  }

  #cut(length: number): void {
    if (length >= this.length) return
    this.columns.length = length
    this.#forget(length)
  }

  #forget(from: number): void {
    for (const index of this.#made.keys()) if (index >= from) this.#made.delete(index)
  }

  #pushRecorded(rows: RowColumns, index: number, names: readonly number[]): void {
    const row = this.#recorded
    const label = rows.label[index] ?? ''
    if (row === this.#positions.length) this.#positions = longer(this.#positions)
    this.#positions[row] = this.length
    this.#labels.set(label, row)
    this.#recorded = row + 1
    this.#push(row, rows, index, names)
    const behind = this.#behind.get(label)
    if (behind === undefined || this.#inferred === undefined) return
    for (const number of behind)
      this.#push(-1 - number, this.#inferred, number, this.#inferredNames)
  }

  #push(id: number, rows: RowColumns, index: number, names: readonly number[]): void {
    if (this.length === this.#order.length) this.#order = longer(this.#order)
    this.#order[this.length] = id
    if (id < 0) this.#inferredIndexes.set(rows.label[index] ?? '', this.length)
    this.columns.push(rows, index, names, id < 0)
  }

  /** Nothing is dropped: rows without a parent go to the end. */
  #pushOrphans(): void {
    const inferred = this.#inferred
    if (inferred === undefined || this.length === this.#recorded + inferred.label.length) return
    for (const [number, label] of inferred.label.entries())
      if (!this.#inferredIndexes.has(label))
        this.#push(-1 - number, inferred, number, this.#inferredNames)
  }

  #indexesOfInferred(): Map<string, number> {
    const indexes = new Map<string, number>()
    if (this.#inferred?.label.length === 0) return indexes
    for (let index = 0; index < this.length; index++) {
      const id = this.#order[index] ?? 0
      if (id < 0) indexes.set(this.#inferred?.label[-1 - id] ?? '', index)
    }
    return indexes
  }

  #firstOtherInferred(next: RowColumns): number {
    const before = this.#inferred
    const most = Math.max(before?.label.length ?? 0, next.label.length)
    let first = this.length
    for (let number = 0; number < most; number++) {
      if (before !== undefined && isSameRow(before, next, number)) continue
      for (const parent of [before?.parent[number], next.parent[number]])
        if (parent !== undefined && parent !== null && this.indexOf(parent) >= 0)
          first = Math.min(first, this.indexOf(parent))
    }
    return first
  }

  #firstOtherParent(next: ReadonlyMap<number, string>): number {
    let first = this.#recorded
    for (const [row, parent] of next)
      if (row < first && this.#parents.get(row) !== parent) first = row
    for (const row of this.#parents.keys()) if (row < first && !next.has(row)) first = row
    return first < this.#recorded ? (this.#positions[first] ?? 0) : this.length
  }

  #read(id: number): StepRow {
    if (id < 0) return rowAt(this.#inferred as RowColumns, -1 - id, true)
    const piece = this.#pieces.of(id)
    if (piece === undefined) throw new RangeError(`there is no recorded row ${id}`)
    const row = rowAt(piece.rows, id - piece.from)
    const parent = this.#parents.get(id)
    return parent === undefined ? row : { ...row, parent }
  }
}

function groupByParent(inferred: RowColumns): Map<string, number[]> {
  const groups = new Map<string, number[]>()
  for (const [number, parent] of inferred.parent.entries()) {
    const group = groups.get(parent ?? '')
    if (group === undefined) groups.set(parent ?? '', [number])
    else group.push(number)
  }
  return groups
}
