import { matchesText } from '../bounds/matches-text.js'
import type { Names } from './policy.js'

/** Tests names. Case counts. */
export type NameTest = (name: string) => boolean

/** Compiles names, in which `*` matches any characters. */
export function nameTest(names: Names): NameTest {
  const list = typeof names === 'string' ? [names] : names
  if (list.includes('*')) return () => true
  const exact = new Set(list.filter((name) => !name.includes('*')))
  const patterns = list.filter((name) => name.includes('*'))
  if (patterns.length === 0) return (name) => exact.has(name)
  return (name) => exact.has(name) || patterns.some((pattern) => matchesText(pattern, name))
}

/** True if every name that `inner` matches is certainly matched by `outer`. */
export function coversNames(outer: Names, inner: Names): boolean {
  const inside = typeof inner === 'string' ? [inner] : inner
  return inside.length > 0 && inside.every(nameTest(outer))
}
