import { fromBase64 } from '../format/bytes.js'
import type { RecordedError } from '../format/events.js'
import { rebuildErrorWith } from './rebuild-error.js'
import { setOwn } from './stable-stringify.js'

/** Views over bytes that are restored with their type. */
const VIEW_NAMES = [
  'Int8Array',
  'Uint8Array',
  'Uint8ClampedArray',
  'Int16Array',
  'Uint16Array',
  'Int32Array',
  'Uint32Array',
  'Float16Array',
  'Float32Array',
  'Float64Array',
  'BigInt64Array',
  'BigUint64Array',
  'DataView',
] as const

/** Restores a value from `toWire`. Throws a `TypeError` for an unknown tag. */
export const fromWire = (wire: unknown): unknown => {
  if (typeof wire !== 'object' || wire === null) return wire
  if (Array.isArray(wire)) return wire.map(fromWire)
  if (!Object.hasOwn(wire, '$')) return restoreMembers(wire, {})
  const { $: tag, v } = wire as { $: unknown; v?: unknown }
  switch (tag) {
    case 'undefined':
      return undefined
    case 'number':
      return Number(v)
    case 'bigint':
      return BigInt(v as string)
    case 'symbol':
      return Symbol.for(v as string)
    case 'object':
      return restoreMembers(v as object, {})
    case 'null-prototype':
      return restoreMembers(v as object, Object.create(null) as object)
    case 'Error':
      return rebuildErrorWith(fromWire, v as RecordedError)
    default:
      return restoreBuiltIn(String(tag), v)
  }
}

const restoreMembers = (members: object, target: object): object => {
  for (const [key, value] of Object.entries(members)) setOwn(target, key, fromWire(value))
  return target
}

const restoreBuiltIn = (tag: string, v: unknown): unknown => {
  switch (tag) {
    case 'Date':
      return new Date(v === null ? Number.NaN : (v as number))
    case 'RegExp': {
      const [source, flags, lastIndex] = v as [string, string, number]
      const pattern = new RegExp(source, flags)
      pattern.lastIndex = lastIndex
      return pattern
    }
    case 'URL':
      return new URL(v as string)
    case 'Map':
      return new Map(fromWire(v) as [unknown, unknown][])
    case 'Set':
      return new Set(fromWire(v) as unknown[])
    case 'ArrayBuffer':
      return fromBase64(v as string).buffer
    case 'Buffer':
      return asBuffer(fromBase64(v as string))
  }
  if ((VIEW_NAMES as readonly string[]).includes(tag)) {
    const { [tag]: View } = globalThis as unknown as Record<string, new (b: ArrayBuffer) => object>
    if (View !== undefined) return new View(fromBase64(v as string).buffer)
  }
  throw new TypeError(
    `unknown wire tag ${JSON.stringify(tag)}: the tape may come from a newer Retake`,
  )
}

/** A Buffer over the same memory, if Buffers exist. */
export const asBuffer = (bytes: Uint8Array<ArrayBuffer>): Uint8Array =>
  typeof Buffer === 'function'
    ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : bytes
