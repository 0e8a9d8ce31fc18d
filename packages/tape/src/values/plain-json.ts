import { attempt } from './attempt.js'
import { isRecord } from './json-shape.js'
import { setOwn } from './stable-stringify.js'

/**
 * A wire value as handwritten JSON, for `grep` and `jq`. Values that JSON cannot express become
 * text, so it cannot be converted back.
 */
export function plainJson(wire: unknown): unknown {
  // Has no callbacks, because each level of a value would need several frames of the stack.
  if (Array.isArray(wire)) {
    const plain: unknown[] = []
    for (const item of wire as readonly unknown[]) plain.push(plainJson(item))
    return plain
  }
  if (!isRecord(wire)) return wire
  if (!Object.hasOwn(wire, '$')) return plainMembers(wire)
  const { $: tag, v } = wire
  switch (tag) {
    case 'undefined':
    case 'field':
      return null
    case 'object':
    case 'null-prototype':
    case 'Error':
      return plainMembers(isRecord(v) ? v : {})
    case 'Map':
    case 'Set':
      return plainJson(v)
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

function plainMembers(members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const plain: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(members)) setOwn(plain, key, plainJson(value))
  return plain
}
