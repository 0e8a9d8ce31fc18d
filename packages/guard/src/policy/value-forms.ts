import type { ValueType } from './policy.js'

/** The text that a value is or would be written as; undefined for lists and objects. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (value instanceof Uint8Array) return Buffer.from(value).toString()
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? '' : value.toISOString()
  if (value instanceof URL) return value.href
  switch (typeof value) {
    case 'number':
    case 'bigint':
    case 'boolean':
    case 'symbol':
      return String(value)
    case 'object':
    case 'undefined':
    case 'function':
    case 'string':
      return undefined
  }
}

/** Characters, bytes or members; undefined for what has none. */
export function sizeOf(value: unknown): number | undefined {
  if (typeof value === 'string' || Array.isArray(value)) return value.length
  if (value instanceof Uint8Array) return value.byteLength
  return value instanceof Set || value instanceof Map ? value.size : undefined
}

export function isType(value: unknown, type: ValueType): boolean {
  switch (type) {
    case 'integer':
      return typeof value === 'bigint' || Number.isInteger(value)
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint'
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value) || value instanceof Set
    case 'date':
      return value instanceof Date
    case 'bytes':
      return value instanceof Uint8Array
    case 'object':
      return (
        typeof value === 'object' &&
        value !== null &&
        !(['array', 'date', 'bytes'] as const).some((other) => isType(value, other))
      )
    case 'string':
    case 'boolean':
      return typeof value === type
  }
}
