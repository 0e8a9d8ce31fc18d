import { createHash } from 'node:crypto'
import type { CallBounds } from '../bounds/call-bounds.js'
import { currentBounds } from '../enforcement/current-bounds.js'

/** Remembers, in short where it is deep inside others, which call has these bounds, for the calls that its tool makes. */
export function encloseCalls(bounds: CallBounds, key: string): void {
  const isDeep = key.includes('/')
  bounds.key = isDeep ? createHash('sha256').update(key).digest('hex').slice(0, 32) : key
}

/** The guarded call inside which this happens; undefined when a tool without a guard makes it. */
export function enclosingCall(): string | undefined {
  return currentBounds().at(-1)?.key
}
