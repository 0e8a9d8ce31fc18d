import { ROW_COLUMNS, type ArrayName, type ColumnName, type RowColumns } from '@retake/tape/present'

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
  /** Index of a name; -1 if no row has it. */
  indexOfName(name: string): number
  /** Appends one row. `names` are the indexes of the names in its columns, from `learn`. */
  push(from: RowColumns, index: number, names: readonly number[], isInferred: boolean): void
  /** Indexes into `names` of the names in some columns. */
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

/** The same values with space for as many more. */
export function longer<T extends Float64Array | Int32Array | Uint8Array>(array: T): T {
  const twice = new (array.constructor as new (length: number) => T)(array.length * 2)
  twice.set(array)
  return twice
}
