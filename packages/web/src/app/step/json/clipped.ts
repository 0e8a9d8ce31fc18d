import type { Clipped } from '../../../model/step-detail.js'

/** A string that was too long to be handed over whole; undefined for every other value. */
export function asClipped(value: unknown): Clipped['$clipped'] | undefined {
  if (typeof value !== 'object' || value === null || !('$clipped' in value)) return undefined
  const { $clipped: inner } = value
  if (typeof inner !== 'object' || inner === null) return undefined
  const { head, length } = inner as Partial<Clipped['$clipped']>
  return typeof head === 'string' && typeof length === 'number' ? { head, length } : undefined
}

/** The text of a value that should be a string, and how long it is in truth. */
export function textOf(value: unknown): { readonly text: string; readonly length: number } {
  const clipped = asClipped(value)
  if (clipped) return { text: clipped.head, length: clipped.length }
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return { text, length: text.length }
}
