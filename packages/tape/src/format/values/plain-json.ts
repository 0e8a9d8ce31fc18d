import { attempt } from './attempt.js'
import { isRecord, TOO_DEEP, VALUE_DEPTH_MAX } from './json-shape.js'
import { setOwn } from './stable-stringify.js'

/**
 * A wire value as handwritten JSON, for `grep` and `jq`. Values that JSON cannot express become
 * text, so it cannot be converted back, and so do values that are nested more deeply than others can
 * walk through.
 */
export const plainJson = (wire: unknown): unknown => plainAt(wire, 0)

function plainAt(wire: unknown, level: number): unknown {
  if (level > VALUE_DEPTH_MAX) return TOO_DEEP
  // Has no callbacks, because each level of a value would need several frames of the stack.
  if (Array.isArray(wire)) {
    const plain: unknown[] = []
    for (const item of wire as readonly unknown[]) plain.push(plainAt(item, level + 1))
    return plain
  }
  if (!isRecord(wire)) return wire
  if (!Object.hasOwn(wire, '$')) return plainMembers(wire, level)
  const { $: tag, v } = wire
  switch (tag) {
    case 'undefined':
    case 'field':
      return null
    case 'object':
    case 'null-prototype':
    case 'Error':
      return plainMembers(isRecord(v) ? v : {}, level)
    case 'Map':
    case 'Set':
      return plainAt(v, level)
    case 'Date':
      return typeof v === 'number' ? (attempt(() => new Date(v).toISOString()) ?? null) : null
    case 'RegExp':
      return Array.isArray(v) ? `/${String(v[0])}/${String(v[1])}` : null
    case 'number':
    case 'bigint':
    case 'symbol':
    case 'URL':
      return v
    default:
      return { base64: v }
  }
}

function plainMembers(
  members: Readonly<Record<string, unknown>>,
  level: number,
): Record<string, unknown> {
  const plain: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(members)) setOwn(plain, key, plainAt(value, level + 1))
  return plain
}
