import { looksGenerated, strengthOf } from '@retake/tape/secrets'

export interface RowValue {
  readonly column: string
  readonly start: number
  readonly end: number
}

/**
 * Finds secrets in the rows that a PostgreSQL server sends, by the names of their columns, which
 * come in a message before the rows. Texts have one character per byte. Not promised: a row that is
 * split between two chunks, and columns that a statement renames.
 */
export class PostgresRows {
  #columns: readonly string[] = []
  /** Bytes of the next chunk that belong to a message which has begun. */
  #open = 0

  /** False for most other protocols, whose answers begin with another character. */
  static mayBegin(chunk: Buffer): boolean {
    return TYPES.has(chunk[0] ?? 0)
  }

  /** Values in columns that are named like a secret. Other protocols have none. */
  find(chunk: Buffer): RowValue[] {
    const values: RowValue[] = []
    let at = this.#open
    this.#open = Math.max(0, at - chunk.length)
    while (at + HEAD_BYTES <= chunk.length) {
      const type = chunk[at] ?? 0
      const length = chunk.readInt32BE(at + 1)
      if (!TYPES.has(type) || length < 4 || length > MESSAGE_MAX) {
        this.#columns = []
        return []
      }
      const end = at + 1 + length
      if (end > chunk.length) {
        this.#open = end - chunk.length
        break
      }
      const message = chunk.subarray(at + HEAD_BYTES, end)
      if (type === ROW_DESCRIPTION) this.#columns = columnsOf(message)
      else if (type === DATA_ROW && this.#columns.length > 0)
        values.push(...this.#secretsOf(message, at + HEAD_BYTES))
      at = end
    }
    return values
  }

  *#secretsOf(row: Buffer, offset: number): Generator<RowValue> {
    let at = 2
    for (const column of this.#columns) {
      if (at + 4 > row.length) return
      const length = row.readInt32BE(at)
      const start = at + 4
      at = start + Math.max(0, length)
      if (length < VALUE_MIN || at > row.length || column === '') continue
      if (isSecret(column, row.toString('latin1', start, at)))
        yield { column, start: offset + start, end: offset + at }
    }
  }
}

function isSecret(column: string, value: string): boolean {
  const strength = strengthOf(column)
  return strength === 'password' || (strength === 'secret' && looksGenerated(value, 8))
}

/** The names of columns; an empty text in place of one that does not name a secret. */
function columnsOf(message: Buffer): string[] {
  const columns: string[] = []
  for (let at = 2; at < message.length;) {
    const end = message.indexOf(0, at)
    if (end < 0 || end + 1 + COLUMN_BYTES > message.length) return []
    const name = message.toString('latin1', at, end)
    columns.push(strengthOf(name) === 'none' ? '' : name)
    at = end + 1 + COLUMN_BYTES
  }
  return columns.every((name) => name === '') ? [] : columns
}

const HEAD_BYTES = 5
const VALUE_MIN = 3
const MESSAGE_MAX = 1 << 28
/** Table, number, type, size, modifier and format of a column. */
const COLUMN_BYTES = 18
const ROW_DESCRIPTION = 0x54
const DATA_ROW = 0x44
/** What a server sends. */
const TYPES: ReadonlySet<number> = new Set(Buffer.from('RSKZTDCIN123nEAtsVGHWcdv'))
