import { isRecord, parseJson, type JsonRecord } from '../values/json-shape.js'

/** Collects what is wrong with an answer, a line each, named by path. */
export class Problems {
  readonly list: string[] = []

  add(path: string, what: string): void {
    this.list.push(`${path} ${what}`)
  }

  /** The object at a path, or a problem. */
  record(path: string, value: unknown): JsonRecord | undefined {
    if (isRecord(value)) return value
    this.add(path, value === undefined ? 'is missing' : 'is not an object')
    return undefined
  }

  /** The objects of a list at a path, with their paths; what is none is a problem. */
  records(path: string, value: unknown): [path: string, record: JsonRecord][] {
    if (!Array.isArray(value)) {
      this.add(path, value === undefined ? 'is missing' : 'is not a list')
      return []
    }
    return value.flatMap((item: unknown, index): [string, JsonRecord][] => {
      const record = this.record(`${path}.${index}`, item)
      return record === undefined ? [] : [[`${path}.${index}`, record]]
    })
  }

  text(path: string, value: unknown): void {
    if (typeof value !== 'string')
      this.add(path, value === undefined ? 'is missing' : 'is not a string')
  }

  oneOf(path: string, value: unknown, allowed: readonly unknown[]): void {
    if (allowed.includes(value)) return
    const names = allowed.map((one) => JSON.stringify(one)).join(', ')
    this.add(path, `is ${JSON.stringify(value) ?? 'missing'}; it can be ${names}`)
  }

  /** Arguments of a tool call: JSON, as text. */
  jsonText(path: string, value: unknown): void {
    if (typeof value !== 'string') this.add(path, 'is not a string; arguments are JSON in a string')
    else if (parseJson(value) === undefined) this.add(path, 'does not hold JSON')
  }

  /** Every number in it counts tokens. */
  counts(path: string, value: unknown): void {
    if (isRecord(value)) {
      for (const [key, member] of Object.entries(value)) this.counts(`${path}.${key}`, member)
    } else if (typeof value === 'number' && !(Number.isSafeInteger(value) && value >= 0)) {
      this.add(path, `is ${value}, which is no count`)
    }
  }

  /** Counts that must be there. */
  count(path: string, value: unknown): void {
    if (typeof value !== 'number')
      this.add(path, value === undefined ? 'is missing' : 'is no count')
  }
}
