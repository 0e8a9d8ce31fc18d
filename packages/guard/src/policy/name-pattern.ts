import { matchesText } from '../bounds/matches-text.js'
import type { Names } from './policy.js'

/** Tests names, where `*` matches any characters. Case counts. */
export type NameTest = (name: string) => boolean

/** Compiled names. Takes time in proportion to the name, whatever the pattern. */
export function nameTest(names: Names): NameTest {
  const list = typeof names === 'string' ? [names] : names
  if (list.includes('*')) return () => true
  const exact = new Set(list.filter((name) => !name.includes('*')))
  const patterns = list.filter((name) => name.includes('*'))
  if (patterns.length === 0) return (name) => exact.has(name)
  return (name) => exact.has(name) || patterns.some((pattern) => matchesText(pattern, name))
}

/** True if every name that `inner` fits is one of `outer` too, as far as that is plain to see. */
export function coversNames(outer: Names, inner: Names): boolean {
  const outside = typeof outer === 'string' ? [outer] : outer
  const inside = typeof inner === 'string' ? [inner] : inner
  const test = nameTest(outside)
  return (
    inside.length > 0 &&
    inside.every((name) => outside.includes(name) || (test(name) && fitsLiterally(outside, name)))
  )
}

/** A `*` of the inner pattern is only covered by one of the outer: its characters are not known. */
const fitsLiterally = (outside: readonly string[], name: string): boolean =>
  outside.includes('*') || !name.includes('*') || nameTest(outside)(name)
