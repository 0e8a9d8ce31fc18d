import type { RowColumns } from '../../model/step-rows.js'

const NUMBERS = ['at', 'latencyMs', 'tokensIn', 'tokensOut', 'costUsd'] as const
const CODES = ['kind', 'state', 'badge'] as const
const NAMES = ['provider', 'model', 'tool'] as const

/**
 * What filters and the timeline ask of every row, by its place in the list. Numbers
 * that are not known are NaN; names are numbers into `names`, -1 where there is none.
 * Arrays are longer than the list: only the first `length` values mean something.
 */
export class ListColumns {
  length = 0
  at = new Float64Array(256)
  latencyMs = new Float64Array(256)
  tokensIn = new Float64Array(256)
  tokensOut = new Float64Array(256)
  costUsd = new Float64Array(256)
  kind = new Uint8Array(256)
  state = new Uint8Array(256)
  badge = new Uint8Array(256)
  inferred = new Uint8Array(256)
  lane = new Int32Array(256)
  provider = new Int32Array(256)
  model = new Int32Array(256)
  tool = new Int32Array(256)
  readonly names: string[] = []
  readonly #numbers = new Map<string, number>()

  /** Number of a name; -1 when no row has it. */
  numberOf(name: string): number {
    return this.#numbers.get(name) ?? -1
  }

  /** Puts one row at the end. `names` are the numbers of the names in its columns, from `learn`. */
  push(from: RowColumns, index: number, names: readonly number[], isInferred: boolean): void {
    const place = this.length
    if (place === this.at.length) this.#grow()
    this.at[place] = from.at[index] ?? Number.NaN
    this.latencyMs[place] = from.latencyMs[index] ?? Number.NaN
    this.tokensIn[place] = from.tokensIn[index] ?? Number.NaN
    this.tokensOut[place] = from.tokensOut[index] ?? Number.NaN
    this.costUsd[place] = from.costUsd[index] ?? Number.NaN
    this.kind[place] = from.kind[index] ?? 0
    this.state[place] = from.state[index] ?? 0
    this.badge[place] = from.badge[index] ?? 0
    this.provider[place] = names[from.provider[index] ?? -1] ?? -1
    this.model[place] = names[from.model[index] ?? -1] ?? -1
    this.tool[place] = names[from.tool[index] ?? -1] ?? -1
    this.lane[place] = from.lane[index] ?? 0
    this.inferred[place] = isInferred ? 1 : 0
    this.length = place + 1
  }

  /** The names of columns, as numbers into `names`. */
  learn(from: RowColumns): number[] {
    return from.names.map((name) => {
      const known = this.#numbers.get(name)
      if (known !== undefined) return known
      this.#numbers.set(name, this.names.length)
      return this.names.push(name) - 1
    })
  }

  #grow(): void {
    for (const column of NUMBERS) this[column] = longer(this[column])
    for (const column of CODES) this[column] = longer(this[column])
    for (const column of NAMES) this[column] = longer(this[column])
    this.lane = longer(this.lane)
    this.inferred = longer(this.inferred)
  }
}

/** The same values with room for as many more. */
export function longer<T extends Float64Array | Int32Array | Uint8Array>(array: T): T {
  const twice = new (array.constructor as new (length: number) => T)(array.length * 2)
  twice.set(array)
  return twice
}
